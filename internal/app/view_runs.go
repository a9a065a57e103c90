package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/eval"
	"github.com/memcore/memcore/eval/runs"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/app/kind"
	"github.com/memcore/memcore/internal/safefile"
)

// OwnCases is the file of the workspace's own cases.
func OwnCases(w *Workspace) string { return filepath.Join(w.Project, eval.CasesFile) }

// IsOwnCases reports whether a file has the workspace's own cases.
func IsOwnCases(w *Workspace, file string) bool {
	own, err := os.Stat(OwnCases(w))
	if err != nil {
		return false
	}
	info, err := os.Stat(file)
	return err == nil && os.SameFile(own, info)
}

// mostCasesBytes bounds the file of cases.
const mostCasesBytes = 4 << 20

// readOwnCases reads the workspace's own cases; a missing file has none. It must be a plain file,
// since no user named it.
func readOwnCases(w *Workspace) ([]eval.Case, error) {
	data, _, err := safefile.ReadFile(w.Project, eval.CasesFile, mostCasesBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read cases: %s: %w", eval.CasesFile, err)
	}
	cases, err := eval.ParseCases(data)
	if err != nil {
		return nil, fmt.Errorf("read cases: %s: %w", eval.CasesFile, err)
	}
	return cases, nil
}

// KeepRun keeps a run of the workspace's own cases.
func KeepRun(w *Workspace, report eval.Report, embedder string) error {
	at, err := w.Folders()
	if err != nil {
		return err
	}
	_, err = runs.Folder(at.Runs()).Add(time.Now(), w.Version, embedder, report)
	return err
}

// Runs implements httpapi.Workspace.
func (v view) Runs(context.Context) (r httpapi.Runs, err error) {
	r.File = eval.CasesFile
	if v.s.evaluation != nil { // before the list, which then has what has ended
		r.Running, r.Failed = v.s.evaluation.state()
	}
	if r.Runs, err = runs.Folder(v.s.at.Runs()).List(); err != nil {
		return r, err
	}
	cases, err := readOwnCases(v.s.Workspace)
	if r.Cases = len(cases); err != nil {
		r.Problem = err.Error()
	}
	return r, nil
}

// Run implements httpapi.Workspace.
func (v view) Run(_ context.Context, r httpapi.RunRequest) (httpapi.Run, error) {
	run, report, err := runs.Folder(v.s.at.Runs()).Get(r.ID)
	return httpapi.Run{Run: run, Report: report}, noRun(err)
}

// CompareRuns implements httpapi.Workspace.
func (v view) CompareRuns(_ context.Context, r httpapi.CompareRequest) (runs.Comparison, error) {
	c, err := runs.Folder(v.s.at.Runs()).Compare(r.Before, r.After)
	return c, noRun(err)
}

func noRun(err error) error {
	if errors.Is(err, runs.ErrNoRun) {
		err = kind.As(kind.NotFound, err)
	}
	return err
}

// Evaluate implements httpapi.Workspace.
func (v view) Evaluate(ctx context.Context) (httpapi.Running, error) {
	if v.s.evaluation == nil {
		return httpapi.Running{}, kind.As(kind.Unavailable, errors.New("only the daemon measures in the background: memcore eval run"))
	}
	cases, err := readOwnCases(v.s.Workspace)
	if err != nil {
		return httpapi.Running{}, kind.As(kind.BadInput, err)
	}
	if len(cases) == 0 {
		return httpapi.Running{}, kind.Usagef("there are no cases in %s: make them on the page Ask, or with 'memcore eval init'", eval.CasesFile)
	}
	if len(cases) > mostCases {
		return httpapi.Running{}, kind.Usagef("%s has %d cases, more than %d: memcore eval run --data %s", eval.CasesFile, len(cases), mostCases, eval.CasesFile)
	}
	status, err := v.s.Manager.Status(ctx)
	if err != nil {
		return httpapi.Running{}, err
	}
	if status.State == core.StateMissing {
		return httpapi.Running{}, kind.Usagef("nothing is indexed here yet: memcore index")
	}
	return v.s.evaluation.start(cases)
}

// evaluateAll measures when asked, until ctx ends.
func (s background) evaluateAll(ctx context.Context) {
	defer s.evaluation.end()
	for {
		select {
		case <-ctx.Done():
			return
		case cases := <-s.evaluation.wanted:
			err := s.evaluate(ctx, cases)
			if err != nil {
				s.Log.Warn("run of cases", "workspace", s.Project, "error", err)
			}
			s.evaluation.finish(err)
		}
	}
}

// evaluate measures cases. It pauses after each as long as that took: agents' turns go first.
func (s background) evaluate(ctx context.Context, cases []eval.Case) error {
	bounded, stop := context.WithTimeout(ctx, longestRun)
	defer stop()
	status, err := s.Manager.Status(bounded)
	if err != nil {
		return err
	}
	begun := time.Now()
	report, err := eval.RunCases(bounded, s.Manager, eval.CasesFile, cases, eval.Options{Progress: func(_ string, done, _ int) {
		s.evaluation.progress(done)
		select {
		case <-bounded.Done():
		case <-time.After(time.Since(begun)):
		}
		begun = time.Now()
	}})
	if errors.Is(bounded.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("it was stopped after %s and %d of %d cases: memcore eval run --data %s", longestRun, len(report.Queries), len(cases), eval.CasesFile)
	}
	if err != nil {
		return err
	}
	return KeepRun(s.Workspace, report, status.Embedder)
}
