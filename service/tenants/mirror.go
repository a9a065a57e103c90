package tenants

import (
	"context"
	"crypto/sha256"
	"errors"
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

	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service/store"
)

// A mirror is a folder with the documents of a log. Its readers see whole files. Writers change the
// files; then the changes are appended to the log, or else taken back, before a writer is answered.
type mirror struct {
	log  store.Changelog
	dir  string
	root *os.Root

	// allowed keeps readers of instructions from changes that rules may refuse.
	allowed sync.RWMutex

	mu        lock // of the files and of what follows
	mark      store.Mark
	documents map[string]document
	pending   map[string]pending    // made by writers, and not appended yet
	before    map[string]string     // texts that the log has, of paths that writers have named
	now       atomic.Pointer[state] // also without mu
	appends   int                   // since the last compaction, about

	copies     *copies // may be nil
	logger     *slog.Logger
	compacting sync.Mutex
	work       sync.WaitGroup // compaction, copies, and the leader of writes

	waiting sync.Mutex // of queue and leading
	queue   []*write
	leading bool
}

// A state is what fresh compares.
type state struct {
	order  int64
	pulled time.Time // when the log was last asked
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

func documentOf(r store.Revision) document {
	return document{order: r.Order, sum: sha256.Sum256([]byte(r.Text)), size: int64(len(r.Text)), by: r.By, at: r.At}
}

// A pending change is in the files only.
type pending struct {
	document
	store.Revision
}

// A size of all documents.
type size struct {
	documents int
	bytes     int64
}

// openMirror makes the folder equal to the log. Equal files stay untouched.
func openMirror(ctx context.Context, log store.Changelog, dir string, copies *copies, logger *slog.Logger) (*mirror, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	m := &mirror{log: log, dir: dir, root: root, mu: make(lock, 1), documents: map[string]document{}, copies: copies, logger: logger}
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
	if err := (opening{m}).begin(ctx); err != nil {
		return err
	}
	// Of an earlier process, but not in the log.
	return m.eachFile(func(name string, _ fs.FileInfo) error {
		if _, known := m.documents[name]; known {
			return nil
		}
		return m.root.Remove(filepath.FromSlash(name))
	})
}

// pullTimeout bounds a request's wait for the log and for writers.
const pullTimeout = 10 * time.Second

// fresh asks the log, unless it did so within an age and the folder has at least an order. It
// returns the folder's order.
func (m *mirror) fresh(ctx context.Context, age time.Duration, atLeast int64) (int64, error) {
	if now := m.now.Load(); time.Since(now.pulled) <= age && now.order >= atLeast {
		return now.order, nil // without waiting for writers
	}
	ctx, stop := context.WithTimeout(ctx, pullTimeout)
	defer stop()
	if err := m.mu.within(ctx); err != nil {
		return 0, hide(m.logger, err)
	}
	defer m.mu.Unlock()
	if time.Since(m.now.Load().pulled) > age || m.mark.Order < atLeast {
		if err := m.pull(ctx); err != nil {
			return 0, hide(m.logger, err)
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

// reached notes what the folder has, and when the log said so.
func (m *mirror) reached(mark store.Mark, at time.Time) {
	m.mark = mark
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
		d := documentOf(r)
		same, err := m.has(name, &d)
		switch {
		case err != nil:
		case same:
			err = m.date(name, &d)
		default:
			err = m.put(name, r.Text, &d)
		}
		if err != nil {
			return err
		}
		m.documents[name] = d
	}
	return nil
}

// has reports whether a document's file has its text, and notes the file's time.
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

// put writes a whole file, dated as its revision.
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
	return m.date(name, d)
}

// date gives a file the time of its revision, which is equal on all nodes. With the time of
// writing, two texts of one length could look equal: the system's clock stands still for
// milliseconds.
func (m *mirror) date(name string, d *document) error {
	file := filepath.FromSlash(name)
	if !d.at.IsZero() {
		if err := m.root.Chtimes(file, d.at, d.at); err != nil {
			return err
		}
	}
	info, err := m.root.Lstat(file)
	if err == nil {
		d.changed = info.ModTime()
	}
	return err
}

// eachFile visits files that can be documents.
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

// current returns the pending revision of a document, else the log's.
func (m *mirror) current(name string) (d document, exists bool) {
	if p, ok := m.pending[name]; ok {
		return p.document, !p.Gone
	}
	d, exists = m.documents[name]
	return d, exists
}

// changes returns how files differ from current, by path: of some paths, or of all for nil.
func (m *mirror) changes(by string, paths []string) (all []store.Revision, err error) {
	present, looksEqual := map[string]fs.FileInfo{}, func(document, fs.FileInfo) bool { return false }
	if paths == nil { // not all files are read
		looksEqual = func(d document, info fs.FileInfo) bool {
			return d.size == info.Size() && d.changed.Equal(info.ModTime())
		}
		err = m.eachFile(func(name string, info fs.FileInfo) error {
			present[name] = info
			return nil
		})
		if err != nil {
			return nil, err
		}
		paths = slices.AppendSeq(slices.Collect(maps.Keys(present)), maps.Keys(m.documents))
		paths = slices.AppendSeq(paths, maps.Keys(m.pending))
	} else {
		paths = slices.Clone(paths)
		for _, name := range paths {
			if info, err := m.root.Lstat(filepath.FromSlash(name)); err == nil && info.Mode().IsRegular() {
				present[name] = info
			}
		}
	}
	slices.Sort(paths)
	for _, name := range slices.Compact(paths) {
		r := store.Revision{Path: name, By: by, At: time.Now().UTC().Truncate(time.Microsecond)}
		d, known := m.current(name)
		switch info, exists := present[name]; {
		case !exists && !known, exists && known && looksEqual(d, info):
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
				if err := m.dateAgain(name, d, info); err != nil {
					return nil, err
				}
				continue
			}
		}
		all = append(all, r)
	}
	return all, nil
}

// dateAgain dates a file that was written with the same text. Otherwise it would be indexed again.
func (m *mirror) dateAgain(name string, d document, info fs.FileInfo) error {
	if d.changed.Equal(info.ModTime()) {
		return nil
	}
	if err := m.date(name, &d); err != nil {
		return err
	}
	if p, isPending := m.pending[name]; isPending {
		m.pending[name] = pending{d, p.Revision}
	} else {
		m.documents[name] = d
	}
	return nil
}

// A listed document.
type listed struct {
	name string
	document
}

// list returns the documents below a folder, by path, and the log's version.
func (m *mirror) list(ctx context.Context, folder string) (all []listed, version int64, err error) {
	if err := m.mu.within(ctx); err != nil {
		return nil, 0, err
	}
	defer m.mu.Unlock()
	for name, d := range m.documents {
		if strings.HasPrefix(name, folder+"/") {
			all = append(all, listed{name, d})
		}
	}
	slices.SortFunc(all, func(a, b listed) int { return strings.Compare(a.name, b.name) })
	return all, m.mark.Order, nil
}

// read returns a document and its text; ok is false if there is none.
func (m *mirror) read(ctx context.Context, name string) (text string, d document, ok bool, err error) {
	if err := m.mu.within(ctx); err != nil {
		return "", d, false, err
	}
	defer m.mu.Unlock()
	if d, ok = m.documents[name]; !ok {
		return "", d, false, nil
	}
	data, err := m.root.ReadFile(filepath.FromSlash(name))
	return string(data), d, true, hide(m.logger, err)
}

// size is of the documents in the log. The caller holds mu.
func (m *mirror) size() (all size) {
	all.documents = len(m.documents)
	for _, d := range m.documents {
		all.bytes += d.size
	}
	return all
}
