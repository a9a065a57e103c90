package tenants

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service/store"
)

// A writing mirror makes and appends the changes of waiting writers.
type writing struct{ *mirror }

// A write waits for its turn.
type write struct {
	ctx   context.Context
	by    string
	paths []string // that do may change; nil means any
	do    func() error
	rules rules
	done  chan struct{}

	version int64
	err     error
}

// rules say what a writer may do.
type rules struct {
	may  func(store.Revision) error     // refuses a change
	fits func(before, after size) error // refuses what all changes of a write make of the size
}

const (
	// writeTimeout bounds an append, also for a writer that no longer waits.
	writeTimeout = 30 * time.Second
	// mostTogether bounds the writes that are appended together.
	mostTogether = 256
	// mostConflicts bounds the attempts while others change the same files.
	mostConflicts = 8
)

// write lets do change files with some paths, or any for nil, which takes longer. It appends the
// changes together with those of other writers and returns their version. do may run several times,
// but never beside another. Changes that the rules refuse are taken back.
func (m *mirror) write(ctx context.Context, by string, paths []string, rules rules, do func() error) (int64, error) {
	w := &write{ctx: ctx, by: by, paths: paths, do: do, rules: rules, done: make(chan struct{})}
	m.waiting.Lock()
	m.queue = append(m.queue, w)
	lead := !m.leading
	m.leading = true
	m.waiting.Unlock()
	if lead {
		m.work.Go(writing{m}.lead)
	}
	select {
	case <-w.done:
		return w.version, w.err
	case <-ctx.Done():
		return 0, fmt.Errorf("it is unknown whether it was written: %w", ctx.Err())
	}
}

// lead writes until no writer waits.
func (m writing) lead() {
	for {
		m.waiting.Lock()
		some := m.queue[:min(len(m.queue), mostTogether)]
		m.queue = m.queue[len(some):]
		if len(some) == 0 {
			m.leading, m.queue = false, nil
			m.waiting.Unlock()
			return
		}
		m.waiting.Unlock()
		m.together(some)
		for _, w := range some {
			close(w.done)
		}
	}
}

// together appends the changes of several writers in one step. If conflicts persist, each tries
// alone.
func (m writing) together(some []*write) {
	ctx, stop := context.WithTimeout(context.Background(), writeTimeout)
	defer stop()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.try(ctx, some) || len(some) == 1 {
		return
	}
	for _, w := range some {
		m.try(ctx, []*write{w})
	}
}

// try repeats once after conflicts. It returns false if they persist.
func (m writing) try(ctx context.Context, some []*write) bool {
	for attempt := range mostConflicts {
		begun := time.Now()
		again, err := m.once(ctx, some)
		if err != nil {
			err = hide(m.logger, errors.Join(err, m.restore(nil)))
		}
		if !again {
			for _, w := range some {
				w.err = errors.Join(w.err, err)
			}
			return true
		}
		// Two nodes that meet once would meet again.
		wait := time.Since(begun) + time.Duration(attempt)*5*time.Millisecond
		select {
		case <-time.After(rand.N(max(wait, time.Millisecond))):
		case <-ctx.Done():
		}
	}
	for _, w := range some {
		w.err = kind.As(kind.Conflict, errors.New("others keep changing the same documents: try again"))
	}
	return false
}

// once returns again if others changed the same paths: then the folder has their changes, and none
// of the writers'.
func (m writing) once(ctx context.Context, some []*write) (again bool, err error) {
	m.pending, m.before = map[string]pending{}, map[string]string{}
	defer func() { m.pending, m.before = nil, nil }()
	doubt, err := m.collect(some)
	if err != nil {
		m.pending = nil
		return false, err
	}
	names := slices.Sorted(maps.Keys(m.pending))
	var revisions []store.Revision
	for _, name := range names {
		revisions = append(revisions, m.pending[name].Revision)
	}
	for len(revisions) > 0 || doubt.any {
		begun := time.Now()
		since, next, err := m.appendOrAsk(ctx, revisions)
		if errors.Is(err, store.ErrBehind) {
			conflict := slices.ContainsFunc(since, func(theirs store.Revision) bool {
				return doubt.of(theirs.Path) || slices.Contains(names, theirs.Path)
			})
			if conflict {
				m.pending = nil
				if err := m.restore(names); err != nil {
					return false, err
				}
			}
			if err := m.apply(since); err != nil {
				return false, err
			}
			if m.mark = next; conflict {
				return true, nil
			}
			continue
		}
		if err != nil {
			m.pending = nil
			return false, err
		}
		if len(revisions) > 0 {
			m.wrote(since)
		}
		m.reached(next, begun)
		m.copyAfter(len(revisions))
		break
	}
	for _, w := range some {
		w.version = m.mark.Order
	}
	return false, nil
}

// appendOrAsk appends revisions. Without any it asks whether the log has more than the folder.
func (m writing) appendOrAsk(ctx context.Context, revisions []store.Revision) (since []store.Revision, next store.Mark, err error) {
	if len(revisions) > 0 {
		return m.log.Append(ctx, revisions, m.mark)
	}
	since, next, err = m.log.Since(ctx, m.mark)
	if err == nil && len(since) > 0 {
		err = store.ErrBehind
	}
	return since, next, err
}

// A doubt is about writers that failed or changed nothing, perhaps because the folder was behind
// the log.
type doubt struct {
	any, all bool
	paths    map[string]bool
}

func (d *doubt) add(w *write) {
	d.any, d.all = true, d.all || w.paths == nil
	for _, path := range w.paths {
		d.paths[path] = true
	}
}

func (d *doubt) of(path string) bool { return d.all || d.paths[path] }

