// Package intercept runs a program whose file system calls are stopped before the kernel makes them, so that a
// test can let each of them pass, fail with an error of its choice, or be the last moment of the process.
//
// It uses seccomp's user notification, so it needs Linux 5.19, no rights, and nothing that has to be installed. A
// test binary that uses it calls [Launch] first of all in its TestMain.
package intercept

import "syscall"

// A Kind is a set of system calls.
type Kind int

// Kinds of calls.
const (
	// Writes are the calls that change files or folders, or open files for that, and those that flush them.
	Writes Kind = iota
	// Reads are the calls that open and read files and folders.
	Reads
)

// A Call is a system call that is about to be made.
type Call struct {
	Name string // as in the manual, such as "renameat"
	// Path is the file that it is about, absolute; of a rename or a link, the new name. "" if it could not be told.
	Path string
}

// An Action is what becomes of a call. The zero Action lets it pass.
type Action struct {
	Fail syscall.Errno // the call is not made, and returns this error
	Kill bool          // the process is killed with SIGKILL before the call is made
}
