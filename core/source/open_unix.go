//go:build unix

package source

import "syscall"

// openNonblock keeps open from waiting for the other end if a file has become a pipe.
const openNonblock = syscall.O_NONBLOCK
