// Package syscalls fails memcore's system calls one by one: writing, flushing, renaming and opening
// with EIO or ENOSPC, once or from then on, and reading with EIO. It needs Linux.
package syscalls