// collect makes the changes of each writer pending, and takes back those of writers that fail.
func (m writing) collect(some []*write) (*doubt, error) {
	m.allowed.Lock()
	defer m.allowed.Unlock()
	total, doubt := m.size(), &doubt{paths: map[string]bool{}}
	for _, w := range some {
		if w.err = w.ctx.Err(); w.err != nil {
			continue
		}
		// Changes that others made to files are not those of this writer.
		if err := errors.Join(m.restore(w.paths), m.remember(w.paths)); err != nil {
			return nil, err
		}
		w.err = w.do()
		now, err := m.changes(w.by, w.paths)
		if err != nil {
			return nil, err
		}
		if w.err == nil {
			total, w.err = m.judge(w.rules, total, now)
		}
		if kind.Of(w.err) != kind.Forbidden && (w.err != nil || len(now) == 0 || len(now) < len(w.paths)) {
			doubt.add(w)
		}
		if err := m.keep(w, now); err != nil {
			return nil, err
		}
	}
	return doubt, nil
}

// keep makes a writer's changes pending, or takes them back if it failed.
func (m writing) keep(w *write, changes []store.Revision) error {
	if w.err != nil {
		var names []string
		for _, r := range changes {
			names = append(names, r.Path)
		}
		return m.putBack(names)
	}
	for _, r := range changes {
		if err := m.pend(r); err != nil {
			return err
		}
	}
	return nil
}

// remember keeps texts, so that taking back a change needs no log.
func (m writing) remember(paths []string) error {
	for _, name := range paths {
		_, known := m.documents[name]
		_, isPending := m.pending[name]
		if _, has := m.before[name]; has || isPending || !known {
			continue
		}
		text, err := m.root.ReadFile(filepath.FromSlash(name))
		if err != nil {
			return err
		}
		m.before[name] = string(text)
	}
	return nil
}

// judge applies the rules to a writer's changes. It returns the size with them.
func (m writing) judge(by rules, before size, changes []store.Revision) (after size, err error) {
	after = before
	for _, r := range changes {
		if err := by.may(r); err != nil {
			return before, err
		}
		if d, exists := m.current(r.Path); exists {
			after.documents, after.bytes = after.documents-1, after.bytes-d.size
		}
		if !r.Gone {
			after.documents, after.bytes = after.documents+1, after.bytes+int64(len(r.Text))
		}
	}
	if err := by.fits(before, after); err != nil {
		return before, err
	}
	return after, nil
}

// pend makes a change pending, unless the log has the same.
func (m writing) pend(r store.Revision) error {
	d := documentOf(r)
	logged, known := m.documents[r.Path]
	if r.Gone {
		if m.pending[r.Path] = (pending{d, r}); !known {
			delete(m.pending, r.Path)
		}
		return nil
	}
	if known && d.sum == logged.sum {
		delete(m.pending, r.Path)
		err := m.date(r.Path, &logged)
		m.documents[r.Path] = logged
		return err
	}
	err := m.date(r.Path, &d)
	m.pending[r.Path] = pending{d, r}
	return err
}

// wrote notes that the log has the pending changes.
func (m writing) wrote(revisions []store.Revision) {
	for _, r := range revisions {
		d := m.pending[r.Path].document
		if d.order = r.Order; r.Gone {
			delete(m.documents, r.Path)
			continue
		}
		m.documents[r.Path] = d
	}
	if m.appends++; m.appends >= appendsPerCompaction && m.compacting.TryLock() {
		m.appends = 0
		m.work.Go(func() {
			defer m.compacting.Unlock()
			ctx, stop := context.WithTimeout(context.Background(), compactTimeout)
			defer stop()
			if err := m.log.Compact(ctx, time.Now().Add(-history)); err != nil {
				m.logger.Warn("the log of a tenant was not compacted", "log", m.log.Name(), "error", err)
			}
		})
	}
}

const (
	// appendsPerCompaction bounds the fragments of a log.
	appendsPerCompaction = 64
	compactTimeout       = 5 * time.Minute
	// history is how long replaced revisions are kept.
	history = 7 * 24 * time.Hour
)

// restore makes files equal to current: those with some paths, or all for nil.
func (m writing) restore(paths []string) error {
	wrong, err := m.changes("", paths)
	if err != nil {
		return err
	}
	var names []string
	for _, r := range wrong {
		names = append(names, r.Path)
	}
	return m.putBack(names)
}

// putBack makes files equal to current.
func (m writing) putBack(names []string) error {
	var lost []string // whose text only the log has
	for _, name := range names {
		d, exists := m.current(name)
		p, isPending := m.pending[name]
		text, has := m.before[name]
		switch {
		case !exists:
			if err := m.root.Remove(filepath.FromSlash(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		case isPending:
			if err := m.put(name, p.Text, &d); err != nil {
				return err
			}
			m.pending[name] = pending{d, p.Revision}
		case has && sha256.Sum256([]byte(text)) == d.sum:
			if err := m.put(name, text, &d); err != nil {
				return err
			}
			m.documents[name] = d
		default:
			lost = append(lost, name)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	ctx, stop := context.WithTimeout(context.Background(), writeTimeout)
	defer stop()
	texts := map[string]store.Revision{}
	err := m.each(ctx, func(r store.Revision) error {
		// If the wanted revision is compacted away, the newest counts.
		if slices.Contains(lost, r.Path) && (texts[r.Path].Order == 0 || texts[r.Path].Order != m.documents[r.Path].order) {
			texts[r.Path] = r
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("take back a change that was not written: %w", err)
	}
	var found []store.Revision
	for _, name := range lost {
		r, has := texts[name]
		if !has {
			return fmt.Errorf("take back a change of %s: %w", name, store.ErrGone)
		}
		found = append(found, r)
	}
	return m.apply(found)
}
