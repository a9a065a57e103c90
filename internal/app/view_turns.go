package app

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/core/use"
	"github.com/memcore/memcore/inject/hook"
	"github.com/memcore/memcore/inject/view"
	"github.com/memcore/memcore/internal/jsonfile"
	"github.com/memcore/memcore/internal/kind"
)

const (
	// shownTurns is the default limit.
	shownTurns = 100
	// mostTurnSessions bounds the sessions that are listed.
	mostTurnSessions = 50
	// mostSearched bounds the documents that a search in turns reads.
	mostSearched = 500
)

// Turns implements view.Memory.
func (v page) Turns(ctx context.Context, r view.TurnsRequest) (view.Turns, error) {
	times, err := readTimes(r.Times)
	if err != nil {
		return view.Turns{}, kind.As(kind.BadInput, err)
	}
	all, err := use.NewLog(v.s.at.Use()).Turns(ctx, time.Time{})
	if err != nil {
		return view.Turns{}, err
	}
	slices.Reverse(all)
	out := view.Turns{Sessions: sessionsOf(all), Unkept: !v.s.Settings.Hook.Log}
	f := turnFilter{TurnsRequest: r, times: times, page: v, words: strings.Fields(strings.ToLower(r.Find)), texts: map[string]map[string]string{}}
	said := map[string]string{} // by the traces of turns
	for _, file := range tracesIn(v.s.at.Last()) {
		trace, err := jsonfile.Load[hook.Trace](file)
		if err != nil || trace.At.IsZero() {
			continue
		}
		said[trace.Turn] += " " + trace.Event.Prompt + " " + trace.Added
		if f.wants(use.Turn{ID: trace.Turn, At: trace.At, Agent: trace.Event.Agent, Session: trace.Event.Session}) && (trace.Turn != "" || f.says(trace.Event.Prompt+" "+trace.Added)) {
			out.Last = append(out.Last, trace)
		}
	}
	most := cmp.Or(r.Limit, shownTurns)
	for _, t := range all {
		if !f.wants(t) {
			continue
		}
		if found, err := f.finds(ctx, t, said[t.ID]); err != nil {
			return view.Turns{}, err
		} else if !found {
			continue
		}
		if len(out.Turns) == most {
			out.More++
			continue
		}
		out.Turns = append(out.Turns, t)
	}
	return out, nil
}

// sessionsOf lists the sessions of turns, in their order.
func sessionsOf(all []use.Turn) (out []view.TurnSession) {
	places := map[[2]string]int{}
	for _, t := range all {
		at, known := places[[2]string{t.Agent, t.Session}]
		if !known {
			at = len(out)
			if at == mostTurnSessions {
				continue
			}
			places[[2]string{t.Agent, t.Session}] = at
			out = append(out, view.TurnSession{Agent: t.Agent, Session: t.Session, Last: t.At})
		}
		out[at].Turns++
	}
	return out
}

// A turnFilter decides which turns a request wants.
type turnFilter struct {
	view.TurnsRequest
	times bounds
	page  page
	words []string
	texts map[string]map[string]string // of chunks, by path and ID
}

// wants judges without the texts.
func (f *turnFilter) wants(t use.Turn) bool {
	switch {
	case f.Turn != "" && t.ID != f.Turn,
		f.Agent != "" && t.Agent != f.Agent,
		f.Session != "" && t.Session != f.Session,
		!f.times.since.IsZero() && t.At.Before(f.times.since),
		!f.times.until.IsZero() && !t.At.Before(f.times.until):
		return false
	}
	return true
}

// says reports whether a text has all words.
func (f *turnFilter) says(text string) bool {
	text = strings.ToLower(text)
	return !slices.ContainsFunc(f.words, func(word string) bool { return !strings.Contains(text, word) })
}

// finds searches a turn's prompt, then its passages as they are now.
func (f *turnFilter) finds(ctx context.Context, t use.Turn, traced string) (bool, error) {
	text := t.Prompt + " " + traced
	for _, h := range t.Hits {
		text += " " + h.Source
	}
	if f.says(text) {
		return true, nil
	}
	for _, h := range t.Hits {
		passage, err := f.passage(ctx, h)
		if err != nil {
			return false, err
		}
		text += " " + passage
	}
	return f.says(text), nil
}

// passage returns the text of a hit; "" if it is gone.
func (f *turnFilter) passage(ctx context.Context, h use.Hit) (string, error) {
	texts, known := f.texts[h.Path]
	if !known && len(f.texts) < mostSearched {
		chunks, err := f.page.s.Manager.Chunks(ctx, h.Path)
		if err != nil && !isNoDocument(err) {
			return "", err
		}
		texts = make(map[string]string, len(chunks))
		for _, c := range chunks {
			texts[c.ID] = c.Text
		}
		f.texts[h.Path] = texts
	}
	return texts[h.ID], nil
}
