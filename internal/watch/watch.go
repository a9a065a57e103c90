// Package watch tells when something may have changed in a set of folders.
//
// It watches folders, not files, so that editors which replace files are noticed. It says when to look, not what has changed: events can be lost, and
// whoever looks at the files themselves misses nothing.
package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Options say how changes are gathered.
type Options struct {
	// Quiet is how long nothing must happen before a change counts as complete: editors write, rename and remove in a row. 0 is 150 ms.
	Quiet time.Duration
	// Longest is how long a change waits for quiet at most; 0 is 2 s.
	Longest time.Duration
	// Most is how many folders are watched, so that a large tree does not use up what the system has for all programs; 0 is 4096.
	Most int
	// Every is after how long the folders are looked at whether something was heard or not; 0 is never. It is for what is not watched, and for file systems that
	// tell nothing.
	Every time.Duration
	// Relevant tells the files whose changes matter, by path; nil is all. That something was made, renamed or removed always matters.
	Relevant func(path string) bool
	// Heard is called at once when something has happened, before it is quiet; nil is not to be told.
	Heard func()
}

const (
	defaultQuiet   = 150 * time.Millisecond
	defaultLongest = 2 * time.Second
	defaultMost    = 4096
)

// A Watcher watches folders. Its methods are safe for concurrent use.
type Watcher struct {
	o      Options
	notify *fsnotify.Watcher

	mu      sync.Mutex
	watched map[string]bool
}

// New returns a watcher of nothing yet. An error is one of the system's, such as a limit on watches.
func New(o Options) (*Watcher, error) {
	if o.Quiet == 0 {
		o.Quiet = defaultQuiet
	}
	if o.Longest == 0 {
		o.Longest = defaultLongest
	}
	if o.Most == 0 {
		o.Most = defaultMost
	}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch files: %w", err)
	}
	return &Watcher{o: o, notify: notify, watched: map[string]bool{}}, nil
}

// Close stops watching.
func (w *Watcher) Close() error { return w.notify.Close() }

// Watch makes folders those that are watched, and tells whether one of them was not watched before: what has changed in it meanwhile was not heard. Of one that
// does not exist the nearest above it is watched.
func (w *Watcher) Watch(folders []string) (more bool, err error) {
	wanted := map[string]bool{}
	for _, folder := range folders {
		wanted[existing(folder)] = true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for folder := range w.watched {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() || !wanted[folder] {
			w.notify.Remove(folder) // one that is gone is no longer watched anyway
			delete(w.watched, folder)
		}
	}
	for folder := range wanted {
		if w.watched[folder] || len(w.watched) >= w.o.Most {
			continue
		}
		switch err := w.notify.Add(folder); {
		case errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission):
		case err != nil:
			return false, fmt.Errorf("watch %s: %w", folder, err)
		default:
			w.watched[folder] = true
			more = true
		}
	}
	return more, nil
}

// existing is the nearest folder at or above a path that exists.
func existing(path string) string {
	for {
		if info, err := os.Stat(path); err == nil && info.IsDir() || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

// Run calls changed whenever something may have changed and it is quiet, until changed fails or ctx ends, and returns that error. Calls do not overlap; what
// happens during one is heard, and leads to the next.
func (w *Watcher) Run(ctx context.Context, changed func() error) error {
	var due <-chan time.Time
	var since time.Time
	var every <-chan time.Time
	if w.o.Every > 0 {
		ticker := time.NewTicker(w.o.Every)
		defer ticker.Stop()
		every = ticker.C
	}
	done := make(chan error, 1)
	running, again := false, false
	defer func() {
		if running {
			<-done
		}
	}()
	heard := func(wait time.Duration) {
		if w.o.Heard != nil {
			w.o.Heard()
		}
		if due == nil {
			since = time.Now()
		}
		due = time.After(min(wait, max(0, w.o.Longest-time.Since(since))))
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-w.notify.Errors:
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				return fmt.Errorf("watch files: %w", err)
			}
			heard(0) // events were lost: look at everything
		case event := <-w.notify.Events:
			if event.Has(fsnotify.Remove | fsnotify.Rename) {
				w.gone(event.Name)
			}
			if event.Op == fsnotify.Chmod || w.o.Relevant != nil && !event.Has(fsnotify.Create|fsnotify.Remove|fsnotify.Rename) && !w.o.Relevant(event.Name) {
				continue
			}
			heard(w.o.Quiet)
		case <-every:
			if due == nil { // nothing was heard, so nobody is told that something has
				since, due = time.Now(), time.After(0)
			}
		case <-due:
			due = nil
			if running {
				again = true
				continue
			}
			running = true
			go func() { done <- changed() }()
		case err := <-done:
			if running = false; err != nil {
				return err
			}
			if again {
				again, due = false, time.After(0)
			}
		}
	}
}

// gone notes that a folder, and those below it, have to be watched anew if they come back: what is watched is where they are now.
func (w *Watcher) gone(folder string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	below := folder + string(filepath.Separator)
	for path := range w.watched {
		if path == folder || strings.HasPrefix(path, below) {
			w.notify.Remove(path) // it may be gone by itself
			delete(w.watched, path)
		}
	}
}
