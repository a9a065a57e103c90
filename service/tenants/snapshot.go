package tenants

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/service/store"
	index "github.com/memcore/memcore/store"
)

// A snapshot is a copy of an index in the storage. With it another node answers at once and indexes
// only what has changed since; without it the node makes the whole index.

const (
	// Indexes below fewestChunks are made as fast as copied.
	fewestChunks = 1000
	// A copy is outdated if changedShare of the chunks differ.
	changedShare = 0.1
	// oldestSnapshot is how long a copy may lack any change, such as a removal.
	oldestSnapshot = time.Hour
	snapshotEvery  = time.Minute // between looks at whether a copy is outdated
	mostSnapshot   = 1 << 30     // bytes
)

// snapshotsFolder has an object for each memory, in the tenant's folder of the storage.
const snapshotsFolder = "indexes"

func snapshotName(o owner) string { return snapshotsFolder + "/" + o.name() + ".tar" }

// snapshotLife is how long an unused copy stays. It may have texts of removed documents.
const snapshotLife = 30 * 24 * time.Hour

// removeOldSnapshots removes copies that no node has replaced for snapshotLife.
func removeOldSnapshots(ctx context.Context, objects store.Objects, id string) error {
	for object, err := range objects.List(ctx, objectsOf(id)+"/"+snapshotsFolder) {
		if err != nil {
			return err
		}
		if time.Since(object.Changed) < snapshotLife {
			continue
		}
		if err := objects.Remove(ctx, object.Name); err != nil {
			return err
		}
	}
	return nil
}

// documentsName is the first file of a snapshot: it names the folder of the indexed documents.
const documentsName = "documents"

// keepSnapshot saves the index when it is complete and has changed, until ctx ends. taken says that
// it came from the snapshot.
func (m *memory) keepSnapshot(ctx context.Context, taken bool, keep func(ctx context.Context, name string, data []byte) error) error {
	var saved core.Status
	var at time.Time
	for {
		status, err := m.Manager.Status(ctx)
		if err != nil {
			return err
		}
		changed := max(status.Chunks-saved.Chunks, saved.Chunks-status.Chunks)
		switch complete := status.State == core.StateReady && (status.Pending == 0 || status.Embedder == ""); {
		case !complete || status.Chunks < fewestChunks || status.Updated.Equal(saved.Updated):
		case taken:
			saved, at, taken = status, time.Now(), false
		case float64(changed) > changedShare*float64(saved.Chunks) || time.Since(at) > oldestSnapshot:
			data, err := pack(status.Folder, m.mirror.dir)
			if err == nil {
				err = keep(ctx, snapshotName(m.owner), data)
			}
			if err == nil {
				saved, at = status, time.Now()
			} else if !errors.Is(err, fs.ErrNotExist) { // a file that a writer has replaced: later again
				return err
			}
		}
		select {
		case <-time.After(snapshotEvery):
		case <-ctx.Done():
			return nil
		}
	}
}

// pack returns the current generations of an index as a sealed tar archive. It reads a file before
// the files that it names: beside a writer the archive is older, but never claims too much.
func pack(folder, documents string) ([]byte, error) {
	var out bytes.Buffer
	p := packer{tar.NewWriter(&out), folder, mostSnapshot}
	if err := errors.Join(p.add(documentsName, []byte(documents)), p.folder("."), p.archive.Close()); err != nil {
		return nil, err
	}
	return sealed(out.Bytes()), nil
}

// sealed appends the SHA-256 to data.
func sealed(data []byte) []byte {
	sum := sha256.Sum256(data)
	return append(data, sum[:]...)
}

// unsealed returns what was sealed, or index.ErrCorrupt.
func unsealed(data []byte) ([]byte, error) {
	end := max(len(data)-sha256.Size, 0)
	if sum := sha256.Sum256(data[:end]); !bytes.Equal(sum[:], data[end:]) {
		return nil, index.ErrCorrupt
	}
	return data[:end], nil
}

// A packer archives files below a folder.
type packer struct {
	archive *tar.Writer
	root    string
	left    int // bytes that the archive may still get
}

func (p *packer) add(name string, data []byte) error {
	if p.left -= len(data); p.left < 0 {
		return fmt.Errorf("the index has over %d bytes: it is not copied", mostSnapshot)
	}
	err := p.archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(data))})
	_, errWrite := p.archive.Write(data)
	return errors.Join(err, errWrite)
}

