package safefile

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

// unfinished is the prefix of temporary files.
const unfinished = ".memcore-new-"

// Abandoned is the age of temporary files that a crash left. Writing one takes milliseconds, or
// seconds over a slow network.
const Abandoned = time.Minute

// Replace writes a file durably: a reader sees the old content or the new, even after a crash. It
// makes missing folders, and removes abandoned temporary files.
//
// An existing file keeps owner and permissions. If its group cannot be kept, the new group gets the
// permissions of others. A new file gets the permissions that mode, umask and folder allow; only
// its owner may write.
//
// An error is a *fs.PathError. The new content may be in place if only making the name durable
// failed.
func Replace(dir, name string, data []byte, mode fs.FileMode) error {
	return put(dir, name, data, mode, false, func(folder *os.Root, temporary, base string) error { return folder.Rename(temporary, base) })
}

// Create is Replace for a new file, else fs.ErrExist.
func Create(dir, name string, data []byte, mode fs.FileMode) error {
	return put(dir, name, data, mode, true, func(folder *os.Root, temporary, base string) error {
		err := folder.Link(temporary, base)
		if err == nil || errors.Is(err, fs.ErrExist) {
			return errors.Join(err, folder.Remove(temporary))
		}
		// Without hard links, a crash can leave a part.
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

// put writes a temporary file and puts it in place; if fresh, the target must not exist. It tries
// again if another process removed the file (Tidy).
func put(dir, path string, data []byte, mode fs.FileMode, fresh bool, place func(folder *os.Root, temporary, base string) error) (err error) {
	for range 3 {
		if err = putOnce(dir, path, data, mode, fresh, place); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return err
}

func putOnce(dir, path string, data []byte, mode fs.FileMode, fresh bool, place func(folder *os.Root, temporary, base string) error) (err error) {
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
	tidy(folder, Abandoned)
	seen, err := lstatRegular(folder, base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		around, err := folder.Stat(".")
		if err != nil {
			return err
		}
		seen, mode = nil, fileMode(mode, around.Mode())
	case fresh && seen != nil:
		return fs.ErrExist
	case err != nil:
		return err
	default:
		mode = 0o600 // until keepOwner has run
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
		err = place(folder, temporary, base)
	}
	if err != nil {
		_ = folder.Remove(temporary) // else a later tidy removes it
		return err
	}
	return syncFolder(folder.Open, ".")
}

// fill makes a file durable and closes it.
func fill(file *os.File, data []byte) error {
	_, err := file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// reason returns the cause without the temporary file's name.
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

// Tidy removes temporary files of at least that age beside a file: [Abandoned], or 0 if no process
// writes there.
func Tidy(dir, name string, age time.Duration) {
	if folder, _, err := descend(dir, name); err == nil {
		tidy(folder, age)
		folder.Close()
	}
}

// tidy removes temporary files of that age, and recovers killed swaps.
func tidy(folder *os.Root, age time.Duration) {
	listed, err := folder.Open(".")
	if err != nil {
		return
	}
	defer listed.Close()
	var swaps []string
	for {
		names, err := listed.Readdirnames(1000)
		for _, name := range names {
			switch {
			case strings.HasPrefix(name, swapping):
				swaps = append(swaps, name)
			case strings.HasPrefix(name, unfinished):
				if info, err := folder.Lstat(name); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) >= age {
					_ = folder.Remove(name)
				}
			}
		}
		if err != nil {
			break
		}
	}
	if len(swaps) > 0 {
		recoverSwaps(folder, swaps)
	}
}
