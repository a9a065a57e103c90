// Package beneath opens and replaces files below a folder, so that nothing that happens meanwhile leads elsewhere.
//
// A check of a path is worth nothing if the path is looked up again afterwards: a folder on the way may have become
// a symbolic link. So each element is opened from the one before it, and must be what it was when it was looked at.
package beneath

import (
	"crypto/rand"
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
func Open(dir, name string) (*os.File, fs.FileInfo, error) {
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
		err = fmt.Errorf("%s was replaced while it was opened", base)
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
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

// Replace puts a file in place as a whole: whoever reads it sees the old content or the new. Folders of name that are missing
// are made. A file that is there keeps its owner and its permissions, as far as the system lets this user give them; where its group cannot be kept,
// another one gets no more than everybody has. A new one, and a new folder, has those of mode that the umask leaves and that the folder it is made in
// has as well: what is put into a folder that nobody else can enter is nobody else's, whatever becomes of the folder. Nobody but the owner may write to it.
func Replace(dir, name string, data []byte, mode fs.FileMode) (err error) {
	if err := makeFolders(dir, filepath.Dir(name), mode); err != nil {
		return err
	}
	folder, base, err := descend(dir, name)
	if err != nil {
		return err
	}
	defer folder.Close()
	seen, err := folder.Lstat(base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		around, err := folder.Stat(".")
		if err != nil {
			return err
		}
		seen, mode = nil, fileMode(mode, around.Mode())
	case err != nil:
		return err
	default:
		if err := regular(base, seen); err != nil {
			return err
		}
		mode = 0o600 // until it is its owner's
	}
	temporary := "." + base + "." + rand.Text()
	file, err := folder.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			folder.Remove(temporary)
		}
	}()
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err == nil && seen != nil {
		err = folder.Chmod(temporary, keepOwner(folder, temporary, seen))
	}
	if err != nil {
		return err
	}
	return folder.Rename(temporary, base)
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

func makeFolders(dir, name string, mode fs.FileMode) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for above := name; ; above = filepath.Dir(above) {
		info, err := root.Stat(above)
		if err == nil {
			return root.MkdirAll(name, folderMode(mode, info.Mode()))
		}
		if !errors.Is(err, fs.ErrNotExist) || above == "." {
			return err
		}
	}
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
