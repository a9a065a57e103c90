// Package watch reports that files in folders may have changed.
//
// It watches folders, because editors replace files. It does not say which file changed: events can
// be lost. If it cannot watch a folder, it reports at intervals.
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

// Options of a Watcher. All but Heard are required.
type Options struct {
	// Quiet is the pause that completes a change, which takes editors several steps.
	Quiet time.Duration
	// Longest bounds the wait for a pause.
	Longest time.Duration
	// Most bounds folders: programs share the system's limit.
	Most int
	// Every is the interval of reports without an event: some file systems send none.
	Every time.Duration
	// Heard, if not nil, is called at each event.
	Heard func()
}

// A Watcher is safe for concurrent use.
type Watcher struct {
	o      Options
	notify *fsnotify.Watcher // nil if the system refuses one
	never  error             // why notify is nil

	mu      sync.Mutex
	watched map[string]bool
	problem error
}

// New returns a Watcher for the caller to close.
func New(o Options) *Watcher {
	w := &Watcher{o: o, watched: map[string]bool{}}
	var err error
	if w.notify, err = fsnotify.NewWatcher(); err != nil {
		w.notify, w.never = nil, fmt.Errorf("no folder is watched, so files are checked at intervals: %w", limitOf(err, syscall.EMFILE, "fs.inotify.max_user_instances, or on open files"))
	}
	return w
}

// limitOf adds the system's limit if err means it.
func limitOf(err error, of syscall.Errno, name string) error {
	if errors.Is(err, of) {
		return fmt.Errorf("the system's limit is reached (%s): %w", name, err)
	}
	return err
}

// Problem returns why the last Watch is incomplete.
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

// Watch replaces the folders and reports whether one is new: its files may have changed before. For
// a missing folder it watches the nearest above.
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
			w.notify.Remove(folder) // fails if it is gone
			delete(w.watched, folder)
		}
	}
	var refused error
	for folder := range wanted {
		if w.watched[folder] {
			continue
		}
		if len(w.watched) >= w.o.Most {
			refused = fmt.Errorf("more than %d would leave too few for other programs", w.o.Most)
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
		w.problem = fmt.Errorf("%d of %d folders are watched, so files are checked at intervals: %w", len(w.watched), len(wanted), refused)
	}
	return more
}

// existing returns the nearest folder at or above.
func existing(path string) string {
	for {
		if info, err := os.Stat(path); err == nil && info.IsDir() || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

// Run calls changed after each change until it fails or ctx ends. Events during a call lead to the
// next.
func (w *Watcher) Run(ctx context.Context, changed func() error) error {
	var due <-chan time.Time
	var since time.Time
	ticker := time.NewTicker(w.o.Every)
	defer ticker.Stop()
	events, failures := w.channels()
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
			heard(0) // events were lost
		case event := <-events:
			if event.Has(fsnotify.Remove | fsnotify.Rename) {
				w.gone(event.Name)
			}
			if event.Op != fsnotify.Chmod {
				heard(w.o.Quiet)
			}
		case <-ticker.C:
			if due == nil { // without a call of Heard
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

func (w *Watcher) channels() (<-chan fsnotify.Event, <-chan error) {
	if w.notify == nil {
		return nil, nil
	}
	return w.notify.Events, w.notify.Errors
}

// gone lets Watch add a folder and those below again.
func (w *Watcher) gone(folder string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	below := folder + string(filepath.Separator)
	for path := range w.watched {
		if path == folder || strings.HasPrefix(path, below) {
			w.notify.Remove(path) // fails if it is gone
			delete(w.watched, path)
		}
	}
}
