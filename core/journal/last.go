package journal

import (
	"strings"
	"time"
)

// A Turn is a prompt or a session's start with the later events until the next.
type Turn struct {
	Entry
	Later []Entry `json:"later,omitempty"`
}

// ReasonSkipped begins the reason of a hook that did nothing, since another agent's hook does it.
const ReasonSkipped = "the hook was skipped: "

// together is the longest time between the hooks of two agents for one event.
const together = time.Minute

// Last returns the turn of the last event. A skipped event does not count if another agent's hook
// answered it. An event that could not be read has no session: it is a later one of the last turn,
// and a turn only if there is none.
func Last(entries []Entry) (last Turn, ok bool) {
	var turns []*Turn // the last of each session, the last used at the end
	for _, e := range entries {
		if last := len(turns) - 1; e.Kind == OtherEvent && last >= 0 {
			turns[last].Later = append(turns[last].Later, e)
			continue
		}
		var turn *Turn
		for i, t := range turns {
			if t.Agent == e.Agent && t.Session == e.Session {
				turn = t
				turns = append(turns[:i], turns[i+1:]...)
				break
			}
		}
		switch {
		case e.beginsTurn() || turn == nil && e.tells():
			turn = &Turn{Entry: e}
		case turn == nil:
			continue
		case e.tells():
			turn.Later = append(turn.Later, e)
		}
		turns = append(turns, turn)
	}
	for i := len(turns) - 1; i >= 0 && turns[len(turns)-1].At.Sub(turns[i].At) <= together; i-- {
		if !strings.HasPrefix(turns[i].Reason, ReasonSkipped) {
			return *turns[i], true
		}
	}
	if len(turns) == 0 {
		return Turn{}, false
	}
	return *turns[len(turns)-1], true
}

func (e Entry) beginsTurn() bool {
	return e.Kind == PromptEvent || e.Kind == StartEvent || e.Kind == OtherEvent
}

// tells reports whether an event within a turn is worth showing.
func (e Entry) tells() bool {
	return e.Added > 0 || len(e.Problems) > 0 || len(e.Notes) > 0 || e.Undelivered != ""
}
