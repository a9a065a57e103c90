//go:build unix

package overload

import "syscall"

// maxFiles returns how many files the process may open.
func maxFiles() (n uint64, known bool) {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0, false
	}
	return uint64(limit.Cur), true // int64 on some systems
}
