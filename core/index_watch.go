package core

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/memcore/memcore/internal/watch"
)

// WatchOptions configure Watch.
type WatchOptions struct {
	// Quiet is the pause after a change (0 is 100 ms); Longest bounds it (0 is 500 ms).
	Quiet, Longest time.Duration
	// Every is how often files are checked anyway; 0 is 30 s.
	Every time.Duration
	// Indexed, if set, gets the result of each run.
	Indexed func(IndexReport, error)
	// Problem, if set, gets why Watch may miss changes, and nil when that is over. Meanwhile
	// queries check the files.
	Problem func(error)
}

const (
	watchQuiet   = 100 * time.Millisecond
	watchLongest = 500 * time.Millisecond
	watchEvery   = 30 * time.Second
	maxFolders   = 16_384
)

// Watch indexes now and after each change, despite errors, until ctx ends. Queries skip the file
// check while it reports no change.
func (m *Manager) Watch(ctx context.Context, o WatchOptions) error {
	if m.options.Contents != nil {
		return ErrElsewhere
	}
	defer m.watched.Store(false)
	w := &watching{m: m, options: o}
	w.files = watch.New(watch.Options{
		Quiet: cmp.Or(o.Quiet, watchQuiet), Longest: cmp.Or(o.Longest, watchLongest), Every: cmp.Or(o.Every, watchEvery),
		Most:  maxFolders,
		Heard: func() { w.events.Add(1); m.watched.Store(false) },
	})
	defer w.files.Close()
	update := func() error { return w.update(ctx) }
	if err := update(); err != nil {
		return err
	}
	return w.files.Run(ctx, update)
}

type watching struct {
	m        *Manager
	options  WatchOptions
	files    *watch.Watcher
	events   atomic.Int64
	reported string // the last problem
}

// update indexes until there are no more folders to watch.
func (w *watching) update(ctx context.Context) error {
	for again := true; ; {
		w.m.tooSoon.Store(false)
		more, err := w.index(ctx)
		if err != nil {
			return err
		}
		if more {
			continue
		}
		// Once more for a file read right after a write: a change at the same time may cause no
		// event.
		if !again || !w.m.tooSoon.Load() {
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

// index watches all folders; more means that some were added.
func (w *watching) index(ctx context.Context) (more bool, err error) {
	before := w.events.Load()
	folders, whole, err := w.m.folders(ctx)
	if err != nil {
		return false, err
	}
	more = w.files.Watch(folders)
	problem := w.files.Problem()
	w.report(problem)
	report, err := w.m.Index(ctx, IndexOptions{})
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err == nil && whole && problem == nil && report.Unreadable == 0 && w.events.Load() == before {
		w.m.watched.Store(true)
		if w.events.Load() != before { // a change came between the two
			w.m.watched.Store(false)
		}
	}
	if w.options.Indexed != nil {
		w.options.Indexed(report, err)
	}
	return more, nil
}

// report reports a problem that has changed.
func (w *watching) report(problem error) {
	now := fmt.Sprint(problem)
	if w.options.Problem != nil && now != w.reported && (w.reported != "" || problem != nil) {
		w.reported = now
		w.options.Problem(problem)
	}
}

// whole is false if a source cannot be listed.
func (m *indexer) folders(ctx context.Context) (all []string, whole bool, err error) {
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
