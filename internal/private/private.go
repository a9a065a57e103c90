// Package private keeps the folders that memcore makes for itself to the user who runs it, and tells folders of the user's from those of strangers.
//
// What is in them was read from conversations and notes, and what is found in them is believed: the first is nobody else's to read, the second nobody
// else's to write. A folder that is there already may have been made by anybody, so it is looked at before it is used.
package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrForeign means that a folder is another user's.
var ErrForeign = errors.New("it belongs to another user of this machine, who could read and change what is in it")

// Make makes a folder for its user only, and those above it that are missing; one that is there it treats as Keep does.
func Make(dir string) (note string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return Keep(dir)
}

// Keep sees to it that a folder is the user's and that nobody else can get in: one of another user is refused (ErrForeign), permissions of others are
// taken away. note says so, for the user; "" is nothing to say, as it is for a folder that is missing. A file system that has no permissions
// to take away is no error, but a note. Where folders have access lists instead (Windows), nothing is done.
func Keep(dir string) (note string, err error) {
	info, open, err := look(dir)
	if err != nil || !open {
		return "", err
	}
	mode := info.Mode().Perm()
	err = os.Chmod(dir, info.Mode()&^others)
	if now, failed := os.Stat(dir); err != nil || failed != nil || now.Mode().Perm()&others != 0 {
		return fmt.Sprintf("folder %s is open to other users of this machine (%04o), and that cannot be changed there", dir, mode), nil
	}
	return fmt.Sprintf("folder %s was open to other users of this machine (%04o); now it is yours only", dir, mode), nil
}

// Look is Keep without changing anything: note says that a folder is open to others.
func Look(dir string) (note string, err error) {
	info, open, err := look(dir)
	if err != nil || !open {
		return "", err
	}
	return fmt.Sprintf("folder %s is open to other users of this machine (%04o)", dir, info.Mode().Perm()), nil
}

// others are the permissions of everybody but the owner.
const others = fs.FileMode(0o077)

// look tells whether others than the owner, who has to be the user, may do anything with a folder. One that is missing is not open.
func look(dir string) (info fs.FileInfo, open bool, err error) {
	info, err = os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	case !info.IsDir():
		return nil, false, fmt.Errorf("%s is not a folder", dir)
	case !IsOwn(info):
		return nil, false, fmt.Errorf("folder %s is refused: %w", dir, ErrForeign)
	}
	return info, hasModes && info.Mode().Perm()&others != 0, nil
}
