// Package syscalls lets the system calls of memcore fail, one after the other: writing, flushing, renaming and opening with EIO or
// ENOSPC, once or from then on, and reading with EIO. Its tests are for Linux.
package syscalls
