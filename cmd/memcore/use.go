package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/core/use"
	"github.com/memcore/memcore/eval"
	"github.com/memcore/memcore/inject/hook"
	"github.com/memcore/memcore/internal/jsonfile"
	"github.com/memcore/memcore/internal/paths"
)

const (
	// mostTranscript is how much of the end of an agent's log is read to judge what was used.
	mostTranscript = 4 << 20
	// mostJudging is how many ends of turns wait to be judged; more are judged with the next end.
	mostJudging = 64
	// judgedFor is how long a turn may be judged after it was given something.
	judgedFor = 24 * time.Hour
	// usedSince is how many days the figures of use are about.
	usedSince = 30
)

// Used implements hook.Memory. A service that is kept open judges while it watches, so that no hook
// waits for it.
func (s *service) Used(ctx context.Context, e hook.Event) error {
	if s.judging == nil {
		return s.judge(ctx, e)
	}
	select {
	case s.judging <- e:
	default:
	}
	return nil
}

// judgeAll judges what hooks have left, until ctx ends.
func (s *service) judgeAll(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-s.judging:
			if err := s.judge(ctx, e); err != nil && ctx.Err() == nil {
				s.log.Warn("use of memory", "workspace", s.project, "error", err)
			}
		}
	}
}

// judge decides what a session used of what it was given: of its last turn, and of earlier ones
// whose end nobody has seen.
func (s *service) judge(ctx context.Context, e hook.Event) error {
	log := use.NewLog(s.at.use())
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
	// The event may have the answer all the same. Cursor and others name no log, or one in a form
	// of their own.
	answers := use.Answers(turns, said, e.Answer)
	judge := use.Judge{Index: hitIndex{s.Manager}, Project: s.project, Home: s.home}
	if unread != nil && e.Transcript != "" {
		s.log.Debug("what was used is judged by the answer alone", "workspace", s.project, "error", unread)
	}
	for _, t := range open {
		if !answers[t.ID].Known() {
			continue // it may be later
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

// openTurns are those that have hits to be judged: the last one, whose answer may go on, and those
// before it that were not.
func openTurns(turns []use.Turn) (open []use.Turn) {
	for i, t := range turns {
		if !t.AllUsed() && (!t.Judged() || i == len(turns)-1) {
			open = append(open, t)
		}
	}
	return open
}

// A hitIndex is the memory as a use.Judge asks it.
type hitIndex struct{ *core.Manager }

// Texts implements use.Index.
func (x hitIndex) Texts(ctx context.Context, path string) (map[string]string, error) {
	chunks, err := x.Chunks(ctx, path)
	if errors.Is(err, core.ErrNotIndexed) || errors.Is(err, core.ErrNotOurs) {
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

// useOf is what became of a turn; ok is false if it is not in the record.
func (a *app) useOf(ctx context.Context, turn string) (t use.Turn, ok bool, err error) {
	at, err := a.place()
	if err != nil || turn == "" {
		return t, false, err
	}
	return use.NewLog(at.use()).Turn(ctx, turn)
}

// usage is what was given and used in the last days.
func (a *app) usage(ctx context.Context) (use.Summary, error) {
	since := time.Now().AddDate(0, 0, -usedSince).UTC().Truncate(time.Second)
	at, err := a.place()
	if err != nil {
		return use.Summary{}, err
	}
	turns, err := use.NewLog(at.use()).Turns(ctx, since)
	return use.Summarise(turns, since), err
}

// casesFromUse are cases of all turns that are kept.
func casesFromUse(ctx context.Context, at place) ([]byte, error) {
	turns, err := use.NewLog(at.use()).Turns(ctx, time.Time{})
	if err != nil {
		return nil, err
	}
	text, err := eval.FromUse(turns)
	if errors.Is(err, eval.ErrNothingUsed) {
		err = &hintError{err, "hooks of agents keep it, unless memory.use or memory.hook.log is false"}
	}
	return text, err
}

var verdicts = map[use.Verdict]string{use.Yes: "used", use.No: "not used", use.Unknown: "not known whether used"}

// used says of the hits of a turn what became of them, a line each.
func used(t use.Turn) string {
	var b strings.Builder
	for _, h := range t.Hits {
		fmt.Fprintf(&b, "%s: %s", verdicts[h.Used], oneLine(h.Source))
		if h.Why != "" {
			fmt.Fprintf(&b, ": %s", oneLine(h.Why))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// shortestStatement is from how many bytes on a line that was taken out is looked for elsewhere.
const shortestStatement = 8

// forgetStatement is forgetUse for a statement that was taken out of a file.
func (a *app) forgetStatement(ctx context.Context, p notes.Place, c notes.Change) error {
	texts := []string{p.Text}
	for line := range strings.Lines(c.Diff) {
		if text, ok := strings.CutPrefix(line, "-"); ok && !strings.HasPrefix(text, "--") {
			texts = append(texts, strings.TrimSpace(strings.TrimLeft(text, " \t-*+>")))
		}
	}
	texts = slices.DeleteFunc(texts, func(text string) bool { return len(text) < shortestStatement })
	return a.forgetUse(ctx, paths.NewNames(a.project, a.home).Of(filepath.Join(p.Dir, filepath.FromSlash(p.Name))), texts...)
}

// forgetUse takes a document, and what texts say, out of what is kept of hooks: the record of use,
// and the trace of the last hook.
func (a *app) forgetUse(ctx context.Context, path string, texts ...string) error {
	at, err := a.place()
	if err != nil {
		return err
	}
	if _, err := use.NewLog(at.use()).Forget(ctx, path, texts...); err != nil {
		return err
	}
	last, err := jsonfile.Load[hook.Trace](at.last())
	if err != nil || !tells(last, path, texts) {
		return nil // nobody can read what is damaged
	}
	if err := os.Remove(at.last()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget the last hook: %w", err)
	}
	return nil
}

// tells reports whether a trace has something of a document, or says one of the texts.
func tells(t hook.Trace, path string, texts []string) bool {
	if slices.ContainsFunc(texts, func(text string) bool {
		return strings.Contains(t.Added, text) || strings.Contains(t.Event.Prompt, text)
	}) {
		return true
	}
	return slices.ContainsFunc(slices.Concat(t.Result.Hits, t.Result.Rejected, t.Result.Withheld), func(h core.MemoryHit) bool {
		return h.Path == path
	})
}
