package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/reflection"
	"github.com/memcore/memcore/core/session"
)

// Intervals of reflection and of deleting old sessions.
const (
	backgroundEvery = 30 * time.Second
	retainEvery     = time.Hour
)

const (
	// calm is how long no hook has run before a memory that was opened catches up with its files.
	// Until then questions look for changes themselves.
	calm = 500 * time.Millisecond
	// maxUnrest bounds the wait for that.
	maxUnrest = 10 * time.Second
)

// Watch implements httpapi.Workspace. It keeps the index in step with the files, and does the work
// of a service that stays open, until ctx ends.
func (s *Service) Watch(ctx context.Context, indexed func(core.IndexReport, error), problem func(error)) error {
	var group sync.WaitGroup
	defer group.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group.Go(func() {
		// Load what the first answer needs. The hook that opened the workspace may have given up;
		// the next is in time.
		_, _ = notes.Clean("memory") // loads the rules for secrets
		if _, err := s.Manager.Search(ctx, "memory", core.SearchOptions{Limit: 1, Unrecorded: true}); err != nil && ctx.Err() == nil {
			s.Log.Info("the memory was not loaded before the first question", "workspace", s.Project, "error", err)
		}
	})
	group.Go(func() {
		every(ctx, retainEvery, maxUnrest, func() {
			n, logs, err := s.Sessions().Retain(ctx)
			if err != nil && ctx.Err() == nil {
				s.Log.Warn("old sessions were not all deleted", "error", err)
			}
			if n+logs > 0 {
				s.Log.Info("deleted old sessions", "sessions", n, "logs", logs, "older", s.Settings.Sessions.Keep)
			}
		})
	})
	group.Go(func() {
		every(ctx, backgroundEvery, backgroundEvery, func() {
			if err := s.reflectQueued(ctx); err != nil && ctx.Err() == nil {
				s.Log.Warn("work in the background", "workspace", s.Project, "error", err)
			}
		})
	})
	s.hooks.begin()()                    // the one that has it opened comes next
	s.hooks.settle(ctx, calm, maxUnrest) // a session begins with what its hooks need, not with catching up
	for {                                // hooks do not ask for an index, so somebody else makes the first one
		engine, _, err := s.indexed.Engine()
		if _, missing := os.Stat(filepath.Join(s.at.Index, "CURRENT")); missing == nil && err == nil || engine != "" {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
	return s.Manager.Watch(ctx, core.WatchOptions{Indexed: indexed, Problem: problem})
}

// atWork knows whether hooks are being answered.
type atWork struct {
	mu      sync.Mutex
	running int
	last    time.Time // when the last one began or ended
}

// begin counts a hook until end is called.
func (w *atWork) begin() (end func()) {
	count := func(n int) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.running, w.last = w.running+n, time.Now()
	}
	count(1)
	return func() { count(-1) }
}

// settle waits until none has run for a time, at most for longest.
func (w *atWork) settle(ctx context.Context, quiet, longest time.Duration) {
	isQuiet := func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.running == 0 && time.Since(w.last) >= quiet
	}
	for begun := time.Now(); !isQuiet() && time.Since(begun) < longest; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(quiet / 10):
		}
	}
}

// every calls do after a time, and then after each interval, until ctx ends.
func every(ctx context.Context, interval, first time.Duration, do func()) {
	timer := time.NewTimer(first)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			do()
			timer.Reset(interval)
		}
	}
}

// reflectQueued reflects upon queued sessions.
func (s *Service) reflectQueued(ctx context.Context) error {
	if !s.Settings.Reflect.Auto || s.Settings.Reflect.Model == "" {
		return nil
	}
	queued, err := s.Sessions().Queued()
	if err != nil {
		return err
	}
	var failed error
	for _, current := range queued { // one that fails stays in the queue, and does not keep back the others
		if err := s.reflectOne(ctx, current); err != nil {
			failed = errors.Join(failed, fmt.Errorf("reflect upon session %s: %w", current.ID, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return failed
}

func (s *Service) reflectOne(ctx context.Context, queued *session.Session) error {
	said, err := queued.Messages(ctx)
	if err != nil {
		return err
	}
	if _, err := s.Reflect(ctx, said, false, nil); err != nil && !errors.Is(err, reflection.ErrNothing) {
		return err
	}
	return queued.Unqueue()
}
