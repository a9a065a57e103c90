package tenants

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/memcore/memcore/internal/app/kind"
	"github.com/memcore/memcore/store"
)

// A mirror is a folder with the documents of a log. Readers of the folder see whole files. Writers
// change the files, and what they changed is appended to the log before they are told that it is
// written; if that fails, the files get back what the log has.
type mirror struct {
	log  store.Changelog
	dir  string
	root *os.Root

	mu        sync.Mutex // of the files and of what follows
	mark      store.Mark
	documents map[string]document
	pulled    time.Time                 // when the log was last asked
	pending   map[string]store.Revision // changes of the writers before, while a batch is collected
	now       atomic.Pointer[state]
	appends   int // since the last compaction, about

	logger     *slog.Logger
	compacting sync.Mutex
	work       sync.WaitGroup // compaction, and the leader of writes

	waiting sync.Mutex // of queue and leading
	queue   []*write
	leading bool
}

// A state is what fresh asks for.
type state struct {
	order  int64
	pulled time.Time
}

// A document is the current revision of a path, without its text.
type document struct {
	order   int64
	sum     [sha256.Size]byte
	size    int64
	changed time.Time // of the file, as it was written here
	by      string
	at      time.Time
}

// openMirror makes the folder equal to the log. Files that are equal already stay untouched.
func openMirror(ctx context.Context, log store.Changelog, dir string, logger *slog.Logger) (*mirror, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	m := &mirror{log: log, dir: dir, root: root, documents: map[string]document{}, logger: logger}
	m.now.Store(&state{})
	if err := m.load(ctx); err != nil {
		root.Close()
		return nil, err
	}
	return m, nil
}

// close waits for writes and compaction.
func (m *mirror) close() error {
	m.work.Wait()
	return m.root.Close()
}

func (m *mirror) load(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.pull(ctx); err != nil {
		return err
	}
	// Files of an earlier process that the log does not have.
	return m.eachFile(func(name string, _ fs.FileInfo) error {
		if _, known := m.documents[name]; known {
			return nil
		}
		return m.root.Remove(filepath.FromSlash(name))
	})
}

// fresh makes sure that the log was asked within an age, and that the folder has at least an order.
// It returns the order that the folder has.
func (m *mirror) fresh(ctx context.Context, age time.Duration, atLeast int64) (int64, error) {
	if now := m.now.Load(); time.Since(now.pulled) <= age && now.order >= atLeast {
		return now.order, nil // without waiting for writers
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.pulled) > age || m.mark.Order < atLeast {
		if err := m.pull(ctx); err != nil {
			return 0, err
		}
	}
	if m.mark.Order < atLeast {
		return 0, kind.Usagef("there is no version %d; the newest is %d", atLeast, m.mark.Order)
	}
	return m.mark.Order, nil
}

// pull brings the folder in step with the log. The caller holds mu.
func (m *mirror) pull(ctx context.Context) error {
	asked := time.Now()
	since, next, err := m.log.Since(ctx, m.mark)
	if err != nil {
		return err
	}
	if err := m.apply(since); err != nil {
		return err
	}
	m.reached(next, asked)
	return nil
}

// reached notes that the folder has what the log had at a time.
func (m *mirror) reached(mark store.Mark, at time.Time) {
	m.mark, m.pulled = mark, at
	m.now.Store(&state{mark.Order, at})
}

