// Package models keeps model packs for all projects: it lists, adds, opens and removes them.
package models

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/memcore/memcore/embed/pack"
	"github.com/memcore/memcore/internal/safefile"
)

// A Folder holds model packs. Its methods are safe for concurrent use, also by processes.
type Folder string

// extension of a pack, after its name.
const extension = ".memcore"

// An Installed pack is in a folder.
type Installed struct {
	pack.Manifest
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// ErrMissing means that no pack has the name.
var ErrMissing = errors.New("the model is not installed")

// Path is where a pack is, or would be.
func (f Folder) Path(name string) string { return filepath.Join(string(f), name+extension) }

// List returns all packs by name, and what is wrong with those that cannot be read.
func (f Folder) List() (all []Installed, problems []error) {
	entries, err := os.ReadDir(string(f))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []error{fmt.Errorf("models: %w", err)}
	}
	for _, entry := range entries {
		name, ok := strings.CutSuffix(entry.Name(), extension)
		if !ok {
			continue
		}
		one, err := f.Of(name)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		all = append(all, one)
	}
	return all, problems
}

// Of returns a pack by name. Errors are ErrMissing, or of package pack.
func (f Folder) Of(name string) (Installed, error) {
	one, m, _, err := f.open(name)
	if err != nil {
		return Installed{}, err
	}
	if err := m.Close(); err != nil {
		return Installed{}, fmt.Errorf("models: %w", err)
	}
	return one, nil
}

// open opens a pack for the caller to close, and returns its file as it was before.
func (f Folder) open(name string) (one Installed, m *pack.Model, file os.FileInfo, err error) {
	path := f.Path(name)
	file, err = os.Stat(path)
	if errors.Is(err, os.ErrNotExist) || err == nil && name != filepath.Base(name) {
		return one, nil, nil, fmt.Errorf("%w: %s", ErrMissing, name)
	}
	if err != nil {
		return one, nil, nil, fmt.Errorf("models: %w", err)
	}
	if m, err = pack.Open(path); err != nil {
		return one, nil, nil, err
	}
	one = Installed{m.Manifest(), path, file.Size()}
	if one.Name != name {
		return one, nil, nil, errors.Join(fmt.Errorf("model pack %s: it is %s, and found only as %s", path, one.Name, f.Path(one.Name)), m.Close())
	}
	return one, m, file, nil
}

// Verify reads a whole pack and compares it with its checksum. Errors are those of Of.
func (f Folder) Verify(name string) (Installed, error) {
	one, err := f.Of(name)
	if err != nil {
		return Installed{}, err
	}
	_, err = pack.VerifyFile(one.Path)
	return one, err
}

// opened are the packs of this process, by path; they stay open until it ends, because each
// workspace that uses one would map it again.
var opened struct {
	sync.Mutex
	packs map[string]openPack
}

// An openPack maps a file, which may not be the one at its path any more.
type openPack struct {
	*pack.Model
	file os.FileInfo
}

func (o openPack) maps(file os.FileInfo) bool {
	return o.Model != nil && os.SameFile(o.file, file) && o.file.Size() == file.Size() && o.file.ModTime().Equal(file.ModTime())
}

// Open opens a pack by name. The process shares it; do not close it.
func (f Folder) Open(name string) (*pack.Model, error) {
	opened.Lock()
	defer opened.Unlock()
	known := opened.packs[f.Path(name)]
	if file, err := os.Stat(f.Path(name)); err == nil && known.maps(file) {
		return known.Model, nil
	}
	one, m, file, err := f.open(name)
	if err != nil {
		return nil, err
	}
	if opened.packs == nil {
		opened.packs = map[string]openPack{}
	}
	opened.packs[one.Path] = openPack{m, file}
	return m, nil
}

// Knowing are the commands after which a model knows more languages than the one that is used.
func (f Folder) Knowing(used string) []string {
	add := "memcore model add " + E5
	_, err := f.Of(E5)
	switch {
	case used != E5:
		return []string{add}
	case err != nil:
		return []string{add, "memcore index"}
	}
	return []string{"memcore index"} // the index is of the model before
}

// WithFingerprint opens the pack that makes vectors of a space, or returns nil.
func (f Folder) WithFingerprint(fingerprint string) *pack.Model {
	all, _ := f.List()
	i := slices.IndexFunc(all, func(one Installed) bool { return one.Fingerprint() == fingerprint })
	if i < 0 {
		return nil
	}
	m, err := f.Open(all[i].Name)
	if err != nil {
		return nil
	}
	return m
}

// Add verifies a file and copies it into the folder, in place of a pack of the same name.
func (f Folder) Add(ctx context.Context, file string) (Installed, error) {
	m, err := pack.VerifyFile(file)
	if err != nil {
		return Installed{}, err
	}
	from, err := os.Open(file)
	if err != nil {
		return Installed{}, fmt.Errorf("models: %w", err)
	}
	defer from.Close()
	if err := safefile.MkdirAll(string(f), 0o700); err != nil {
		return Installed{}, fmt.Errorf("models: %w", err)
	}
	to, err := os.CreateTemp(string(f), m.Name+".part-*")
	if err != nil {
		return Installed{}, fmt.Errorf("models: %w", err)
	}
	defer os.Remove(to.Name())
	_, err = io.Copy(to, reader{ctx, from})
	if err = errors.Join(err, to.Sync(), to.Close()); err != nil {
		return Installed{}, fmt.Errorf("models: copy %s: %w", file, err)
	}
	return f.take(to.Name(), m.Name)
}

// take moves a whole file to a pack's place.
func (f Folder) take(file, name string) (Installed, error) {
	if err := os.Rename(file, f.Path(name)); err != nil {
		return Installed{}, fmt.Errorf("models: %w: if a process uses the model, end it first", err)
	}
	return f.Of(name)
}

// A reader ends with its context.
type reader struct {
	ctx context.Context
	io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// Remove deletes a pack, and what is left of its download.
func (f Folder) Remove(name string) error {
	if _, err := f.Of(name); errors.Is(err, ErrMissing) {
		return err
	}
	if err := os.Remove(f.Path(name)); err != nil {
		return fmt.Errorf("models: %w", err)
	}
	if err := os.Remove(f.partial(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("models: %w", err)
	}
	return nil
}
