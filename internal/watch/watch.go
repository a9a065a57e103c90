// Package watch tells when something may have changed in a set of folders.
//
// It watches folders, not files, so that editors which replace files are noticed. It says when to look, not what has changed: events can be lost, and
// whoever looks at the files themselves misses nothing. Where the system does not let it watch (there are limits for all programs of a user together) it says
// when to look now and then.
package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
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
	// Every is after how long the folders are looked at whether something was heard or not; 0 is 10 s if there is a Problem, else never. It is for what is not
	// watched, and for file systems that tell nothing.
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
	defaultEvery   = 10 * time.Second // with a problem
)

// A Watcher watches folders. Its methods are safe for concurrent use.
type Watcher struct {
	o      Options
	notify *fsnotify.Watcher // nil if the system gives none
	never  error             // why it is nil
	every  time.Duration     // Options.Every, or defaultEvery

	mu      sync.Mutex
	watched map[string]bool
	problem error
}

// New returns a watcher of nothing yet. It is to be closed.
func New(o Options) *Watcher {
	if o.Quiet == 0 {
		o.Quiet = defaultQuiet
	}
	if o.Longest == 0 {
		o.Longest = defaultLongest
	}
	if o.Most == 0 {
		o.Most = defaultMost
	}
	w := &Watcher{o: o, every: o.Every, watched: map[string]bool{}}
	if w.every == 0 {
		w.every = defaultEvery
	}
	var err error
	if w.notify, err = fsnotify.NewWatcher(); err != nil {
		w.notify, w.never = nil, fmt.Errorf("nothing is watched, files are looked at now and then: %w", limitOf(err, syscall.EMFILE, "fs.inotify.max_user_instances, or on open files"))
	}
	return w
}

// limitOf names the limit that an error of the system stands for.
func limitOf(err error, of syscall.Errno, name string) error {
	if errors.Is(err, of) {
		return fmt.Errorf("the system's limit is reached (%s): %w", name, err)
	}
	return err
}

// Problem is why changes may go unheard and are found by looking now and then only; nil if there is no reason. It is that of the last Watch.
func (w *Watcher) Problem() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.problem
}

// Close stops watching.
func (w *Watcher) Close() error {
	if w.notify == nil {
		return nil
	}
	return w.notify.Close()
}

// Watch makes folders those that are watched, and tells whether one of them was not watched before: what has changed in it meanwhile was not heard. Of one that
// does not exist the nearest above it is watched. What cannot be watched is a Problem, no error.
func (w *Watcher) Watch(folders []string) (more bool) {
	wanted := map[string]bool{}
	for _, folder := range folders {
		wanted[existing(folder)] = true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.problem = w.never; w.problem != nil {
		return false
	}
	for folder := range w.watched {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() || !wanted[folder] {
			w.notify.Remove(folder) // one that is gone is no longer watched anyway
			delete(w.watched, folder)
		}
	}
	var refused error
	for folder := range wanted {
		if w.watched[folder] {
			continue
		}
		if len(w.watched) >= w.o.Most {
			refused = fmt.Errorf("more than %d would take too much of what the system has for all programs", w.o.Most)
			break
		}
		switch err := w.notify.Add(folder); {
		case errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission):
		case err != nil:
			refused = limitOf(err, syscall.ENOSPC, "fs.inotify.max_user_watches")
		default:
			w.watched[folder] = true
			more = true
		}
		if errors.Is(refused, syscall.ENOSPC) {
			break
		}
	}
	if refused != nil {
		w.problem = fmt.Errorf("%d of %d folders are watched, files are looked at now and then: %w", len(w.watched), len(wanted), refused)
	}
	return more
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
	ticker := time.NewTicker(w.every)
	defer ticker.Stop()
	var events chan fsnotify.Event
	var failures chan error
	if w.notify != nil {
		events, failures = w.notify.Events, w.notify.Errors
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
		case err := <-failures:
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				return fmt.Errorf("watch files: %w", err)
			}
			heard(0) // events were lost: look at everything
		case event := <-events:
			if event.Has(fsnotify.Remove | fsnotify.Rename) {
				w.gone(event.Name)
			}
			if event.Op == fsnotify.Chmod || w.o.Relevant != nil && !event.Has(fsnotify.Create|fsnotify.Remove|fsnotify.Rename) && !w.o.Relevant(event.Name) {
				continue
			}
			heard(w.o.Quiet)
		case <-ticker.C:
			if due == nil && (w.o.Every > 0 || w.Problem() != nil) { // nothing was heard, so nobody is told that something has
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
