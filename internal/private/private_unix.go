//go:build unix

package private

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

const hasModes = true

// IsOwn tells whether a file is the user's.
func IsOwn(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

func ownerOf(info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nobody
	}
	return strconv.FormatUint(uint64(stat.Uid), 10)
}
