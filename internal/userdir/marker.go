package userdir

import (
	"os"
	"path/filepath"
)

// Marks reports whether a marker such as ".git" makes dir a workspace's root for work in start, at
// or below dir. Anyone can create /tmp/.git. So above start, it must belong to the user, root, or
// start's owner (root in a container). passed names a marker that does not count, and its owner.
func Marks(dir, name, start string) (counts bool, passed string) {
	marker := filepath.Join(dir, name)
	info, err := os.Lstat(marker)
	if err != nil {
		return false, ""
	}
	if dir == start || IsOwn(info) {
		return true, ""
	}
	owner := ownerOf(info)
	if owner == root || owner != unknown && owner == ownerAround(start) {
		return true, ""
	}
	return false, marker + ", which belongs to user " + owner
}

// ownerAround is of a folder or its nearest existing parent.
func ownerAround(dir string) string {
	for {
		info, err := os.Stat(dir)
		if err == nil {
			return ownerOf(info)
		}
		if !os.IsNotExist(err) || dir == filepath.Dir(dir) {
			return unknown
		}
		dir = filepath.Dir(dir)
	}
}

// Results of ownerOf.
const root, unknown = "0", ""
