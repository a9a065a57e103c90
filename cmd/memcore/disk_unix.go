//go:build linux || darwin

package main

import "golang.org/x/sys/unix"

// freeSpace is how many bytes the disk of a folder has left for this user.
func freeSpace(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil
}
