package beneath

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// unfinished is how the name of a file begins that is being written, and will get its own name when it is whole.
const unfinished = ".memcore-new-"

// abandoned is how old such a file is at least if nobody writes it any more: what writes one takes milliseconds, and a slow network's disk seconds.
const abandoned = time.Minute

// Replace puts a file in place as a whole: whoever reads it sees the old content or the new, also after a crash. Folders of name that are missing
// are made. A file that is there keeps its owner and its permissions, as far as the system lets this user give them; where its group cannot be kept,
// another one gets no more than everybody has. A new one, and a new folder, has those of mode that the umask leaves and that the folder it is made in
// has as well: what is put into a folder that nobody else can enter is nobody else's, whatever becomes of the folder. Nobody but the owner may write to it.
//
// When it returns without error, the file is durable. The error is a *fs.PathError of the file; if only the last step failed, that of making the name
// durable, the new content may be there all the same. What a crash has left unfinished in the folder, a minute ago or longer, is removed.
func Replace(dir, name string, data []byte, mode fs.FileMode) error {
	return put(dir, name, data, mode, false, func(folder *os.Root, temporary, base string) error { return folder.Rename(temporary, base) })
}

// Create is Replace for a file that must not be there: the error wraps fs.ErrExist if it is, and it stays as it is.
func Create(dir, name string, data []byte, mode fs.FileMode) error {
	return put(dir, name, data, mode, true, func(folder *os.Root, temporary, base string) error {
		err := folder.Link(temporary, base)
		if err == nil || errors.Is(err, fs.ErrExist) {
			return errors.Join(err, folder.Remove(temporary))
		}
		// A file system without hard links. What a crash leaves is a name without content, or with less of it, but never another's content lost.
		file, err := folder.OpenFile(base, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode&0o600)
		if err != nil {
			return err
		}
		if err := fill(file, data); err != nil {
			return errors.Join(err, folder.Remove(base))
		}
		return folder.Remove(temporary)
	})
}

// put writes data under a name of its own and calls name to give it that of the file, which must not be there if fresh is set. If that name is
// gone meanwhile, since somebody has taken it for what a crash has left (see Tidy), it is written again.
func put(dir, path string, data []byte, mode fs.FileMode, fresh bool, name func(folder *os.Root, temporary, base string) error) (err error) {
	for range 3 {
		if err = putOnce(dir, path, data, mode, fresh, name); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return err
}

func putOnce(dir, path string, data []byte, mode fs.FileMode, fresh bool, name func(folder *os.Root, temporary, base string) error) (err error) {
	defer func() {
		if err != nil {
			err = &fs.PathError{Op: "write", Path: filepath.Join(dir, path), Err: reason(err)}
		}
	}()
	if err := makeFolders(dir, filepath.Dir(path), mode); err != nil {
		return err
	}
	folder, base, err := descend(dir, path)
	if err != nil {
		return err
	}
	defer folder.Close()
	tidy(folder, abandoned)
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
	case fresh:
		return fs.ErrExist
	default:
		if err := regular(base, seen); err != nil {
			return err
		}
		mode = 0o600 // until it is its owner's
	}
	temporary := unfinished + rand.Text()
	file, err := folder.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if err = fill(file, data); err == nil && seen != nil {
		err = folder.Chmod(temporary, keepOwner(folder, temporary, seen))
	}
	if err == nil {
		err = name(folder, temporary, base)
	}
	if err != nil {
		_ = folder.Remove(temporary) // what cannot be removed now is tidied away later
		return err
	}
	return syncFolder(folder)
}

// fill writes a file, makes it durable and closes it.
func fill(file *os.File, data []byte) error {
	_, err := file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// reason is what went wrong, without the name of a file that nobody knows.
func reason(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path) && (path.Op == "open" || path.Op == "openat" || path.Op == "write"):
		return path.Err
	case errors.As(err, &path):
		return fmt.Errorf("%s: %w", path.Op, path.Err)
	case errors.As(err, &link):
		return fmt.Errorf("%s: %w", link.Op, link.Err)
	}
	return err
}

// Tidy removes what writers that ended before they were done have left in the folder of a file. The caller knows that nobody
// writes there now; who does writes once more.
func Tidy(dir, name string) {
	if folder, _, err := descend(dir, name); err == nil {
		tidy(folder, 0)
		folder.Close()
	}
}

// tidy removes unfinished files that are old enough. One that cannot be removed is no reason not to write another.
func tidy(folder *os.Root, age time.Duration) {
	listed, err := folder.Open(".")
	if err != nil {
		return
	}
	defer listed.Close()
	for {
		names, err := listed.Readdirnames(1000)
		for _, name := range names {
			if !strings.HasPrefix(name, unfinished) {
				continue
			}
			if info, err := folder.Lstat(name); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) >= age {
				_ = folder.Remove(name)
			}
		}
		if err != nil {
			return
		}
	}
}
