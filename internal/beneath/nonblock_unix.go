//go:build unix

package beneath

import "syscall"

// Nonblock keeps open from waiting for the other end if a file has become a pipe.
const Nonblock = syscall.O_NONBLOCK
