//go:build unix

package safefile

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner sets like's owner and group, and returns permissions to set.
func keepOwner(folder *os.Root, name string, like fs.FileInfo) fs.FileMode {
	mode := like.Mode().Perm()
	had, ok := like.Sys().(*syscall.Stat_t)
	now, err := folder.Lstat(name)
	if !ok || err != nil {
		return mode
	}
	has, ok := now.Sys().(*syscall.Stat_t)
	if !ok || has.Uid == had.Uid && has.Gid == had.Gid {
		return mode
	}
	if folder.Lchown(name, int(had.Uid), int(had.Gid)) == nil || has.Gid == had.Gid || folder.Lchown(name, -1, int(had.Gid)) == nil {
		return mode
	}
	return mode&0o707 | mode&0o007<<3&mode
}
