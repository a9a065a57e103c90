// Package safefile reads and replaces files below a folder without following symbolic links.
//
// A folder can become a link after a check. So each element is opened from its parent, and must be
// the checked one. After a crash, a file has its old content or its new one.
package safefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrLink means that the path has a symbolic link.
var ErrLink = errors.New("a symbolic link has taken its place")

// ErrTooLarge means that a file exceeds the caller's limit.
var ErrTooLarge = errors.New("it is larger than")

// ReadFile is Open for reading at most limit bytes.
func ReadFile(dir, name string, limit int64) (data []byte, info fs.FileInfo, err error) {
	file, info, err := Open(dir, name)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	data, err = readAll(file, limit)
	return data, info, err
}

// ReadPath is OpenPath for reading at most limit bytes.
func ReadPath(path string, limit int64) (data []byte, info fs.FileInfo, err error) {
	file, info, err := OpenPath(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	data, err = readAll(file, limit)
	return data, info, err
}

func readAll(file io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(data)) > limit && limit >= 1<<20:
		return nil, fmt.Errorf("%w %d MB", ErrTooLarge, limit>>20)
	case int64(len(data)) > limit:
		return nil, fmt.Errorf("%w %d KB", ErrTooLarge, limit>>10)
	}
	return data, nil
}

// OpenPath opens a regular file, perhaps by a link. It does not wait for a pipe.
func OpenPath(path string) (*os.File, fs.FileInfo, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|Nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := statRegular(file)
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// Open opens a regular file. dir must be resolved; a link in name is ErrLink. Open does not wait
// for a pipe, and tries again if the file is replaced.
func Open(dir, name string) (file *os.File, info fs.FileInfo, err error) {
	for range 10 {
		if file, info, err = openOnce(dir, name); !errors.Is(err, errReplaced) {
			break
		}
	}
	return file, info, err
}

var errReplaced = errors.New("replaced while it was opened")

func openOnce(dir, name string) (*os.File, fs.FileInfo, error) {
	folder, base, err := descend(dir, name)
	if err != nil {
		return nil, nil, err
	}
	defer folder.Close()
	seen, err := lstatRegular(folder, base)
	if err != nil {
		return nil, nil, err
	}
	file, err := folder.OpenFile(base, os.O_RDONLY|Nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := statRegular(file)
	if err == nil && !os.SameFile(seen, info) {
		err = fmt.Errorf("%s was %w", base, errReplaced)
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

func lstatRegular(folder *os.Root, name string) (fs.FileInfo, error) {
	info, err := folder.Lstat(name)
	if err != nil {
		return nil, err
	}
	return info, regular(info)
}

func statRegular(file *os.File) (fs.FileInfo, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return info, regular(info)
}

// Writable returns an error for a read-only file, which Replace would replace. It continues a
// sentence after the file's name.
func Writable(mode fs.FileMode) error {
	if mode&0o200 != 0 {
		return nil
	}
	return fmt.Errorf("is read-only (mode %04o): make it writable first (chmod u+w)", mode.Perm())
}

func regular(info fs.FileInfo) error {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return ErrLink
	case !info.Mode().IsRegular():
		return fmt.Errorf("it is %s, not a file", KindOf(info.Mode()))
	}
	return nil
}

// fileMode limits mode to the folder's permissions.
func fileMode(mode, around fs.FileMode) fs.FileMode { return mode & (0o600 | around&0o044) }

// folderMode returns a folder's permissions for such files.
func folderMode(mode, around fs.FileMode) fs.FileMode {
	return 0o700 | (mode&0o044|mode&0o044>>2)&around.Perm()
}

// MakeFolder makes a folder and its parents, with permissions as for a file of that mode.
func MakeFolder(path string, mode fs.FileMode) error {
	above := filepath.Clean(path)
	for {
		info, err := os.Stat(above)
		if err == nil {
			return MkdirAll(path, folderMode(mode, info.Mode())) // fails if path is a file
		}
		parent := filepath.Dir(above)
		if !errors.Is(err, fs.ErrNotExist) || parent == above {
			return err
		}
		above = parent
	}
}

// MkdirAll is os.MkdirAll, durably.
func MkdirAll(path string, mode fs.FileMode) error {
	var parents []string // of the missing folders
	for above := filepath.Clean(path); ; {
		if _, err := os.Stat(above); err == nil || above == filepath.Dir(above) {
			break
		}
		above = filepath.Dir(above)
		parents = append(parents, above)
	}
	if err := os.MkdirAll(path, mode); err != nil {
		return err
	}
	for _, parent := range parents {
		if err := SyncFolder(parent); err != nil {
			return err
		}
	}
	return nil
}

// Remove removes a regular file, durably. It follows no link. Errors name the file.
func Remove(dir, name string) error {
	if err := remove(dir, name); err != nil {
		return fmt.Errorf("remove %s: %w", filepath.Join(dir, name), reason(err))
	}
	return nil
}

func remove(dir, name string) error {
	folder, base, err := descend(dir, name)
	if err != nil {
		return err
	}
	defer folder.Close()
	if _, err := lstatRegular(folder, base); err != nil {
		return err
	}
	if err := folder.Remove(base); err != nil {
		return err
	}
	return syncFolder(folder.Open, ".")
}

// makeFolders makes the missing folders of name, durably.
func makeFolders(dir, name string, mode fs.FileMode) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	made := "."
	for element := range strings.SplitSeq(filepath.Clean(name), string(filepath.Separator)) {
		parent := made
		if made = filepath.Join(made, element); made == "." {
			continue
		}
		if _, err := root.Stat(made); !errors.Is(err, fs.ErrNotExist) {
			if err != nil {
				return err
			}
			continue
		}
		if err := makeFolder(root, parent, made, mode); err != nil {
			return err
		}
	}
	return nil
}

// makeFolder makes one folder, durably.
func makeFolder(root *os.Root, parent, name string, mode fs.FileMode) error {
	folder, err := root.OpenRoot(parent)
	if err != nil {
		return err
	}
	defer folder.Close()
	around, err := folder.Stat(".")
	if err != nil {
		return err
	}
	if err := folder.Mkdir(filepath.Base(name), folderMode(mode, around.Mode())); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncFolder(folder.Open, ".")
}

// descend opens name's folder, element by element.
func descend(dir, name string) (folder *os.Root, base string, err error) {
	name = filepath.Clean(name)
	if !filepath.IsLocal(name) || name == "." {
		return nil, "", fmt.Errorf("%q is not the name of a file below %s", name, dir)
	}
	folder, err = os.OpenRoot(dir)
	if err != nil {
		return nil, "", err
	}
	elements := strings.Split(name, string(filepath.Separator))
	last := len(elements) - 1
	for _, element := range elements[:last] {
		next, err := enter(folder, element)
		folder.Close()
		if err != nil {
			return nil, "", err
		}
		folder = next
	}
	return folder, elements[last], nil
}

func enter(folder *os.Root, name string) (*os.Root, error) {
	seen, err := folder.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case seen.Mode()&fs.ModeSymlink != 0:
		return nil, ErrLink
	case !seen.IsDir():
		return nil, fmt.Errorf("%s is %s, not a folder", name, KindOf(seen.Mode()))
	}
	next, err := folder.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if info, err := next.Stat("."); err != nil || !os.SameFile(seen, info) {
		next.Close()
		return nil, errors.Join(err, fmt.Errorf("%s was replaced while it was opened", name))
	}
	return next, nil
}

// KindOf names what a file is, such as "a named pipe".
func KindOf(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "a file"
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	default:
		return "not a regular file"
	}
}
