package tenants

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
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

	// allowed is held by what reads files that instruct: it does not see a change that is refused.
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

// A state is what fresh asks for.
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

// A pending change is in the files only.
type pending struct {
	document
	store.Revision
}

// A size is that of all documents.
type size struct {
	documents int
	bytes     int64
}

// openMirror makes the folder equal to the log. Files that are equal already stay untouched.
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
	// Files of an earlier process that the log does not have.
	return m.eachFile(func(name string, _ fs.FileInfo) error {
		if _, known := m.documents[name]; known {
			return nil
		}
		return m.root.Remove(filepath.FromSlash(name))
	})
}

// pullTimeout bounds how long a request waits for the log, and for writers before it.
const pullTimeout = 10 * time.Second

// fresh makes sure that the log was asked within an age, and that the folder has at least an order.
// It returns the order that the folder has.
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

// reached notes that the folder has what the log had at a time.
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
		d := document{order: r.Order, sum: sha256.Sum256([]byte(r.Text)), size: int64(len(r.Text)), by: r.By, at: r.At}
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

// put writes a whole file, with the time of its revision if there is one.
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

// date gives a file the time of its revision, so that it has the same one on all nodes. No file
// that is written later has that time too: the system's clock may stand still for milliseconds, and
// two texts of one length would look equal.
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

// current returns a document as the files have it: the log's, or a pending one.
func (m *mirror) current(name string) (d document, exists bool) {
	if p, ok := m.pending[name]; ok {
		return p.document, !p.Gone
	}
	d, exists = m.documents[name]
	return d, exists
}

// changes returns what the files have and current has not, ordered by path: of some paths, or of
// all for nil.
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
				continue
			}
		}
		all = append(all, r)
	}
	return all, nil
}

// A writing makes the changes of those who wait, and appends them.
type writing struct{ *mirror }

// A write waits for its turn.
type write struct {
	ctx   context.Context
	by    string
	paths []string // that do may change; nil is all
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
	// mostConflicts bounds how often a write is tried because others changed the same files.
	mostConflicts = 8
)

// write lets do change files of the folder and appends what it changed, together with what others
// write at the same time. It returns the version that has the change. do may be called several
// times, but never at the same time as another. It changes the documents with some paths, or any
// for nil, which takes longer. What the rules refuse is taken back.
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

// together makes the changes of writers and appends them in one step. If others keep changing the
// documents of one of them, each goes on alone.
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

// try writes, again while others change the same documents. It returns false if they still do.
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

// once returns again if others changed the same paths in the meantime: their changes are now in the
// folder, those of the writers are not.
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

// appendOrAsk appends revisions. Without any it asks whether the folder has all that the log has.
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

// collect makes the changes of each writer pending, and takes back those that fail. Nobody who
// waits for allowed sees what a writer did before the rules have judged it.
func (m writing) collect(some []*write) (*doubt, error) {
	m.allowed.Lock()
	defer m.allowed.Unlock()
	total, doubt := m.size(), &doubt{paths: map[string]bool{}}
	for _, w := range some {
		if w.err = w.ctx.Err(); w.err != nil {
			continue
		}
		// What somebody else did to the files is not a change of this writer.
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

// keep makes the changes of a writer pending, or takes them back if it failed.
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

// remember keeps the texts that the log has, so that taking back a change does not need the log.
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

// judge refuses changes of a writer, or returns the size with them.
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

// pend makes a change pending, or no longer pending if the log has it.
func (m writing) pend(r store.Revision) error {
	d := document{sum: sha256.Sum256([]byte(r.Text)), size: int64(len(r.Text)), by: r.By, at: r.At}
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

// wrote notes what the log has now, which the files have already.
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
	// appendsPerCompaction bounds the fragments that a reader opens.
	appendsPerCompaction = 64
	compactTimeout       = 5 * time.Minute
	// history is how long replaced revisions are kept.
	history = 7 * 24 * time.Hour
)

// restore gives files with some paths, or all for nil, what current has.
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

// putBack gives files what current has.
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
		// What another node has replaced since may be compacted away: then the newest counts.
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

// A listed document.
type listed struct {
	name string
	document
}

// list returns the documents below a folder, by path, and the version.
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

// read returns the text of a document; ok is false if there is none.
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

// size returns that of the documents in the log. The caller holds mu.
func (m *mirror) size() (all size) {
	all.documents = len(m.documents)
	for _, d := range m.documents {
		all.bytes += d.size
	}
	return all
}
