//go:build linux || dragonfly || openbsd || solaris || illumos

package filetime

import (
	"io/fs"
	"syscall"
	"time"
)

func changed(info fs.FileInfo) time.Time {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(int64(stat.Ctim.Sec), int64(stat.Ctim.Nsec))
	}
	return time.Time{}
}
