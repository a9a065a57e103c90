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
	"github.com/memcore/memcore/store"
)

// A snapshot is a copy of an index in the storage, with which another node answers at once and then
// indexes only what has changed since. It is derived: a node without one makes the index itself.

const (
	// fewestChunks is from when on an index is worth a copy: smaller ones are made as fast.
	fewestChunks = 1000
	// changedShare of the chunks make a copy outdated.
	changedShare = 0.1
	// oldestSnapshot is how long a copy stays that lacks any change, such as a removed document.
	oldestSnapshot = time.Hour
	snapshotEvery  = time.Minute // between looks at whether a copy is outdated
	mostSnapshot   = 1 << 30     // bytes
)

// snapshotsFolder has an object for the index of each of a tenant's memories, in the tenant's
// folder of the storage.
const snapshotsFolder = "indexes"

func snapshotName(o owner) string { return snapshotsFolder + "/" + o.name() + ".tar" }

// snapshotLife is how long a copy stays that no node replaces: of a user who no longer asks, or no
// longer with these teams. It still has the texts of removed documents.
const snapshotLife = 30 * 24 * time.Hour

// removeOldSnapshots removes copies of a tenant's indexes that nobody has replaced for long.
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

// documentsName begins a snapshot: a file with the folder of the documents that were indexed.
const documentsName = "documents"

// keepSnapshot saves the index once it is complete, and when it has changed, until ctx ends. taken
// says that the index was made from the snapshot.
func (m *memory) keepSnapshot(ctx context.Context, taken bool, keep func(ctx context.Context, name string, data []byte) error) error {
	var saved core.Status
	var at time.Time
	for {
		status, err := m.Manager.Status(ctx)
		if err != nil {
			return err
		}
		changed := max(status.Chunks-saved.Chunks, saved.Chunks-status.Chunks)
		switch complete := status.State == core.StateReady && (status.Embedded == status.Chunks || status.Embedder == ""); {
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

// pack returns the current generations of an index of documents as a tar archive with its SHA-256
// behind it. What names other files is read before them, so that a writer at the same time leaves
// an older state, never one that claims too much.
func pack(folder, documents string) ([]byte, error) {
	var out bytes.Buffer
	p := packer{tar.NewWriter(&out), folder, mostSnapshot}
	if err := errors.Join(p.add(documentsName, []byte(documents)), p.folder("."), p.archive.Close()); err != nil {
		return nil, err
	}
	return sealed(out.Bytes()), nil
}

// sealed returns data with its SHA-256 behind it.
func sealed(data []byte) []byte {
	sum := sha256.Sum256(data)
	return append(data, sum[:]...)
}

// unsealed returns what was sealed, or store.ErrCorrupt.
func unsealed(data []byte) ([]byte, error) {
	end := max(len(data)-sha256.Size, 0)
	if sum := sha256.Sum256(data[:end]); !bytes.Equal(sum[:], data[end:]) {
		return nil, store.ErrCorrupt
	}
	return data[:end], nil
}

// A packer adds files below a folder to an archive.
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

// folder adds what is below a folder: of one with generations, the current one.
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
	case entry.Name() == store.ManifestFile:
		return 0
	case entry.IsDir():
		return 2
	}
	return 1
}

// unpack makes the folder of an index, which must not exist, from what pack returned: of documents
// that are here in another folder. After an error it may have a part.
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

// A fetched snapshot is here as an index, or on its way.
type fetched struct {
	folder string
	done   chan struct{} // closed when err is set
	err    error
}

// fetchedFor is how long a snapshot is kept for a memory that nobody opens.
const fetchedFor = 30 * time.Second

// prefetch begins to get the snapshot of a memory whose index is not on this node, and returns it;
// nil if there is nothing to get.
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

// fetch makes an index in a folder from the snapshot of a memory.
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

// takeSnapshot makes the folder of an index from its snapshot, if there is one.
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
		n.o.Logger.Warn("an index is made anew instead of taken from the storage", "error", err)
	}
	return err == nil
}
