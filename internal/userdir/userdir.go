// Package userdir names memcore's folders, keeps them private, and recognises folders of other
// users.
//
// memcore's folders hold conversations and notes, and memcore trusts their content. So no other
// user may read or write them.
package userdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrForeign means that a folder belongs to another user.
var ErrForeign = errors.New("it belongs to another user of this machine, who could read and change what is in it")

// Keep removes other users' permissions from a folder. note says that it did, or could not. Another
// user's folder is ErrForeign, a missing one no error. On Windows, Keep does nothing.
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

// Look is Keep without the change.
func Look(dir string) (note string, err error) {
	info, open, err := look(dir)
	if err != nil || !open {
		return "", err
	}
	return fmt.Sprintf("folder %s is open to other users of this machine (%04o)", dir, info.Mode().Perm()), nil
}

// others are the permissions of group and others.
const others = fs.FileMode(0o077)

// look reports whether a folder is open to others.
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