// apply writes revisions into the folder. Only the last one of a path counts.
func (m *mirror) apply(revisions []store.Revision) error {
	last := map[string]store.Revision{}
	for _, r := range revisions {
		last[r.Path] = r
	}
	m.appends = min(m.appends+len(revisions), appendsPerCompaction/2)
	for name, r := range last {
		if err := checkStored(name); err != nil {
			continue // of another release; it is never a file here
		}
		if r.Gone {
			delete(m.documents, name)
			if err := m.root.Remove(filepath.FromSlash(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			continue
		}
		d := document{order: r.Order, sum: sha256.Sum256([]byte(r.Text)), size: int64(len(r.Text)), by: r.By, at: r.At}
		same, err := m.has(name, &d)
		if err == nil && !same {
			err = m.put(name, r.Text, &d)
		}
		if err == nil {
			err = m.date(name, &d)
		}
		if err != nil {
			return err
		}
		m.documents[name] = d
	}
	return nil
}

// has reports whether the file of a document has its text, and notes when the file was changed.
func (m *mirror) has(name string, d *document) (bool, error) {
	info, err := m.root.Lstat(filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || info.Size() != d.size || !info.Mode().IsRegular() {
		return false, err
	}
	d.changed = info.ModTime()
	text, err := m.root.ReadFile(filepath.FromSlash(name))
	return err == nil && sha256.Sum256(text) == d.sum, err
}

const temporary = ".writing"

// put writes a whole file.
func (m *mirror) put(name, text string, d *document) error {
	file := filepath.FromSlash(name)
	if err := m.root.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if err := m.root.WriteFile(temporary, []byte(text), 0o600); err != nil {
		return err
	}
	if err := m.root.Rename(temporary, file); err != nil {
		return err
	}
	info, err := m.root.Lstat(file)
	if err == nil {
		d.changed = info.ModTime()
	}
	return err
}

// date gives a file the time of its revision, which questions may ask for, on every node.
func (m *mirror) date(name string, d *document) error {
	if d.changed.Equal(d.at) {
		return nil
	}
	d.changed = d.at
	return m.root.Chtimes(filepath.FromSlash(name), d.at, d.at)
}

// eachFile calls do with each file that can be a document.
func (m *mirror) eachFile(do func(name string, info fs.FileInfo) error) error {
	return fs.WalkDir(m.root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || entry.IsDir() || checkStored(name) != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		return do(name, info)
	})
}

// changes returns what the files have and the log has not, ordered by path: of some paths, or of
// all for nil.
func (m *mirror) changes(by string, paths []string) (all []store.Revision, err error) {
	present := map[string]fs.FileInfo{}
	if paths == nil {
		err = m.eachFile(func(name string, info fs.FileInfo) error {
			present[name] = info
			return nil
		})
		paths = slices.AppendSeq(slices.Collect(maps.Keys(present)), maps.Keys(m.documents))
	}
	for _, name := range paths {
		if info, err := m.root.Lstat(filepath.FromSlash(name)); err == nil && info.Mode().IsRegular() {
			present[name] = info
		}
	}
	slices.Sort(paths)
	for _, name := range slices.Compact(paths) {
		r := store.Revision{Path: name, By: by, At: time.Now().UTC().Truncate(time.Microsecond)}
		d, known := m.documents[name]
		switch info, exists := present[name]; {
		case !exists && !known, exists && known && d.size == info.Size() && d.changed.Equal(info.ModTime()):
			continue
		case !exists:
			r.Gone = true
		default:
			text, err := m.root.ReadFile(filepath.FromSlash(name))
			if err != nil {
				return nil, err
			}
			if r.Text = strings.ToValidUTF8(string(text), "\uFFFD"); r.Text != string(text) {
				if err := m.put(name, r.Text, &document{}); err != nil {
					return nil, err
				}
			}
			if known && sha256.Sum256([]byte(r.Text)) == d.sum {
				continue
			}
		}
		all = append(all, r)
	}
	return all, err
}

// A write waits for its turn.
type write struct {
	ctx   context.Context
	by    string
	paths []string // that do may change; nil is all
	do    func() error
	may   func(store.Revision) error // refuses a change
	done  chan struct{}

	version int64
	err     error
}

const (
	// writeTimeout bounds an append, also for a writer that no longer waits.
	writeTimeout = 30 * time.Second
	// mostTogether bounds the writes that are appended together.
	mostTogether = 256
	// mostConflicts bounds how often a write is tried because others changed the same files.
	mostConflicts = 8
)

// write lets do change files of the folder and appends what it changed, together with what others
// write at the same time. It returns the version that has the change. do may be called several
// times, but never at the same time as another. It changes the documents with some paths, or any for
// nil, which takes longer. may refuses changes, which are then taken back.
func (m *mirror) write(ctx context.Context, by string, paths []string, may func(store.Revision) error, do func() error) (int64, error) {
	w := &write{ctx: ctx, by: by, paths: paths, do: do, may: may, done: make(chan struct{})}
	m.waiting.Lock()
	m.queue = append(m.queue, w)
	lead := !m.leading
	m.leading = true
	m.waiting.Unlock()
	if lead {
		m.work.Go(m.lead)
	}
	select {
	case <-w.done:
		return w.version, w.err
	case <-ctx.Done():
		return 0, fmt.Errorf("it is unknown whether it was written: %w", ctx.Err())
	}
}

// lead writes until no writer waits.
func (m *mirror) lead() {
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

// together makes the changes of writers and appends them in one step.
func (m *mirror) together(some []*write) {
	ctx, stop := context.WithTimeout(context.Background(), writeTimeout)
	defer stop()
	m.mu.Lock()
	defer m.mu.Unlock()
	for range mostConflicts {
		again, err := m.once(ctx, some)
		if err != nil {
			err = errors.Join(err, m.restore())
		}
		if !again {
			for _, w := range some {
				w.err = errors.Join(w.err, err)
			}
			return
		}
	}
	err := kind.As(kind.Conflict, errors.New("others keep changing the same documents: try again"))
	for _, w := range some {
		if w.err == nil {
			w.err = err
		}
	}
}

// once returns again if others changed the same paths in the meantime: their changes are now in the
// folder, those of the writers are not.
func (m *mirror) once(ctx context.Context, some []*write) (again bool, err error) {
	revisions, doubt, err := m.collect(some)
	if err != nil {
		return false, err
	}
	for len(revisions) > 0 || doubt.any {
		asked := time.Now()
		since, next, err := m.appendOrAsk(ctx, revisions)
		if errors.Is(err, store.ErrBehind) {
			conflict := slices.ContainsFunc(since, func(theirs store.Revision) bool {
				return doubt.of(theirs.Path) || slices.ContainsFunc(revisions, func(r store.Revision) bool { return r.Path == theirs.Path })
			})
			if conflict {
				if err := m.restore(); err != nil {
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
		switch {
		case err != nil:
			return false, err
		case len(revisions) == 0:
			m.reached(next, asked)
		default:
			m.wrote(since, next)
		}
		break
	}
	for _, w := range some {
		w.version = m.mark.Order
	}
	return false, nil
}

// appendOrAsk appends revisions. Without any it asks whether the folder has all that the log has.
func (m *mirror) appendOrAsk(ctx context.Context, revisions []store.Revision) (since []store.Revision, next store.Mark, err error) {
	if len(revisions) > 0 {
		return m.log.Append(ctx, revisions, m.mark)
	}
	since, next, err = m.log.Since(ctx, m.mark)
	if err == nil && len(since) > 0 {
		err = store.ErrBehind
	}
	return since, next, err
}

// A doubt is about writers that failed or had nothing to change: that may be due to documents which
// others have changed since.
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

// collect makes the changes of each writer, and takes back those that fail.
func (m *mirror) collect(some []*write) ([]store.Revision, *doubt, error) {
	last, doubt := map[string]store.Revision{}, &doubt{paths: map[string]bool{}}
	m.pending = last
	defer func() { m.pending = nil }()
	for _, w := range some {
		w.err = w.ctx.Err()
		if w.err == nil {
			w.err = w.do()
		}
		now, err := m.changes(w.by, slices.Clone(w.paths))
		if err != nil {
			return nil, nil, err
		}
		now = slices.DeleteFunc(now, func(r store.Revision) bool {
			before, known := last[r.Path]
			return known && before.Text == r.Text && before.Gone == r.Gone
		})
		for _, r := range now {
			if w.err == nil {
				w.err = w.may(r)
			}
		}
		if len(now) == 0 || len(now) < len(w.paths) || w.err != nil {
			doubt.add(w)
		}
		if w.err != nil {
			if err := m.restoreTo(last); err != nil {
				return nil, nil, err
			}
			continue
		}
		for _, r := range now {
			last[r.Path] = r
		}
		for name := range last { // a writer undid the change of another
			if d, known := m.documents[name]; known {
				if same, err := m.has(name, &d); err == nil && same {
					delete(last, name)
				}
			}
		}
	}
	var all []store.Revision
	for _, r := range last {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b store.Revision) int { return strings.Compare(a.Path, b.Path) })
	return all, doubt, nil
}

// wrote notes what the log has now, which the files have already.
func (m *mirror) wrote(revisions []store.Revision, next store.Mark) {
	for _, r := range revisions {
		if r.Gone {
			delete(m.documents, r.Path)
			continue
		}
		d := document{order: r.Order, sum: sha256.Sum256([]byte(r.Text)), size: int64(len(r.Text)), by: r.By, at: r.At}
		_ = m.date(r.Path, &d) // else the file is compared again
		m.documents[r.Path] = d
	}
	m.reached(next, time.Now())
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
	// appendsPerCompaction bounds the fragments that a reader opens.
	appendsPerCompaction = 64
	compactTimeout       = 5 * time.Minute
	// history is how long replaced revisions are kept.
	history = 7 * 24 * time.Hour
)

// restore gives files the texts of the log.
func (m *mirror) restore() error { return m.restoreTo(nil) }

// restoreTo gives files the texts of revisions that are not appended yet, or else of the log.
func (m *mirror) restoreTo(last map[string]store.Revision) error {
	ctx, stop := context.WithTimeout(context.Background(), writeTimeout)
	defer stop()
	wrong, err := m.changes("", nil)
	if err != nil {
		return err
	}
	names := slices.Collect(maps.Keys(last))
	for _, r := range wrong {
		names = append(names, r.Path)
	}
	slices.Sort(names)
	var lost []string // whose text only the log has
	for _, name := range slices.Compact(names) {
		want, pending := last[name]
		_, known := m.documents[name]
		switch {
		case pending && want.Gone || !pending && !known:
			if err := m.root.Remove(filepath.FromSlash(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		case pending:
			if err := m.put(name, want.Text, &document{}); err != nil {
				return err
			}
		default:
			lost = append(lost, name)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	all, _, err := m.log.Since(ctx, store.Mark{})
	if err != nil {
		return fmt.Errorf("take back a change that was not written: %w", err)
	}
	texts := map[string]store.Revision{}
	for _, r := range all {
		if r.Order <= m.mark.Order {
			texts[r.Path] = r
		}
	}
	for _, name := range lost {
		d := m.documents[name]
		if err := errors.Join(m.put(name, texts[name].Text, &d), m.date(name, &d)); err != nil {
			return err
		}
		m.documents[name] = d
	}
	return nil
}

// A listed document.
type listed struct {
	name string
	document
}

// list returns the documents below a folder, by path, and the version.
func (m *mirror) list(folder string) (all []listed, version int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, d := range m.documents {
		if strings.HasPrefix(name, folder+"/") {
			all = append(all, listed{name, d})
		}
	}
	slices.SortFunc(all, func(a, b listed) int { return strings.Compare(a.name, b.name) })
	return all, m.mark.Order
}

// read returns the text of a document; ok is false if there is none.
func (m *mirror) read(name string) (text string, d document, ok bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d, ok = m.documents[name]; !ok {
		return "", d, false, nil
	}
	data, err := m.root.ReadFile(filepath.FromSlash(name))
	return string(data), d, true, err
}

// size returns the number of documents and their bytes, with those of the batch that is collected.
// The caller holds mu.
func (m *mirror) size() (documents int, bytes int64) {
	for name, d := range m.documents {
		if _, changes := m.pending[name]; !changes {
			documents, bytes = documents+1, bytes+d.size
		}
	}
	for _, r := range m.pending {
		if !r.Gone {
			documents, bytes = documents+1, bytes+int64(len(r.Text))
		}
	}
	return documents, bytes
}
