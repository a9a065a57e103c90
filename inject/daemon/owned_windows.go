package daemon

import (
	"os"
	"os/exec"
	"syscall"
)

func trustworthy(program string) bool {
	_, err := os.Stat(program)
	return err == nil
}

const detachedProcess = 0x8

func detach(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detachedProcess}
}
