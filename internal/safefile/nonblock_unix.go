//go:build unix

package safefile

import "syscall"

// Nonblock keeps open from waiting for the other end of a pipe.
const Nonblock = syscall.O_NONBLOCK
