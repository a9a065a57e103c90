package archive

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/memcore/memcore/internal/safefile"
)

// A writer writes the files of an export. Nothing is there under its name before commit.
type writer interface {
	add(name string, data []byte, modified time.Time) error
	commit() error
	discard() error
}

// IsFile reports whether a name is that of an export in one file.
func IsFile(name string) bool {
	return strings.HasSuffix(name, ".tar.gz") || strings.HasSuffix(name, ".tgz")
}

// create starts an export, which must not exist; an empty folder may.
func create(target string) (writer, error) {
	target, err := filepath.Abs(target)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(target)
	if _, missing := os.Lstat(target); !errors.Is(missing, fs.ErrNotExist) && (err != nil || len(entries) > 0 || IsFile(target)) {
		return nil, fmt.Errorf("export to %s: it exists already: name another place, or move it away", target)
	}
	if err := safefile.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	if IsFile(target) {
		return createFile(target)
	}
	if err := os.RemoveAll(target + partly); err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	if err := os.Mkdir(target+partly, 0o700); err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	root, err := os.OpenRoot(target + partly)
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	return &folderWriter{root, target}, nil
}

// partly ends the name of an export that is being made.
const partly = ".partly"

type folderWriter struct {
	root   *os.Root
	target string
}

func (w *folderWriter) add(name string, data []byte, modified time.Time) error {
	name = filepath.FromSlash(name)
	err := w.root.MkdirAll(filepath.Dir(name), 0o700)
	if err == nil {
		err = w.root.WriteFile(name, data, 0o600)
	}
	if err == nil {
		err = w.root.Chtimes(name, modified, modified)
	}
	return err
}

func (w *folderWriter) commit() error {
	if err := w.root.Close(); err != nil {
		return err
	}
	if err := os.Remove(w.target); err != nil && !errors.Is(err, fs.ErrNotExist) { // an empty folder
		return err
	}
	return os.Rename(w.target+partly, w.target)
}

func (w *folderWriter) discard() error {
	return errors.Join(w.root.Close(), os.RemoveAll(w.target+partly))
}

func createFile(target string) (writer, error) {
	file, err := os.OpenFile(target+partly, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	packed := gzip.NewWriter(file)
	return &tarWriter{file, packed, tar.NewWriter(packed), target}, nil
}

type tarWriter struct {
	file   *os.File
	packed *gzip.Writer
	tar    *tar.Writer
	target string
}

func (w *tarWriter) add(name string, data []byte, modified time.Time) error {
	err := w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: path.Clean(name), Size: int64(len(data)), Mode: 0o600, ModTime: modified, Format: tar.FormatPAX})
	if err == nil {
		_, err = w.tar.Write(data)
	}
	return err
}

func (w *tarWriter) commit() error {
	err := errors.Join(w.tar.Close(), w.packed.Close(), w.file.Sync(), w.file.Close())
	if err != nil {
		return err
	}
	return os.Rename(w.target+partly, w.target)
}

func (w *tarWriter) discard() error { return errors.Join(w.file.Close(), os.Remove(w.target+partly)) }
