package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/core/use"
	"github.com/memcore/memcore/eval/runs"
	"github.com/memcore/memcore/inject/hook"
	"github.com/memcore/memcore/internal/jsonfile"
	"github.com/memcore/memcore/internal/safefile"
)

const (
	// mostTranscript bytes are read of a log's end.
	mostTranscript = 4 << 20
	// mostJudging limits the turns that wait for a verdict.
	mostJudging = 64
	// judgedFor is how long a turn can be judged.
	judgedFor = 24 * time.Hour
	// UsedSince is the span of Summary in days.
	UsedSince = 30
)

// Use records what agents got and used.
type Use struct{ w *Workspace }

// Use returns the record of use of the workspace.
func (w *Workspace) Use() Use { return Use{w} }

// used judges a session. An open service does so in Watch: no hook waits.
func (s *Service) used(ctx context.Context, e hook.Event) error {
	if s.judging == nil {
		return s.Use().judge(ctx, s.Manager, e)
	}
	select {
	case s.judging <- e:
	default:
	}
	return nil
}

// judge judges the last turn, and earlier ones without a verdict.
func (u Use) judge(ctx context.Context, memory *core.Manager, e hook.Event) error {
	at, err := u.w.Folders()
	if err != nil {
		return err
	}
	log := use.NewLog(at.Use())
	turns, err := log.Turns(ctx, time.Now().Add(-judgedFor))
	if err != nil {
		return err
	}
	turns = slices.DeleteFunc(turns, func(t use.Turn) bool { return t.Agent != e.Agent || t.Session != e.Session })
	open := openTurns(turns)
	if len(open) == 0 {
		return nil
	}
	said, unread := source.Transcript(ctx, e.Transcript, mostTranscript)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// Without a log, the event may have the answer.
	answers := use.Answers(turns, said, e.Answer)
	judge := use.Judge{Index: hitIndex{memory}, Project: u.w.Project, Home: u.w.Home}
	if unread != nil && e.Transcript != "" {
		u.w.Log.Debug("what was used is judged by the answer alone", "workspace", u.w.Project, "error", unread)
	}
	for _, t := range open {
		if !answers[t.ID].Known() {
			continue // perhaps later
		}
		hits, err := judge.Hits(ctx, t, answers[t.ID])
		if err == nil {
			err = log.Judge(ctx, t.ID, hits)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// openTurns are the last one, and those without a verdict.
func openTurns(turns []use.Turn) (open []use.Turn) {
	for i, t := range turns {
		if !t.AllUsed() && (!t.Judged() || i == len(turns)-1) {
			open = append(open, t)
		}
	}
	return open
}

// A hitIndex is the memory for a use.Judge.
type hitIndex struct{ *core.Manager }

// Texts implements use.Index.
func (x hitIndex) Texts(ctx context.Context, path string) (map[string]string, error) {
	chunks, err := x.Chunks(ctx, path)
	if isNoDocument(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	texts := make(map[string]string, len(chunks))
	for _, c := range chunks {
		texts[c.ID] = c.Text
	}
	return texts, nil
}

// Turn returns a recorded turn, if known.
func (u Use) Turn(ctx context.Context, turn string) (t use.Turn, ok bool, err error) {
	at, err := u.w.Folders()
	if err != nil || turn == "" {
		return t, false, err
	}
	return use.NewLog(at.Use()).Turn(ctx, turn)
}

// Summary sums up the last days.
func (u Use) Summary(ctx context.Context) (use.Summary, error) {
	since := time.Now().AddDate(0, 0, -UsedSince).UTC().Truncate(time.Second)
	at, err := u.w.Folders()
	if err != nil {
		return use.Summary{}, err
	}
	turns, err := use.NewLog(at.Use()).Turns(ctx, since)
	return use.Summarise(turns, since), err
}

// shortestStatement is the least length of a line to forget elsewhere, in bytes.
const shortestStatement = 8

// ForgetStatement is Forget for a deleted statement.
func (u Use) ForgetStatement(ctx context.Context, p notes.Statement, c notes.Change) error {
	texts := []string{p.Text}
	for line := range strings.Lines(c.Diff) {
		if text, ok := strings.CutPrefix(line, "-"); ok && !strings.HasPrefix(text, "--") {
			texts = append(texts, strings.TrimSpace(strings.TrimLeft(text, " \t-*+>")))
		}
	}
	texts = slices.DeleteFunc(texts, func(text string) bool { return len(text) < shortestStatement })
	return u.Forget(ctx, u.w.names().Of(filepath.Join(p.Dir, filepath.FromSlash(p.Name))), texts...)
}

// Hide hides chunks of a document from search, or without ids all of it, and returns how many.
func (u Use) Hide(ctx context.Context, m *core.Manager, path string, ids ...string) (int, error) {
	n, err := m.Forget(ctx, path, ids...)
	if err == nil {
		err = u.Forget(ctx, path)
	}
	return n, err
}

// Forget removes a document and texts from the record, traces and runs of cases.
func (u Use) Forget(ctx context.Context, path string, texts ...string) error {
	at, err := u.w.Folders()
	if err != nil {
		return err
	}
	if _, err := use.NewLog(at.Use()).Forget(ctx, path, texts...); err != nil {
		return err
	}
	for _, file := range tracesIn(at.Last()) {
		trace, err := jsonfile.Load[hook.Trace](file)
		if err != nil || !mentions(trace, path, texts) {
			continue // nothing shows a damaged one
		}
		if err := safefile.Remove(filepath.Dir(file), filepath.Base(file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("forget a trace: %w", err)
		}
	}
	return runs.Folder(at.Runs()).Forget(path, texts...)
}

// mentions reports whether a trace has a document or text.
func mentions(t hook.Trace, path string, texts []string) bool {
	if slices.ContainsFunc(texts, func(text string) bool {
		return strings.Contains(t.Added, text) || strings.Contains(t.Event.Prompt, text)
	}) {
		return true
	}
	return slices.ContainsFunc(slices.Concat(t.Result.Hits, t.Result.Rejected, t.Result.Withheld), func(h core.MemoryHit) bool {
		return h.Path == path
	})
}
