package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/inject/hook"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/text/plain"
)

// Sessions are the sessions of a workspace.
type Sessions struct{ w *Workspace }

// Sessions returns the sessions of the workspace.
func (w *Workspace) Sessions() Sessions { return Sessions{w} }

// openSessions stay open, so that only new messages are read.
type openSessions struct {
	Sessions
	mu   sync.Mutex
	open map[string]*session.Session
}

// MostSessions are searched, the last used first.
const MostSessions = 50

func (o *openSessions) all(context.Context) ([]*session.Session, error) {
	ids, err := session.List(o.w.SessionsDir())
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("%w: none was noted in this workspace yet", session.ErrNoSession)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	kept := map[string]*session.Session{}
	var all []*session.Session
	for _, id := range ids[:min(len(ids), MostSessions)] {
		s := o.open[id]
		if s == nil {
			if s, err = o.Open(id); err != nil {
				continue // removed meanwhile
			}
		}
		kept[id] = s
		all = append(all, s)
	}
	o.open = kept
	return all, nil
}

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

// openOrNew returns nil without a session in the event.
func (s Sessions) openOrNew(e hook.Event) (*session.Session, error) {
	if e.Session == "" || !s.w.Settings.Enabled {
		return nil, nil
	}
	s.w.RememberPath()
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

// Embed makes the missing vectors of all sessions.
func (s Sessions) Embed(ctx context.Context) error {
	ids, err := session.List(s.w.SessionsDir())
	if err != nil || len(ids) == 0 {
		return err
	}
	recall, err := s.w.Index().RecallOptions()
	if err != nil || recall.Embedder == nil {
		return err
	}
	made := 0
	for _, id := range ids { // one at a time, since each keeps what it reads
		current, err := s.Open(id)
		if err != nil {
			return err
		}
		n, err := current.Embed(ctx, recall.Embedder)
		made += n
		if errors.Is(err, embed.ErrUnavailable) {
			s.w.Note("working memory is found by words only: %v", err)
			return nil
		}
		if err != nil {
			return err
		}
	}
	if made > 0 {
		s.w.Note("%s of working memory embedded", plain.Count(made, "piece"))
	}
	return nil
}

// WithOthers returns a session, then all others.
func (s Sessions) WithOthers(first *session.Session) ([]*session.Session, error) {
	opened, err := s.openAll()
	others := slices.DeleteFunc(opened, func(current *session.Session) bool { return current.ID == first.ID })
	return append([]*session.Session{first}, others...), err
}
