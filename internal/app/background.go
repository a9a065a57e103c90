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
)

// backgroundEvery is the interval of background work.
const backgroundEvery = 30 * time.Second

// retainEvery is the interval of deleting old sessions.
const retainEvery = time.Hour

// background is the work of a service that stays open.
type background struct{ *Service }

// Watch implements httpapi.Workspace.
func (s *Service) Watch(ctx context.Context, indexed func(core.IndexReport, error), problem func(error)) error {
	var group sync.WaitGroup
	defer group.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	b := background{s}
	group.Go(func() { b.judgeAll(ctx) }) // without waiting for work
	group.Go(func() { b.warm(ctx) })
	group.Go(func() { b.retain(ctx) })
	group.Go(func() {
		ticker := time.NewTicker(backgroundEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if err := b.work(ctx); err != nil && ctx.Err() == nil {
					s.Log.Warn("work in the background", "workspace", s.Project, "error", err)
				}
			}
		}
	})
	if err := b.untilIndexed(ctx); err != nil {
		return err
	}
	group.Go(func() {
		s.Index().FollowServers(ctx, s.at, func(warning string) { s.Log.Warn("resources of MCP servers", "warning", warning) })
	})
	return s.Manager.Watch(ctx, core.WatchOptions{Indexed: indexed, Problem: problem})
}

// warm loads what the first answer needs. The hook that opened the workspace may have given up; the
// next is in time.
func (s background) warm(ctx context.Context) {
	_, _ = notes.Clean("memory") // loads the rules for secrets
	if _, err := s.Manager.Search(ctx, "memory", core.SearchOptions{Limit: 1, Unrecorded: true}); err != nil && ctx.Err() == nil {
		s.Log.Info("the memory was not loaded before the first question", "workspace", s.Project, "error", err)
	}
}

// retain deletes old sessions until ctx ends.
func (s background) retain(ctx context.Context) {
	ticker := time.NewTicker(retainEvery)
	defer ticker.Stop()
	for {
		n, err := s.Sessions().Retain(ctx)
		if err != nil && ctx.Err() == nil {
			s.Log.Warn("old sessions were not all deleted", "error", err)
		}
		if n > 0 {
			s.Log.Info("deleted old sessions", "sessions", n, "older", s.Settings.Sessions.Keep)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// untilIndexed waits for an index, for which hooks do not ask.
func (s background) untilIndexed(ctx context.Context) error {
	for {
		engine, err := s.indexed.Engine()
		if _, missing := os.Stat(filepath.Join(s.at.Index, "CURRENT")); missing == nil && err == nil || engine != "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// work embeds new messages and reflects upon queued sessions.
func (s background) work(ctx context.Context) error {
	if err := s.Sessions().Embed(ctx); err != nil {
		return err
	}
	if !s.Settings.Reflect.Auto || s.Settings.Reflect.Model == "" {
		return nil
	}
	queued, err := s.Sessions().Queued()
	if err != nil {
		return err
	}
	for _, current := range queued {
		said, err := current.Messages(ctx)
		if err != nil {
			return err
		}
		if _, err := s.Reflection().Reflect(ctx, said, false, nil); err != nil && !errors.Is(err, reflection.ErrNothing) {
			return fmt.Errorf("reflect upon session %s: %w", current.ID, err)
		}
		if err := current.Unqueue(); err != nil {
			return err
		}
	}
	return nil
}

// judgeAll judges turns from hooks until ctx ends.
func (s background) judgeAll(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-s.judging:
			if err := s.Use().judge(ctx, s.Manager, e); err != nil && ctx.Err() == nil {
				s.Log.Warn("use of memory", "workspace", s.Project, "error", err)
			}
		}
	}
}
