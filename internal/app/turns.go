package app

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/memcore/memcore/core/journal"
	"github.com/memcore/memcore/inject/turn"
)

const (
	// sameTurn is how long the same prompt of a client is taken for the same turn: an agent sends
	// its prompt again with each result of a tool.
	sameTurn = 10 * time.Minute
	// recordWait bounds the wait for the journal, which other processes may be writing.
	recordWait = 100 * time.Millisecond
)

// RecordTurns returns a function for turn.Options.Record that puts the turns of a client without
// hooks into the journal, so that explain and the pages show them. event names what the client
// sends. The entries have no session, since requests do not name one. It is safe for concurrent
// use.
func (s *Service) RecordTurns(client, event string) func(turn.Outcome) {
	var mu sync.Mutex
	answered := map[string]time.Time{} // when a prompt was last asked, by its key
	isNew := func(key string, now time.Time, inTime bool) bool {
		mu.Lock()
		defer mu.Unlock()
		maps.DeleteFunc(answered, func(_ string, at time.Time) bool { return now.Sub(at) > sameTurn })
		_, known := answered[key]
		if inTime {
			answered[key] = now
		}
		return !known
	}
	return func(o turn.Outcome) {
		now := time.Now()
		late := slices.Contains([]string{turn.ReasonLate, turn.ReasonCancelled}, o.Report.Reason)
		if !isNew(journal.KeyOf(o.Query), now, !late) {
			return
		}
		e := journal.Entry{Head: journal.Head{ID: journal.NewID(), Agent: client}, Event: journal.Event{At: now.UTC().Truncate(time.Millisecond), Kind: journal.PromptEvent, Name: event}}
		e.SetPrompt(o.Query, s.Settings.Hook.Log)
		for _, path := range o.Report.Rules {
			e.Rules = append(e.Rules, journal.Rule{Path: path, Given: true, Why: "it applies to the request"})
		}
		if o.Text != "" {
			e.Given, e.Added = journal.GivenOf(o.Result), utf8.RuneCountInString(o.Text)
		}
		e.Reason, e.Took = cmp.Or(o.Report.Reason, o.Result.Silence), o.Took.Round(time.Microsecond).String()
		if late {
			e.Undelivered = o.Report.Reason
		}
		if o.Result.State != "" {
			e.Result = journal.Trim(o.Result)
		}
		ctx, stop := context.WithTimeout(context.Background(), recordWait)
		defer stop()
		if err := s.at.Journal().Append(ctx, e); err != nil {
			s.Log.Warn("a turn is missing in the journal", "error", err)
		}
	}
}
