// Package intercept stops a program's file system calls before the kernel makes them. A test lets
// each pass, fail with an error, or kill the process.
//
// It uses seccomp's user notification (Linux 5.19), without rights or installation. `strace -e
// inject` cannot replace it: it counts by thread, so that "the n-th call" of a Go program fails
// once in each, and selects files by exact path. A test binary calls [Launch] first in TestMain.
package intercept

import "syscall"

// A Kind is a set of system calls.
type Kind int

// Kinds of calls.
const (
	// Writes change files or folders, open files for writing, or flush them.
	Writes Kind = iota
	// Reads open and read files and folders.
	Reads
)

// A Call is about to be made.
type Call struct {
	Name string // as in the manual, such as "renameat"
	// Path is absolute; for a rename or link the new name; "" if unknown.
	Path string
}

// An Action decides a call. The zero Action lets it pass.
type Action struct {
	Skip bool          // the call is not made, and returns 0
	Fail syscall.Errno // the call is not made, and returns this error
	Kill bool          // the process is killed with SIGKILL before the call is made
}
