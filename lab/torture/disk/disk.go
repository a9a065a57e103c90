// Package disk runs memcore on full and read-only disks: in a mount namespace with a small tmpfs
// and read-only mounts, and as a user without write access. It needs Linux.
package disk
