package tenants

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/memcore/memcore/service/store"
	"github.com/memcore/memcore/service/store/storetest"
)

// A memoryLog is a store.Changelog without storage, with faults of Append and Since.
type memoryLog struct {
	mu        sync.Mutex
	revisions []store.Revision
	order     int64
	version   int64
	dropped   int64 // orders up to this one are of a log that was dropped
	asked     int   // calls of Since from the beginning

	faults
}

func (l *memoryLog) Name() string { return "memory" }

func (l *memoryLog) Append(ctx context.Context, revisions []store.Revision, mark store.Mark) (since []store.Revision, next store.Mark, err error) {
	if len(revisions) == 0 {
		return nil, mark, fmt.Errorf("no revisions")
	}
	err = l.call(ctx, &l.mu, "append", func() error {
		if mark.Order > 0 && mark.Order <= l.dropped {
			return store.ErrGone
		}
		if since, next = l.after(mark); len(since) > 0 {
			if since[0].ID == revisions[0].ID {
				since = since[:len(revisions)]
				next = store.Mark{Order: since[len(since)-1].Order}
				return nil
			}
			return store.ErrBehind
		}
		for _, r := range revisions {
			l.order++
			r.ID, r.Order = cmp.Or(r.ID, rand.Text()), l.order
			l.revisions = append(l.revisions, r)
		}
		l.version++
		since, next = l.after(mark)
		return nil
	})
	return since, next, err
}

func (l *memoryLog) after(mark store.Mark) ([]store.Revision, store.Mark) {
	var since []store.Revision
	for _, r := range l.revisions {
		if r.Order > mark.Order {
			since = append(since, r)
		}
	}
	if len(since) > 0 {
		mark.Order = since[len(since)-1].Order
	}
	return since, store.Mark{Version: l.version, Order: mark.Order}
}

func (l *memoryLog) Since(ctx context.Context, mark store.Mark) (since []store.Revision, next store.Mark, err error) {
	err = l.call(ctx, &l.mu, "since", func() error {
		if mark.Order > 0 && mark.Order <= l.dropped {
			return store.ErrGone
		}
		if mark.Order == 0 {
			l.asked++
		}
		if since, next = l.after(mark); len(l.revisions) == 0 {
			next = store.Mark{}
		}
		return nil
	})
	return since, next, err
}

func (l *memoryLog) Pages(ctx context.Context, mark store.Mark) iter.Seq2[[]store.Revision, error] {
	return func(yield func([]store.Revision, error) bool) {
		since, _, err := l.Since(ctx, mark)
		if err != nil {
			yield(nil, err)
			return
		}
		for page := range slices.Chunk(since, 3) {
			if !yield(page, nil) {
				return
			}
		}
	}
}

func (l *memoryLog) Compact(_ context.Context, before time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	replaced := map[string]time.Time{}
	var kept []store.Revision
	for _, r := range slices.Backward(l.revisions) {
		if at, known := replaced[r.Path]; !known || !at.Before(before) {
			kept = append(kept, r)
		}
		replaced[r.Path] = r.At
	}
	slices.Reverse(kept)
	l.revisions, l.version = kept, l.version+1
	return nil
}

func (l *memoryLog) Drop(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.revisions, l.dropped, l.version = nil, l.order, l.version+1
	return nil
}

// texts returns the documents that the log has.
func (l *memoryLog) texts() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[string]string{}
	for _, r := range l.revisions {
		if all[r.Path] = r.Text; r.Gone {
			delete(all, r.Path)
		}
	}
	return all
}

func TestMemoryLogIsAChangelog(t *testing.T) {
	var mu sync.Mutex
	logs := map[string]*memoryLog{}
	storetest.TestChangelog(t, func(_ *testing.T, name string) store.Changelog {
		mu.Lock()
		defer mu.Unlock()
		if logs[name] == nil {
			logs[name] = &memoryLog{}
		}
		return logs[name]
	})
}
