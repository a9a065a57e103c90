package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/static"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/inject/hook"
)

// A service is the memory of a workspace for the roads by which it reaches agents. It is safe for concurrent use.
type service struct {
	*app
	*core.Manager
	at place
}

// withService opens the memory of the workspace, does something and closes it.
func (a *app) withService(ctx context.Context, do func(*service) error) error {
	at, err := a.place()
	if err != nil {
		return err
	}
	return a.withMemory(ctx, func(m *core.Manager) error { return do(&service{a, m, at}) })
}

// Curated implements hook.Memory.
func (s *service) Curated(ctx context.Context, not []string) (string, error) {
	if !s.settings.Enabled {
		return "", nil
	}
	o := s.staticOptions(s.trust())
	o.Names = slices.DeleteFunc(slices.Clone(o.Names), func(name string) bool { return slices.Contains(not, name) })
	if len(o.Names) == 0 {
		return "", nil
	}
	memory, err := static.New(o).Load(ctx)
	if err != nil {
		return "", fmt.Errorf("curated memory: %w", err)
	}
	return formatter.StaticLayer(memory), nil
}

// Note implements hook.Memory: what agents say goes to a session of their own in working memory.
func (s *service) Note(ctx context.Context, e hook.Event, role, text string) error {
	session, err := s.sessionOf(e)
	if session == nil || err != nil {
		return err
	}
	_, err = session.Append(ctx, notes.Message{Role: role, Content: text}, notes.AppendOptions{})
	return err
}

// Ended implements hook.Memory.
func (s *service) Ended(ctx context.Context, e hook.Event) error {
	if !s.settings.Reflect.Auto {
		return nil
	}
	session, err := s.sessionOf(e)
	if session == nil || err != nil {
		return err
	}
	return session.Queue()
}

// sessionOf is the working memory of an agent's session; nil if the event names none.
func (s *service) sessionOf(e hook.Event) (*notes.Session, error) {
	if e.Session == "" || !s.settings.Enabled {
		return nil, nil
	}
	return notes.NewSession(s.sessions(), e.Agent+"-"+strings.Map(func(r rune) rune {
		if r <= ' ' || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, e.Session))
}

// hookOptions are those that the configuration asks for.
func (s *service) hookOptions(e hook.Event) hook.Options {
	o := hook.Options{Retrieve: s.retrieveOptions(queryFlags{}), Given: hook.Given{Dir: s.at.hooks()}, NoLog: !s.settings.Hook.Log}
	o.Retrieve.Not = append(o.Retrieve.Not, hook.OwnFiles(e.Agent)...)
	return o
}

// answer answers a hook, and leaves a trace of it.
func (s *service) answer(ctx context.Context, e hook.Event) (reply []byte, trace hook.Trace) {
	if !s.settings.Enabled {
		return nil, hook.Trace{Event: e, Reason: turnedOff}
	}
	if e.Kind == hook.Prompt {
		if _, err := s.StaticLayer(ctx); err != nil && !errors.Is(err, context.Canceled) { // what the session has already is not retrieved again
			s.log.Warn("curated memory", "error", err)
		}
	}
	return hook.Handle(ctx, e, s, s.hookOptions(e))
}

// dirOf is the folder that an event is about.
func dirOf(e hook.Event, otherwise string) string {
	if filepath.IsAbs(e.Dir) {
		return e.Dir
	}
	return otherwise
}
