// Package disk runs memcore on a disk that is full or read-only: in a mount namespace of its own, on a small tmpfs and behind read-only
// mounts, and as a user whom folders do not let write. Its tests are for Linux.
package disk
