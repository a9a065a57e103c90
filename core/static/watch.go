package static

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// quiet is how long nothing must happen before a change counts as complete: editors write, rename and remove in a row.
	quiet = 150 * time.Millisecond
	// longest is how long a change waits for quiet at most.
	longest = 2 * time.Second
	// mostWatched folders keep a large tree from using up what the system has for all programs.
	mostWatched = 4096
)

// Watch calls changed with new memory whenever files have changed it, until ctx ends, and returns ctx's error. Folders are watched,
// not files, so that editors which replace files are noticed; of a folder that does not exist yet the nearest one above it. Calls do
// not overlap. An error is one of the system's, such as a limit on watches.
func (l *Layer) Watch(ctx context.Context, changed func(Memory)) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch memory files: %w", err)
	}
	defer watcher.Close()
	w := &watching{Layer: l, watcher: watcher, watched: map[string]bool{}}
	if _, err := w.update(ctx); err != nil {
		return err
	}
	var due <-chan time.Time
	var since time.Time
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-watcher.Errors:
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				return fmt.Errorf("watch memory files: %w", err)
			}
			due = time.After(0) // events were lost: look at everything
		case event := <-watcher.Events:
			if event.Has(fsnotify.Remove | fsnotify.Rename) {
				delete(w.watched, event.Name) // a folder: one that comes back has to be watched anew
			}
			if event.Op == fsnotify.Chmod || !isMarkdown(event.Name) && !event.Has(fsnotify.Create|fsnotify.Remove|fsnotify.Rename) {
				continue
			}
			if due == nil {
				since = time.Now()
			}
			due = time.After(min(quiet, max(0, longest-time.Since(since))))
		case <-due:
			due = nil
			m, err := w.update(ctx)
			if err != nil {
				return err
			}
			if m != nil {
				changed(*m)
			}
		}
	}
}

type watching struct {
	*Layer
	watcher *fsnotify.Watcher
	watched map[string]bool
	key     string // of the memory that is known
}

// update loads memory and watches the folders it may come from; what appears between the two is not missed. It returns the memory
// if it is not the one known before.
func (w *watching) update(ctx context.Context) (*Memory, error) {
	for {
		m, folders, err := w.load(ctx)
		if err != nil {
			return nil, err
		}
		more, err := w.watch(folders)
		if err != nil {
			return nil, err
		}
		if more {
			continue
		}
		w.mu.Lock()
		key := w.Layer.key
		w.mu.Unlock()
		known := w.key
		w.key = key
		if known == "" || known == key {
			return nil, nil
		}
		return &m, nil
	}
}

// watch watches folders, and tells whether one of them was not watched before.
func (w *watching) watch(folders []string) (more bool, err error) {
	wanted := map[string]bool{}
	for _, folder := range folders {
		wanted[existing(folder)] = true
	}
	for folder := range w.watched {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() || !wanted[folder] {
			w.watcher.Remove(folder) // one that is gone is no longer watched anyway
			delete(w.watched, folder)
		}
	}
	for folder := range wanted {
		if w.watched[folder] || len(w.watched) >= mostWatched {
			continue
		}
		switch err := w.watcher.Add(folder); {
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
