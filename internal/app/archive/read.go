package archive

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/safefile"
)

// ErrRefused means that an export is not one, or tries to do harm.
var ErrRefused = errors.New("this is not an export that memcore can trust")

// A reader reads the files of an export.
type reader struct {
	Manifest
	folder    string // resolved
	temporary bool
}

// open opens a folder or a .tar.gz file. The latter is unpacked below scratch first.
func open(name, scratch string) (r *reader, err error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	r = &reader{folder: paths.Resolve(name)}
	if !info.IsDir() {
		if err := safefile.MkdirAll(scratch, 0o700); err != nil {
			return nil, fmt.Errorf("import: %w", err)
		}
		if r.folder, err = os.MkdirTemp(scratch, "import-"); err != nil {
			return nil, fmt.Errorf("import: %w", err)
		}
		r.folder, r.temporary = paths.Resolve(r.folder), true
		err = unpack(name, r.folder)
	}
	if err == nil {
		err = r.readManifest()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("import %s: %w", name, err), r.close())
	}
	return r, nil
}

func (r *reader) close() error {
	if !r.temporary {
		return nil
	}
	return os.RemoveAll(r.folder)
}

func (r *reader) readManifest() error {
	data, _, err := safefile.ReadFile(r.folder, ManifestName, mostManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: it has no %s", ErrRefused, ManifestName)
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &r.Manifest); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrRefused, ManifestName, err)
	}
	if r.Format != format {
		return fmt.Errorf("%s has format %d, and this release knows %d: use the release that wrote it (%.40s)", ManifestName, r.Format, format, r.Version)
	}
	if len(r.Files) > mostFiles {
		return fmt.Errorf("%w: it names %d files, more than %d", ErrRefused, len(r.Files), mostFiles)
	}
	return nil
}

// read returns a file as it was before it was exported.
func (r *reader) read(f File) ([]byte, error) {
	data, _, err := safefile.ReadFile(r.folder, filepath.FromSlash(f.Name), largestFile+(1<<20))
	if err != nil {
		return nil, err
	}
	if f.Added < 0 || f.AddedAt < 0 || f.Added > len(data) || f.AddedAt > len(data)-f.Added {
		return nil, fmt.Errorf("%w: %q is shorter than what was added to it", ErrRefused, f.Name)
	}
	data = append(data[:f.AddedAt:f.AddedAt], data[f.AddedAt+f.Added:]...)
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != f.SHA256 {
		return nil, errors.New("it was changed since it was exported: its checksum differs")
	}
	return data, nil
}

// unpack writes the files of a .tar.gz file into a folder.
func unpack(name, folder string) error {
	file, _, err := safefile.OpenPath(name)
	if err != nil {
		return err
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	entries, total := tar.NewReader(unpacked), int64(0)
	for n := 0; ; n++ {
		h, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrRefused, err)
		}
		if h.Typeflag == tar.TypeDir {
			continue
		}
		if err := acceptable(h); err != nil {
			return err
		}
		if total += h.Size; n >= mostFiles || total > mostBytes {
			return fmt.Errorf("%w: it has more than %d files or %d GB", ErrRefused, mostFiles, mostBytes>>30)
		}
		if err := unpackFile(root, h, entries); err != nil {
			return fmt.Errorf("%q: %w", h.Name, err)
		}
	}
}

// acceptable refuses entries that are no files of an export.
func acceptable(h *tar.Header) error {
	local := filepath.IsLocal(filepath.FromSlash(h.Name)) && !strings.Contains(h.Name, `\`)
	limit := int64(largestFile + 1<<20)
	if h.Name == ManifestName {
		limit = mostManifest
	}
	switch {
	case len(h.Name) > longestName || !local:
		return fmt.Errorf("%w: the path %.100q leads elsewhere", ErrRefused, h.Name)
	case h.Typeflag != tar.TypeReg:
		return fmt.Errorf("%w: %.100q is a link or a device", ErrRefused, h.Name)
	case h.Size > limit:
		return fmt.Errorf("%w: %.100q is larger than %d MB", ErrRefused, h.Name, limit>>20)
	}
	return nil
}

func unpackFile(root *os.Root, h *tar.Header, from io.Reader) error {
	name := filepath.FromSlash(h.Name)
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: it is there twice", ErrRefused)
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, file.Close())
}
