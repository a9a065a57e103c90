package tenants

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/memcore/memcore/service/store"
	index "github.com/memcore/memcore/store"
)

// copies hold the documents of a log as one object, which a node without the tenant reads much
// faster than the log. A missing, old or damaged copy costs only time.
type copies struct {
	get    func(context.Context) ([]byte, error)
	put    func(context.Context, []byte) error
	fewest int // revisions that are worth a copy

	mu    sync.Mutex // held while one is made
	since int        // revisions after the last copy, about; the mirror is locked
}

const (
	copyName   = "documents.copy" // of the object, in the tenant's folder of the storage
	copyFormat = 1
	// A copy is made after fewestCopied revisions, or copiedShare of the documents if that is more.
	fewestCopied = 200
	copiedShare  = 0.1
	mostCopied   = 256 << 20 // bytes of documents
	copyTimeout  = time.Minute
)

// A copied is the content of a copy.
type copied struct {
	Format    int
	Mark      store.Mark
	Documents []store.Revision // the current ones
}

func (n *pool) copiesOf(id string) *copies {
	return &copies{
		fewest: fewestCopied,
		get:    func(ctx context.Context) ([]byte, error) { return n.o.Objects.Get(ctx, objectsOf(id)+"/"+copyName) },
		put:    func(ctx context.Context, data []byte) error { return n.keep(ctx, id, copyName, data) },
	}
}

// encode returns a copy with its SHA-256 behind it.
func (c copied) encode() ([]byte, error) {
	var out bytes.Buffer
	if err := gob.NewEncoder(&out).Encode(c); err != nil {
		return nil, err
	}
	return sealed(out.Bytes()), nil
}

func decodeCopy(data []byte) (c copied, err error) {
	if data, err = unsealed(data); err != nil {
		return c, err
	}
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&c); err != nil {
		return c, err
	}
	if c.Format != copyFormat {
		return c, index.ErrFormat
	}
	return c, nil
}

// An opening mirror has no readers yet.
type opening struct{ *mirror }

// last returns the newest copy, or an empty one.
func (m opening) last(ctx context.Context) copied {
	if m.copies == nil {
		return copied{}
	}
	data, err := m.copies.get(ctx)
	var c copied
	if err == nil {
		c, err = decodeCopy(data)
	}
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			m.logger.Warn("the copy of a log is not used", "log", m.log.Name(), "error", err)
		}
		return copied{}
	}
	return c
}

// begin fills the folder from the last copy and what the log has after it. The caller holds mu.
func (m opening) begin(ctx context.Context) error {
	entries, err := fs.ReadDir(m.root.FS(), ".")
	if err != nil {
		return err
	}
	put := m.apply
	if len(entries) == 0 {
		put = m.fill
	}
	c := m.last(ctx)
	asked := time.Now()
	var copying errgroup.Group
	copying.Go(func() error { return put(c.Documents) })
	since, next, err := m.log.Since(ctx, c.Mark)
	if errFill := copying.Wait(); errFill != nil {
		return errFill
	}
	if errors.Is(err, store.ErrGone) && c.Mark.Order > 0 { // the log is another one
		clear(m.documents)
		c = copied{}
		put = m.apply
		since, next, err = m.log.Since(ctx, store.Mark{})
	}
	if err != nil {
		return err
	}
	if c.Mark.Order > 0 {
		put = m.apply
	}
	if err := put(since); err != nil {
		return err
	}
	m.appends = min(len(since), appendsPerCompaction/2)
	m.reached(next, asked)
	m.copyAfter(len(since))
	return nil
}

const (
	filledTogether = 100 // files of one folder
	fillers        = 8
)

