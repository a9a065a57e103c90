package app

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/memcore/memcore/core/journal"
	"github.com/memcore/memcore/inject/view"
	"github.com/memcore/memcore/internal/kind"
)

const (
	// shownTurns is the default limit.
	shownTurns = 100
	// maxTurnSessions bounds the sessions that are listed.
	maxTurnSessions = 50
	// maxSearched bounds the documents that a search in turns reads.
	maxSearched = 500
)

// Turns implements view.Memory.
func (v page) Turns(ctx context.Context, r view.TurnsRequest) (view.Turns, error) {
	times, err := readTimes(r.Times)
	if err != nil {
		return view.Turns{}, kind.As(kind.BadInput, err)
	}
	entries, err := v.s.Use().Entries()
	if err != nil {
		return view.Turns{}, err
	}
	all := slices.DeleteFunc(entries, func(e journal.Entry) bool { return e.Kind != journal.PromptEvent })
	slices.Reverse(all)
	out := view.Turns{Sessions: sessionsOf(all), Unkept: !v.s.Settings.Hook.Log}
	f := turnFilter{TurnsRequest: r, times: times, page: v, words: strings.Fields(strings.ToLower(r.Find)), texts: map[string]map[string]string{}}
	limit := cmp.Or(r.Limit, shownTurns)
	for _, t := range all {
		if !f.wants(t) {
			continue
		}
		if found, err := f.finds(ctx, t); err != nil {
			return view.Turns{}, err
		} else if !found {
			continue
		}
		if len(out.Turns) == limit {
			out.More++
			continue
		}
		out.Turns = append(out.Turns, t)
	}
	var shown []*journal.Entry
	for i := range out.Turns {
		shown = append(shown, &out.Turns[i])
	}
	return out, v.s.at.Journal().Explain(shown...)
}

// sessionsOf lists the sessions of turns, in their order.
func sessionsOf(all []journal.Entry) (out []view.TurnSession) {
	places := map[[2]string]int{}
	for _, t := range all {
		at, known := places[[2]string{t.Agent, t.Session}]
		if !known {
			at = len(out)
			if at == maxTurnSessions {
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
func (f *turnFilter) wants(t journal.Entry) bool {
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
func (f *turnFilter) finds(ctx context.Context, t journal.Entry) (bool, error) {
	text := t.Prompt
	for _, h := range t.Passages() {
		text += " " + h.Source
	}
	if f.says(text) {
		return true, nil
	}
	for _, h := range t.Passages() {
		passage, err := f.passage(ctx, h)
		if err != nil {
			return false, err
		}
		text += " " + passage
	}
	return f.says(text), nil
}

// passage returns the text of a hit; "" if it is gone.
func (f *turnFilter) passage(ctx context.Context, h journal.Given) (string, error) {
	texts, known := f.texts[h.Path]
	if !known && len(f.texts) < maxSearched {
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
	return texts[h.Key], nil
}
