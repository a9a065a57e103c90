package app

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/inject/hook"
	"github.com/memcore/memcore/internal/kind"
)

// Sessions are the sessions of a workspace.
type Sessions struct{ w *Workspace }

// Sessions returns the sessions of the workspace.
func (w *Workspace) Sessions() Sessions { return Sessions{w} }

// MaxEarlier is how many sessions, the last used first, a person's question looks through.
const MaxEarlier = 50

// SessionID names the session of an agent's event.
func SessionID(e hook.Event) string {
	return e.Agent + "-" + strings.Map(func(r rune) rune {
		if r <= ' ' || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, e.Session)
}

// Open opens a session; "" is the last used.
func (s Sessions) Open(id string) (*session.Session, error) {
	current, err := session.Open(s.w.SessionsDir(), id)
	if errors.Is(err, session.ErrNoSession) {
		return nil, kind.Hint(err, "run 'memcore session new' to make one, 'memcore session list' for those there are")
	}
	return current, err
}

// AtHand is Open, but "" is the last that no agent made, or nil.
func (s Sessions) AtHand(id string) (*session.Session, error) {
	if id != "" {
		return s.Open(id)
	}
	last, err := session.Last(s.w.SessionsDir(), func(id string) bool {
		return !slices.ContainsFunc(agents.Names(), func(agent string) bool { return strings.HasPrefix(id, agent+"-") })
	})
	if last == "" || err != nil {
		return nil, err
	}
	return s.Open(last)
}

// toLog opens or makes a session; "" is that of AtHand, or a new one.
func (s Sessions) toLog(ctx context.Context, id string) (*session.Session, error) {
	if id == "" {
		if current, err := s.AtHand(""); current != nil || err != nil {
			return current, err
		}
	}
	s.w.Remember(ctx)
	return session.New(s.w.SessionsDir(), id)
}

// openOrNew returns nil without a session in the event.
func (s Sessions) openOrNew(ctx context.Context, e hook.Event) (*session.Session, error) {
	if e.Session == "" || !s.w.Settings.Enabled {
		return nil, nil
	}
	s.w.Remember(ctx)
	return session.New(s.w.SessionsDir(), SessionID(e))
}

// ofEvent returns nil before the session exists.
func (s Sessions) ofEvent(e hook.Event) (*session.Session, error) {
	if e.Session == "" {
		return nil, nil
	}
	current, err := s.Open(SessionID(e))
	if errors.Is(err, session.ErrNoSession) {
		return nil, nil
	}
	return current, err
}

// openAll returns the last used first.
func (s Sessions) openAll() ([]*session.Session, error) {
	ids, err := session.List(s.w.SessionsDir())
	if err != nil {
		return nil, err
	}
	var opened []*session.Session
	for _, id := range ids {
		current, err := s.Open(id)
		if errors.Is(err, session.ErrNoSession) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		opened = append(opened, current)
	}
	return opened, nil
}

// Queued opens the sessions that wait for reflection.
func (s Sessions) Queued() ([]*session.Session, error) {
	opened, err := s.openAll()
	return slices.DeleteFunc(opened, func(current *session.Session) bool { return !current.Queued() }), err
}
