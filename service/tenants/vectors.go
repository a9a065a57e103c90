package tenants

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/memcore/memcore/embed/cache"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/service/store"
)

// A shelf exchanges the vectors of a tenant's documents with other nodes, in a log of their own.
// Without it a node is slower.
type shelf struct {
	log      store.Changelog
	exists   func(context.Context) (bool, error) // whether the tenant does
	logger   *slog.Logger
	exchange *cache.Exchange

	mu   sync.Mutex
	mark store.Mark
	sent int // revisions that this process wrote

	stop   context.CancelFunc
	now    func()        // ends a pause before the first pull
	pulled chan struct{} // closed when that has ended
	work   sync.WaitGroup
}

const (
	// vectorsPerRevision is the most vectors in a revision. It has fewer if no more come for a
	// while.
	vectorsPerRevision = 1024
	shelfEvery         = 2 * time.Second
	// firstPullTimeout bounds the wait for vectors that this node could make itself.
	firstPullTimeout = 10 * time.Second
	// shelfLater delays the first pull if no answer needs it.
	shelfLater = 5 * time.Second
)

// openShelf begins to exchange vectors; with later after a while, unless somebody waits. It returns
// nil for an embedder without a cache.
func openShelf(log store.Changelog, exists func(context.Context) (bool, error), w *app.Workspace, later bool, logger *slog.Logger) (*shelf, error) {
	at, err := w.Folders()
	if err != nil {
		return nil, err
	}
	embedder, err := w.Index().Embedder(at)
	cached, ok := embedder.(*cache.Cache)
	if err != nil || !ok {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	wait := time.Duration(0)
	if later {
		wait = shelfLater
	}
	pause, now := context.WithTimeout(ctx, wait)
	s := &shelf{log: log, exists: exists, logger: logger, exchange: cache.NewExchange(cached), stop: stop, now: now, pulled: make(chan struct{})}
	s.work.Go(func() {
		<-pause.Done()
		first, end := context.WithTimeout(ctx, firstPullTimeout)
		s.warn(ctx, s.pull(first))
		end()
		close(s.pulled)
		s.follow(ctx)
	})
	return s, nil
}

func (s *shelf) warn(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		s.logger.Warn("vectors are not exchanged with other nodes", "log", s.log.Name(), "error", err)
	}
}

// close waits for a running write.
func (s *shelf) close() {
	if s != nil {
		s.stop()
		s.work.Wait()
	}
}

// wait waits for the first pull, or for ctx.
func (s *shelf) wait(ctx context.Context) {
	if s == nil {
		return
	}
	s.now()
	select {
	case <-s.pulled:
	case <-ctx.Done():
	}
}

// follow sends new vectors once there are many or no more come.
func (s *shelf) follow(ctx context.Context) {
	ticker := time.NewTicker(shelfEvery)
	defer ticker.Stop()
	var pending cache.Records
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		more, err := s.exchange.Export(vectorsPerRevision - pending.Count)
		s.warn(ctx, err)
		pending = pending.And(more)
		if pending.Count == 0 || more.Count > 0 && pending.Count < vectorsPerRevision {
			continue
		}
		if err := s.push(ctx, pending); err != nil {
			s.warn(ctx, err)
			s.exchange.Again()
		}
		pending = cache.Records{}
	}
}

// pull takes the vectors of other nodes.
func (s *shelf) pull(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	since, next, err := s.log.Since(ctx, s.mark)
	if err != nil {
		return err
	}
	s.take(since, next)
	return nil
}

// take imports vectors. It skips damaged ones and those of other embedders.
func (s *shelf) take(revisions []store.Revision, next store.Mark) {
	for _, r := range revisions {
		name, rest, _ := strings.Cut(r.Path, "/")
		dim, _, _ := strings.Cut(rest, "/")
		dimension, err := strconv.Atoi(dim)
		if err != nil || name != s.exchange.Name() {
			continue
		}
		bytes, err := base64.StdEncoding.DecodeString(r.Text)
		if err == nil {
			err = s.exchange.Import(cache.Records{Bytes: bytes, Dimension: dimension})
		}
		if err != nil {
			s.logger.Warn("vectors of another node are not used", "log", s.log.Name(), "error", err)
		}
	}
	s.mark = next
}

// push adds vectors, unless the tenant was deleted: writing would begin its log again.
func (s *shelf) push(ctx context.Context, records cache.Records) error {
	if exists, err := s.exists(ctx); err != nil || !exists {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	text := base64.StdEncoding.EncodeToString(records.Bytes)
	for range mostConflicts {
		now := time.Now().UTC().Truncate(time.Microsecond)
		path := fmt.Sprintf("%s/%d/%d", s.exchange.Name(), records.Dimension, now.UnixNano())
		since, next, err := s.log.Append(ctx, []store.Revision{{Path: path, Text: text, At: now}}, s.mark)
		switch {
		case errors.Is(err, store.ErrBehind):
			s.take(since, next)
			continue
		case err != nil:
			return err
		}
		s.mark = next
		s.exchange.Exported(records)
		if s.sent++; s.sent%appendsPerCompaction == 0 {
			return s.log.Compact(ctx, now)
		}
		return nil
	}
	return store.ErrBehind
}