// folder adds what is below a folder; of generations only the current one.
func (p *packer) folder(name string) error {
	current, err := os.ReadFile(filepath.Join(p.root, name, "CURRENT"))
	if err == nil {
		generation, _, _ := strings.Cut(string(current), " ")
		if err := p.add(path.Join(name, "CURRENT"), current); err != nil {
			return err
		}
		return p.folder(path.Join(name, generation))
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	entries, err := os.ReadDir(filepath.Join(p.root, name))
	if err != nil {
		return err
	}
	slices.SortStableFunc(entries, func(a, b fs.DirEntry) int { return rank(a) - rank(b) })
	for _, entry := range entries {
		file := path.Join(name, entry.Name())
		switch {
		case entry.IsDir():
			err = p.folder(file)
		case entry.Type().IsRegular() && !strings.EqualFold(entry.Name(), "lock"):
			var data []byte
			if data, err = os.ReadFile(filepath.Join(p.root, file)); err == nil {
				err = p.add(file, data)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func rank(entry fs.DirEntry) int {
	switch {
	case entry.Name() == index.ManifestFile:
		return 0
	case entry.IsDir():
		return 2
	}
	return 1
}

// unpack makes a new folder from what pack returned; the documents are in another folder here.
// After an error it may have a part.
func unpack(data []byte, folder, documents string) error {
	data, err := unsealed(data)
	if err != nil {
		return fmt.Errorf("the snapshot of an index: %w", err)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	made := map[string]bool{".": true}
	var were []byte
	rest := bytes.NewReader(data)
	for archive := tar.NewReader(rest); ; {
		header, err := archive.Next()
		if err == io.EOF {
			return core.Moved(folder, string(were), documents)
		}
		if err != nil {
			return err
		}
		begin := len(data) - rest.Len() // an entry follows its header, without a copy
		if header.Size < 0 || header.Size > int64(rest.Len()) {
			return errors.New("the snapshot of an index is cut off")
		}
		content := data[begin : begin+int(header.Size)]
		if header.Name == documentsName {
			were = content
			continue
		}
		if dir := path.Dir(header.Name); !made[dir] {
			if err := root.MkdirAll(dir, 0o700); err != nil {
				return err
			}
			made[dir] = true
		}
		if err := root.WriteFile(header.Name, content, 0o600); err != nil {
			return err
		}
	}
}

// A fetched snapshot is an index on this node, or on its way.
type fetched struct {
	folder string
	done   chan struct{} // closed when err is set
	err    error
}

// fetchedFor is how long a snapshot waits for its memory to be opened.
const fetchedFor = 30 * time.Second

// prefetch begins to fetch a memory's snapshot, unless its index is here: then it returns nil.
func (n *pool) prefetch(t *tenant, o owner) *fetched {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f := t.snapshots[o.name()]; f != nil {
		return f
	}
	if _, err := os.Stat(filepath.Join(t.cacheFolder(), "index", o.name())); err == nil {
		return nil
	}
	f := &fetched{folder: filepath.Join(t.cacheFolder(), "index", ".snapshot-"+o.name()), done: make(chan struct{})}
	if !n.aside(t, func(ctx context.Context) {
		f.err = n.fetch(ctx, t, o, f.folder)
		close(f.done)
		time.AfterFunc(fetchedFor, func() { t.dropFetched(o, f) })
	}) {
		return nil
	}
	t.snapshots[o.name()] = f
	return f
}

// fetch makes an index from a memory's snapshot.
func (n *pool) fetch(ctx context.Context, t *tenant, o owner, folder string) error {
	ctx, stop := context.WithTimeout(ctx, firstPullTimeout)
	defer stop()
	data, err := n.o.Objects.Get(ctx, objectsOf(t.id)+"/"+snapshotName(o))
	if err != nil {
		return err
	}
	if err := os.RemoveAll(folder); err != nil { // of an earlier process
		return err
	}
	return unpack(data, folder, t.documentsFolder())
}

func (t *tenant) dropFetched(o owner, f *fetched) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.snapshots[o.name()] == f {
		delete(t.snapshots, o.name())
		_ = os.RemoveAll(f.folder) // it is removed with the tenant, too
	}
}

// takeSnapshot moves the snapshot of a memory, if any, to the folder of its index.
func (n *pool) takeSnapshot(t *tenant, o owner, folder string) (taken bool) {
	f := n.prefetch(t, o)
	if f == nil {
		return false
	}
	<-f.done
	defer t.dropFetched(o, f)
	err := f.err
	if err == nil {
		err = os.MkdirAll(filepath.Dir(folder), 0o700)
	}
	if err == nil {
		err = os.Rename(f.folder, folder)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		n.o.Logger.Warn("an index is not taken from the storage, but made here", "error", err)
	}
	return err == nil
}
