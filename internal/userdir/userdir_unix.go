//go:build unix

package userdir

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

const hasModes = true

// IsOwn reports whether a file belongs to the user.
func IsOwn(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

func ownerOf(info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return unknown
	}
	return strconv.FormatUint(uint64(stat.Uid), 10)
}
