package core

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/memcore/memcore/internal/watch"
)

// WatchOptions say how an index is kept fresh.
type WatchOptions struct {
	// Quiet is how long nothing must happen before files are read; 0 is 100 ms. Longest is how long that is waited for; 0 is 500 ms.
	Quiet, Longest time.Duration
	// Every is how often the files are looked at whether anything was heard or not; 0 is 30 s.
	Every time.Duration
	// Indexed is told of each run of Index; nil is not to be told.
	Indexed func(IndexReport, error)
	// Problem is told why changes may go unheard, such as a limit of the system on watches, and nil when they do not any more: until then the files are looked
	// at by queries, and by the watch as often as Every says. nil is not to be told.
	Problem func(error)
}

const (
	watchQuiet   = 100 * time.Millisecond
	watchLongest = 500 * time.Millisecond
	watchEvery   = 30 * time.Second
	mostFolders  = 16_384
)

// Watch keeps the index in step with the files until ctx ends, and returns ctx's error: it indexes first, and again whenever something has changed. While it is
// running and nothing has changed, queries do not look at the files. An error of Index does not end it, since the next may do better. What the system does
// not let it watch is a WatchOptions.Problem.
func (m *Manager) Watch(ctx context.Context, o WatchOptions) error {
	defer m.watched.Store(false)
	var heard atomic.Int64
	w := watch.New(watch.Options{Quiet: or(o.Quiet, watchQuiet), Longest: or(o.Longest, watchLongest), Every: or(o.Every, watchEvery), Most: mostFolders,
		Heard: func() { heard.Add(1); m.watched.Store(false) }})
	defer w.Close()
	said := ""
	update := func() error {
		for again := true; ; {
			before := heard.Load()
			m.tooSoon.Store(false)
			folders, whole, err := m.folders(ctx)
			if err != nil {
				return err
			}
			more := w.Watch(folders)
			problem := w.Problem()
			if now := fmt.Sprint(problem); o.Problem != nil && now != said && (said != "" || problem != nil) {
				said = now
				o.Problem(problem)
			}
			report, err := m.Index(ctx, IndexOptions{})
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err == nil && whole && problem == nil && report.Unreadable == 0 && heard.Load() == before {
				m.watched.Store(true)
				if heard.Load() != before { // it came between the two
					m.watched.Store(false)
				}
			}
			if o.Indexed != nil {
				o.Indexed(report, err)
			}
			if more {
				continue
			}
			// Nothing more need be heard of what was read too soon. Once is enough: of what is written meanwhile, something is.
			if !again || !m.tooSoon.Load() {
				return nil
			}
			again = false
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(recentlyModified):
			}
		}
	}
	if err := update(); err != nil {
		return err
	}
	return w.Run(ctx, update)
}

// folders are those that documents are in, or may come to be in; whole is false if a source cannot be listed.
func (m *Manager) folders(ctx context.Context) (all []string, whole bool, err error) {
	whole = true
	for _, from := range m.options.Sources {
		listing, err := from.List(ctx)
		if ctx.Err() != nil {
			return nil, false, ctx.Err()
		}
		if err != nil {
			whole = false
			continue
		}
		whole = whole && (len(listing.Folders) > 0 || len(listing.Documents) == 0)
		all = append(all, listing.Folders...)
	}
	return all, whole, nil
}
