package daemon

import (
	"os/exec"
	"syscall"
)

// owned trusts the folder: the user's own have access lists of their own.
func owned(string) error { return nil }

const detachedProcess = 0x8

// detach lets a process live on when this one ends, without a console.
func detach(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detachedProcess}
}
