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

// snapshotPath is the name of the object with the index of one of a tenant's memories.
func snapshotPath(id string, o owner) string {
	return "tenants/" + id + "/indexes/" + o.name() + ".tar"
}

// keepSnapshot saves the index once it is complete, and when it has changed, until ctx ends. taken
// says that the index was made from the snapshot.
func (m *memory) keepSnapshot(ctx context.Context, taken bool, save func(context.Context, []byte) error) error {
	var saved core.Status
	var at time.Time
	for {
		status, err := m.Manager.Status(ctx)
		if err != nil {
			return err
		}
		changed := max(status.Chunks-saved.Chunks, saved.Chunks-status.Chunks)
		switch complete := status.State == core.StateReady && status.Embedded == status.Chunks; {
		case !complete || status.Chunks < fewestChunks || status.Updated.Equal(saved.Updated):
		case taken:
			saved, at, taken = status, time.Now(), false
		case float64(changed) > changedShare*float64(saved.Chunks) || time.Since(at) > oldestSnapshot:
			data, err := pack(status.Folder)
			if err == nil {
				err = save(ctx, data)
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

// pack returns the files of an index as a tar archive with its SHA-256 behind it. What names other
// files is read before them, so that a writer at the same time leaves an older state, never one
// that claims too much.
func pack(folder string) ([]byte, error) {
	var names []string
	total := int64(0)
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || strings.EqualFold(entry.Name(), "lock") {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			total += info.Size()
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if total > mostSnapshot {
		return nil, fmt.Errorf("the index has %d bytes: it is not copied", total)
	}
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	out := bytes.NewBuffer(make([]byte, 0, total+int64(len(names)+2)*1024))
	archive := tar.NewWriter(out)
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		rel, err := filepath.Rel(folder, name)
		if err != nil {
			return nil, err
		}
		err = archive.WriteHeader(&tar.Header{Name: filepath.ToSlash(rel), Mode: 0o600, Size: int64(len(data))})
		if _, errWrite := archive.Write(data); errors.Join(err, errWrite) != nil {
			return nil, errors.Join(err, errWrite)
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(out.Bytes())
	return append(out.Bytes(), sum[:]...), nil
}

func rank(name string) int {
	switch filepath.Base(name) {
	case "manifest.json":
		return 0
	case "CURRENT":
		return 1
	}
	return 2
}

// unpack makes the folder of an index from what pack returned, or leaves none.
func unpack(data []byte, folder string) error {
	archived := max(len(data)-sha256.Size, 0)
	if sum := sha256.Sum256(data[:archived]); !bytes.Equal(sum[:], data[archived:]) {
		return errors.New("the snapshot of an index is damaged")
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(filepath.Dir(folder), "snapshot-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	root, err := os.OpenRoot(temporary)
	if err != nil {
		return err
	}
	defer root.Close()
	for archive := tar.NewReader(bytes.NewReader(data[:archived])); ; {
		header, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			return err
		}
		if err := errors.Join(root.MkdirAll(path.Dir(header.Name), 0o700), root.WriteFile(header.Name, text, 0o600)); err != nil {
			return err
		}
	}
	return os.Rename(temporary, folder)
}

// A fetched snapshot is here, or on its way.
type fetched struct {
	done chan struct{} // closed when the rest is set
	data []byte
	err  error
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
	if _, err := os.Stat(filepath.Join(t.cacheFolder(), "index", o.name())); err == nil || n.o.Objects == nil {
		return nil
	}
	f := &fetched{done: make(chan struct{})}
	t.snapshots[o.name()] = f
	go func() {
		ctx, stop := context.WithTimeout(context.Background(), firstPullTimeout)
		defer stop()
		f.data, f.err = n.o.Objects.Get(ctx, snapshotPath(t.id, o))
		close(f.done)
		time.AfterFunc(fetchedFor, func() { t.dropFetched(o, f) })
	}()
	return f
}

func (t *tenant) dropFetched(o owner, f *fetched) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.snapshots[o.name()] == f {
		delete(t.snapshots, o.name())
	}
}

// takeSnapshot makes the index of a memory from its snapshot, if there is one.
func (n *pool) takeSnapshot(t *tenant, o owner, folder string) (taken bool) {
	f := n.prefetch(t, o)
	if f == nil {
		return false
	}
	<-f.done
	t.dropFetched(o, f)
	err := f.err
	if err == nil {
		err = unpack(f.data, folder)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		n.o.Logger.Warn("an index is made anew instead of taken from the storage", "error", err)
	}
	return err == nil
}
