// Package runs keeps the last measurements of a workspace's own cases, one file a run.
//
// The first line of a file describes the run, so that a list of runs reads little. The second has
// its questions, without passages: what is forgotten must not stay here.
package runs

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memcore/memcore/eval"
	"github.com/memcore/memcore/internal/safefile"
	"github.com/memcore/memcore/internal/text/secret"
)

const (
	// most is how many runs are kept.
	most = 50
	// mostBytes bounds the files of all runs.
	mostBytes = 64 << 20
	// keptHits is how many hits of a question are kept.
	keptHits = 10
	// longestHead bounds the first line, in bytes.
	longestHead = 1 << 20
)

// A Run is one measurement.
type Run struct {
	ID      string    `json:"id"` // grows with time
	At      time.Time `json:"at"`
	Version string    `json:"version"` // of memcore; between releases it has the commit
	// Embedder is the index's.
	Embedder string      `json:"embedder"`
	All      eval.Result `json:"all"`
}

// ErrNoRun is returned for an ID that names no run.
var ErrNoRun = errors.New("there is no such run")

// A Folder keeps runs. It may not exist yet.
type Folder string

const (
	extension = ".jsonl"
	layout    = "20060102T150405.000000000Z"
)

var validID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d{8}T\d{6}\.\d{9}Z$`) })

// Add keeps a run and removes the oldest.
func (f Folder) Add(at time.Time, version, embedder string, report eval.Report) (Run, error) {
	at = at.UTC()
	run := Run{ID: at.Format(layout), At: at, Version: version, Embedder: embedder, All: report.All}
	err := f.write(run, kept(report))
	if err != nil {
		return run, fmt.Errorf("keep the run: %w", err)
	}
	f.tidy()
	return run, nil
}

// kept returns what is kept of a report.
func kept(r eval.Report) eval.Report {
	slim := eval.Report{Level: r.Level, K: r.K, Collections: []eval.Result{}, Queries: []eval.Asked{}}
	for _, a := range r.Queries {
		a.Top, a.Candidates = nil, nil
		a.Text, _ = secret.Redact(a.Text)
		hits := min(keptHits, len(a.Found), len(a.FoundScores))
		safe, relevant := map[string]string{}, map[string]int{}
		for name, grade := range a.Relevant { // an expected text may hold a secret
			safe[name], _ = secret.Redact(name)
			relevant[safe[name]] = grade
		}
		for _, name := range a.Unwanted {
			safe[name], _ = secret.Redact(name)
		}
		a.Unwanted = renamed(a.Unwanted, safe)
		a.Relevant, a.Found, a.FoundScores, a.Injected = relevant, renamed(a.Found[:hits], safe), a.FoundScores[:hits], renamed(a.Injected, safe)
		scores := map[string]float64{}
		for name, score := range a.Scores {
			if slices.Contains(compared, name) {
				scores[name] = score
			}
		}
		a.Scores = scores
		slim.Queries = append(slim.Queries, a)
	}
	return slim
}

func renamed(names []string, as map[string]string) []string {
	all := []string{}
	for _, name := range names {
		all = append(all, cmp.Or(as[name], name))
	}
	return all
}

func (f Folder) write(run Run, report eval.Report) error {
	var data bytes.Buffer
	lines := json.NewEncoder(&data)
	if err := errors.Join(lines.Encode(run), lines.Encode(report)); err != nil {
		return err
	}
	if data.Len() > mostBytes {
		return fmt.Errorf("%d questions take %d MB, more than %d MB", len(report.Queries), data.Len()>>20, mostBytes>>20)
	}
	if err := safefile.MkdirAll(string(f), 0o700); err != nil {
		return err
	}
	return safefile.Replace(string(f), run.ID+extension, data.Bytes(), 0o600)
}

// tidy removes the oldest runs over the limits. The next run tries again what fails.
func (f Folder) tidy() {
	ids, _ := f.ids()
	bytes := int64(0)
	for i, id := range ids {
		info, err := os.Lstat(filepath.Join(string(f), id+extension))
		if err != nil {
			continue
		}
		if bytes += info.Size(); i >= most || bytes > mostBytes {
			_ = safefile.Remove(string(f), id+extension)
		}
	}
}

// ids returns the IDs of runs, the latest first.
func (f Folder) ids() (all []string, err error) {
	entries, err := os.ReadDir(string(f))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range slices.Backward(entries) {
		if id, ok := strings.CutSuffix(e.Name(), extension); ok && validID().MatchString(id) {
			all = append(all, id)
		}
	}
	return all, nil
}

// List returns the runs, the latest first. It leaves out damaged ones.
func (f Folder) List() ([]Run, error) {
	ids, err := f.ids()
	if err != nil {
		return nil, fmt.Errorf("list the runs: %w", err)
	}
	all := []Run{}
	for _, id := range ids {
		if run, err := f.head(id); err == nil {
			all = append(all, run)
		}
	}
	return all, nil
}

// head reads the first line of a run.
func (f Folder) head(id string) (run Run, err error) {
	file, _, err := safefile.Open(string(f), id+extension)
	if err != nil {
		return run, err
	}
	defer file.Close()
	line, err := bufio.NewReader(io.LimitReader(file, longestHead)).ReadBytes('\n')
	if err != nil {
		return run, err
	}
	return decode(id, line)
}

// decode reads a first line.
func decode(id string, line []byte) (run Run, err error) {
	if err := json.Unmarshal(line, &run); err != nil {
		return run, err
	}
	if run.ID != id || run.All.Scores == nil || run.All.Intervals == nil || run.All.Thresholds == nil {
		return run, errors.New("it is not complete")
	}
	return run, nil
}

// Get returns a run with its questions.
func (f Folder) Get(id string) (run Run, report eval.Report, err error) {
	if !validID().MatchString(id) {
		return run, report, ErrNoRun
	}
	data, _, err := safefile.ReadFile(string(f), id+extension, mostBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return run, report, ErrNoRun
	}
	if err != nil {
		return run, report, fmt.Errorf("read run %s: %w", id, err)
	}
	head, rest, _ := bytes.Cut(data, []byte("\n"))
	if run, err = decode(id, head); err == nil {
		err = json.Unmarshal(rest, &report)
	}
	if err != nil {
		return run, report, fmt.Errorf("run %s is damaged: %w", id, err)
	}
	report.All = run.All
	return run, report, nil
}

// Forget removes a document and texts from all runs.
func (f Folder) Forget(path string, texts ...string) error {
	ids, err := f.ids()
	if err != nil {
		return fmt.Errorf("forget in the runs: %w", err)
	}
	for _, id := range ids {
		run, report, err := f.Get(id)
		if err != nil {
			continue // nothing shows a damaged one
		}
		before, after := len(report.Queries), slices.DeleteFunc(report.Queries, func(a eval.Asked) bool { return mentions(a, path, texts) })
		if report.Queries = after; len(after) < before {
			if err := f.write(run, report); err != nil {
				return fmt.Errorf("forget in run %s: %w", id, err)
			}
		}
	}
	return nil
}

// mentions reports whether a question has a document or text.
func mentions(a eval.Asked, path string, texts []string) bool {
	names := slices.Concat([]string{a.Text}, a.Found, a.Injected, a.Unwanted)
	for name := range a.Relevant {
		names = append(names, name)
	}
	return slices.ContainsFunc(names, func(name string) bool {
		rest, ok := strings.CutPrefix(strings.TrimPrefix(strings.TrimPrefix(name, "expected: "), "unwanted: "), path)
		return ok && path != "" && (rest == "" || rest[0] == '#' || rest[0] == ' ') || slices.ContainsFunc(texts, func(text string) bool { return text != "" && strings.Contains(name, text) })
	})
}
