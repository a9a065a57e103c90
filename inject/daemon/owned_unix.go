//go:build unix

package daemon

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"github.com/memcore/memcore/internal/userdir"
)

// trustworthy reports whether only the user and root can change a program.
func trustworthy(program string) bool {
	info, err := os.Stat(program)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o022 != 0 {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && (userdir.IsOwn(info) || stat.Uid == 0)
}

// detach lets a process outlive this one. Pipes are closed: their readers would wait.
func detach(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return
	}
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}
