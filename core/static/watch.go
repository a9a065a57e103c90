package static

import (
	"context"

	"github.com/memcore/memcore/internal/watch"
)

// Watch calls changed with new memory whenever files have changed it, until ctx ends, and returns ctx's error. Folders are watched,
// not files, so that editors which replace files are noticed; of a folder that does not exist yet the nearest one above it. Calls do
// not overlap. Where the system does not let folders be watched, they are looked at now and then. An error is one of the system's.
func (l *Layer) Watch(ctx context.Context, changed func(Memory)) error {
	watcher := watch.New(watch.Options{Relevant: isMarkdown})
	defer watcher.Close()
	w := &watching{Layer: l, watcher: watcher}
	if _, err := w.update(ctx); err != nil {
		return err
	}
	return watcher.Run(ctx, func() error {
		m, err := w.update(ctx)
		if err == nil && m != nil {
			changed(*m)
		}
		return err
	})
}

type watching struct {
	*Layer
	watcher *watch.Watcher
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
		if w.watcher.Watch(folders) {
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
