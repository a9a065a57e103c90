//go:build darwin || freebsd || netbsd

package filetime

import (
	"io/fs"
	"syscall"
	"time"
)

func changed(info fs.FileInfo) time.Time {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(int64(stat.Ctimespec.Sec), int64(stat.Ctimespec.Nsec))
	}
	return time.Time{}
}
