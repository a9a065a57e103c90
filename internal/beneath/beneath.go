// Package beneath opens and replaces files below a folder, so that nothing that happens meanwhile leads elsewhere, and whatever
// ends the process leaves the old content or the new.
//
// A check of a path is worth nothing if the path is looked up again afterwards: a folder on the way may have become
// a symbolic link. So each element is opened from the one before it, and must be what it was when it was looked at.
package beneath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrLink means that an element of the path is a symbolic link.
var ErrLink = errors.New("a symbolic link has taken its place")

// Open opens a regular file for reading. dir is a folder with its links resolved, name a path relative to it. No element of
// name may be a symbolic link (ErrLink), and the file no pipe, socket or device, which are not waited for either.
//
// Writers put files in place whole: one that is replaced while it is opened is opened again.
func Open(dir, name string) (file *os.File, info fs.FileInfo, err error) {
	for range 10 {
		if file, info, err = openOnce(dir, name); !errors.Is(err, errReplaced) {
			break
		}
	}
	return file, info, err
}

// errReplaced means that what stood there was another file a moment ago.
var errReplaced = errors.New("replaced while it was opened")

func openOnce(dir, name string) (*os.File, fs.FileInfo, error) {
	folder, base, err := descend(dir, name)
	if err != nil {
		return nil, nil, err
	}
	defer folder.Close()
	seen, err := folder.Lstat(base)
	if err != nil {
		return nil, nil, err
	}
	if err := regular(base, seen); err != nil {
		return nil, nil, err
	}
	file, err := folder.OpenFile(base, os.O_RDONLY|Nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil {
		err = regular(base, info)
	}
	if err == nil && !os.SameFile(seen, info) {
		err = fmt.Errorf("%s was %w", base, errReplaced)
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// Writable returns an error for a file that its owner does not let be written to: replacing it, as Replace does, asks nobody. It is a sentence to stand behind
// the file's name.
func Writable(mode fs.FileMode) error {
	if mode&0o200 != 0 {
		return nil
	}
	return fmt.Errorf("is read-only (mode %04o): make it writable first (chmod u+w)", mode.Perm())
}

func regular(name string, info fs.FileInfo) error {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return ErrLink
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is %s, not a file", name, KindOf(info.Mode()))
	}
	return nil
}

// fileMode is what of mode a file has in a folder, folderMode what a folder has that a file of that mode is made in.
func fileMode(mode, around fs.FileMode) fs.FileMode { return mode & (0o600 | around&0o044) }

func folderMode(mode, around fs.FileMode) fs.FileMode {
	return 0o700 | (mode&0o044|mode&0o044>>2)&around.Perm()
}

// MakeFolder makes a folder and those above it that are missing, with the permissions that Replace gives to folders of a file of that mode.
func MakeFolder(path string, mode fs.FileMode) error {
	above := filepath.Clean(path)
	for {
		info, err := os.Stat(above)
		if err == nil {
			return os.MkdirAll(path, folderMode(mode, info.Mode())) // also of one that is there, which may be a file
		}
		parent := filepath.Dir(above)
		if !errors.Is(err, fs.ErrNotExist) || parent == above {
			return err
		}
		above = parent
	}
}

// Remove removes a regular file; like Open it follows no link.
func Remove(dir, name string) error {
	folder, base, err := descend(dir, name)
	if err != nil {
		return err
	}
	defer folder.Close()
	seen, err := folder.Lstat(base)
	if err != nil {
		return err
	}
	if err := regular(base, seen); err != nil {
		return err
	}
	return folder.Remove(base)
}

// makeFolders makes the folders of name that are missing, and their names durable.
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

// makeFolder makes one folder in another, and its name durable.
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
	return syncFolder(folder)
}

// descend opens the folder that holds name, element by element.
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
