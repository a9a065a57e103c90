package app

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
	"unicode"
	"unicode/utf8"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/core/use"
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

// used judges a session; an open service does so in Watch, so that no hook waits.
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
	var open []use.Turn // the last turn, and earlier ones without a verdict
	for i, t := range turns {
		if !t.AllUsed() && (!t.Judged() || i == len(turns)-1) {
			open = append(open, t)
		}
	}
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

// shortestStatement is the shortest line to forget elsewhere, in bytes of letters and digits.
const shortestStatement = 8

func tooShort(text string) bool {
	n := 0
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n += utf8.RuneLen(r)
		}
	}
	return n < shortestStatement
}

// ForgetStatement is Forget for a deleted statement.
func (u Use) ForgetStatement(ctx context.Context, p notes.Statement, c notes.Change) error {
	texts := []string{p.Text}
	for line := range strings.Lines(c.Diff) {
		if text, ok := strings.CutPrefix(line, "-"); ok && !strings.HasPrefix(text, "--") {
			texts = append(texts, strings.TrimSpace(strings.TrimLeft(text, " \t-*+>")))
		}
	}
	texts = slices.DeleteFunc(texts, tooShort)
	if p.First > 0 && c.Line > 0 {
		p = p.At(c.Line)
	}
	path := u.w.Names().Of(filepath.Join(p.Dir, filepath.FromSlash(p.Name)))
	return u.Forget(ctx, use.Place{Path: path, First: p.First, Last: p.Last}, texts...)
}

// Hide hides chunks of a document from search, or without ids all of it, and returns how many.
func (u Use) Hide(ctx context.Context, m *core.Manager, path string, ids ...string) (int, error) {
	places := []use.Place{{Path: path}}
	if len(ids) > 0 {
		chunks, err := m.Chunks(ctx, path)
		if err != nil {
			return 0, err
		}
		places = nil
		for _, h := range chunks {
			if slices.Contains(ids, h.ID) {
				places = append(places, use.Place{Path: path, First: h.StartLine, Last: h.EndLine})
			}
		}
	}
	n, err := m.Forget(ctx, path, ids...)
	for _, p := range places {
		if err == nil {
			err = u.Forget(ctx, p)
		}
	}
	return n, err
}

// Forget removes a place and texts from the record and from traces.
func (u Use) Forget(ctx context.Context, p use.Place, texts ...string) error {
	at, err := u.w.Folders()
	if err != nil {
		return err
	}
	if _, err := use.NewLog(at.Use()).Forget(ctx, p, texts...); err != nil {
		return err
	}
	for _, file := range tracesIn(at.Last()) {
		trace, err := jsonfile.Load[hook.Trace](file)
		if err != nil {
			continue // nothing shows a damaged one
		}
		now, keep, same := forgotten(trace, p.Path, texts)
		switch {
		case !keep:
			err = safefile.Remove(filepath.Dir(file), filepath.Base(file))
		case !same:
			info, failed := os.Stat(file)
			if err = failed; err == nil {
				err = jsonfile.Save(file, now)
			}
			if err == nil {
				err = os.Chtimes(file, time.Time{}, info.ModTime()) // the trace stays as old as it is
			}
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("forget in a trace: %w", err)
		}
	}
	return nil
}

// noteForgotten is in traces that lack what they added.
const noteForgotten = "What it added is not shown: a part of it is forgotten."

// forgotten returns a trace without the hits of a document, since lines may have moved, and those
// with one of the texts. keep is false if prompt or answer have one; same is true if nothing
// changes.
func forgotten(t hook.Trace, document string, texts []string) (now hook.Trace, keep, same bool) {
	if use.Says(t.Event.Prompt, texts) || use.Says(t.Event.Answer, texts) {
		return t, false, false
	}
	given := len(t.Result.Hits)
	same = true
	for _, hits := range []*[]core.MemoryHit{&t.Result.Hits, &t.Result.Rejected, &t.Result.Withheld} {
		before := len(*hits)
		*hits = slices.DeleteFunc(*hits, func(h core.MemoryHit) bool {
			return document != "" && h.Path == document || use.Says(h.Text, texts) || use.Says(strings.Join(h.Headings, "\n"), texts) || use.Says(h.Request, texts)
		})
		same = same && len(*hits) == before
	}
	if t.Added != "" && (len(t.Result.Hits) < given || use.Says(t.Added, texts)) {
		t.Added, t.Notes, same = "", append(t.Notes, noteForgotten), false
	}
	var later []hook.Trace
	for _, l := range t.Later {
		l, keep, untouched := forgotten(l, document, texts)
		if same = same && untouched; keep {
			later = append(later, l)
		}
	}
	t.Later = later
	return t, true, same
}