// fill writes the newest revisions into the empty folder, in parallel. It need not be atomic: the
// next process compares what a crash leaves with the log.
func (m opening) fill(revisions []store.Revision) error {
	newest := map[string]store.Revision{}
	for _, r := range revisions {
		newest[r.Path] = r
	}
	folders := map[string][]store.Revision{}
	for name, r := range newest {
		if !r.Gone && checkStored(name) == nil {
			folders[path.Dir(name)] = append(folders[path.Dir(name)], r)
		}
	}
	var mu sync.Mutex
	var work errgroup.Group
	work.SetLimit(fillers)
	for folder, all := range folders {
		for some := range slices.Chunk(all, filledTogether) {
			work.Go(func() error {
				made, err := m.fillFolder(folder, some)
				mu.Lock()
				defer mu.Unlock()
				maps.Copy(m.documents, made)
				return err
			})
		}
	}
	return work.Wait()
}

// fillFolder writes new files of one folder.
func (m opening) fillFolder(folder string, revisions []store.Revision) (map[string]document, error) {
	if err := m.root.MkdirAll(filepath.FromSlash(folder), 0o700); err != nil {
		return nil, err
	}
	root, err := m.root.OpenRoot(filepath.FromSlash(folder))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	made := map[string]document{}
	for _, r := range revisions {
		d := documentOf(r)
		if d.changed, err = fillFile(root, path.Base(r.Path), r); err != nil {
			return nil, fmt.Errorf("document %s: %w", r.Path, err)
		}
		made[r.Path] = d
	}
	return made, nil
}

// fillFile writes a new file and returns its time.
func fillFile(root *os.Root, name string, r store.Revision) (changed time.Time, err error) {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return changed, err
	}
	_, err = file.WriteString(r.Text)
	if err = errors.Join(err, file.Close()); err != nil {
		return changed, err
	}
	if !r.At.IsZero() {
		if err := root.Chtimes(name, r.At, r.At); err != nil {
			return changed, err
		}
	}
	info, err := root.Lstat(name)
	if err != nil {
		return changed, err
	}
	return info.ModTime(), nil
}

// copyAfter counts revisions and begins a copy if the last one lacks too many. The caller holds mu.
func (m *mirror) copyAfter(revisions int) {
	if m.copies == nil {
		return
	}
	m.copies.since += revisions
	if m.copies.since < max(m.copies.fewest, int(copiedShare*float64(len(m.documents)))) || m.size().bytes > mostCopied || !m.copies.mu.TryLock() {
		return
	}
	m.copies.since = 0
	documents, mark := maps.Clone(m.documents), m.mark
	m.work.Go(func() {
		defer m.copies.mu.Unlock()
		ctx, stop := context.WithTimeout(context.Background(), copyTimeout)
		defer stop()
		if err := (copying{m}).copy(ctx, documents, mark); err != nil {
			m.logger.Warn("no copy was made of a log", "log", m.log.Name(), "error", err)
		}
	})
}

// A copying mirror may change meanwhile.
type copying struct{ *mirror }

// copy copies documents as they were at a mark.
func (m copying) copy(ctx context.Context, documents map[string]document, mark store.Mark) error {
	c := copied{Format: copyFormat, Mark: mark}
	for name, d := range documents {
		text, same, err := m.textAt(ctx, name, d)
		if err != nil {
			return err
		}
		if same {
			c.Documents = append(c.Documents, store.Revision{Path: name, Text: text, By: d.by, At: d.at, Order: d.order})
		}
	}
	data, err := c.encode()
	if err != nil {
		return err
	}
	return m.copies.put(ctx, data)
}

// textAt returns the text of a document if it is still the same revision; else the log has one
// after the mark. The file may also have the text of a writer that waits for the log.
func (m copying) textAt(ctx context.Context, name string, d document) (text string, same bool, err error) {
	file := filepath.FromSlash(name)
	data, err := m.root.ReadFile(file)
	if err == nil && sha256.Sum256(data) == d.sum {
		return string(data), true, nil
	}
	if err := m.mu.within(ctx); err != nil {
		return "", false, err
	}
	defer m.mu.Unlock()
	if m.documents[name].order != d.order {
		return "", false, nil
	}
	data, err = m.root.ReadFile(file)
	if err == nil && sha256.Sum256(data) != d.sum {
		err = fmt.Errorf("document %s has not the text of its revision", name)
	}
	return string(data), err == nil, err
}
