package private

import (
	"os"
	"path/filepath"
)

// Marks tells whether dir is the root of something for who works in start, a folder at or below it, since it holds a marker of that name (".git"). Where
// anybody may write (/tmp), anybody can make one, and so draw the work of all others below into a folder of theirs. So above start a marker counts
// only if it belongs to the user, to root, or to the owner of start: the last since root in a container works in folders that were mounted into it.
// One that does not count is passed, for a person: its path and whose it is.
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
	if owner == root || owner != nobody && owner == ownerAround(start) {
		return true, ""
	}
	return false, marker + ", which belongs to user " + owner
}

// ownerAround is the owner of a folder, or of the nearest one above it if it is not there yet.
func ownerAround(dir string) string {
	for {
		info, err := os.Stat(dir)
		if err == nil {
			return ownerOf(info)
		}
		if !os.IsNotExist(err) || dir == filepath.Dir(dir) {
			return nobody
		}
		dir = filepath.Dir(dir)
	}
}

// Owners as ownerOf gives them: the system's, and none, where nobody can tell.
const root, nobody = "0", ""
