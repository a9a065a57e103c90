//go:build unix

package daemon

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"github.com/memcore/memcore/internal/private"
)

// shared is where a folder of each user can stand, under a short path that does not depend on the environment.
func shared() string { return "/tmp" }

// owned refuses a folder that somebody else could have made to be found in place of the user's own, or put something into: a link in the place of a file, say.
func owned(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("daemon: %w", err)
	}
	if !info.IsDir() || !private.IsOwn(info) || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("daemon: %s is not a folder that only its owner, who has to be you, can write to; look at what is in it, and remove it", dir)
	}
	return nil
}

// trustworthy tells whether nobody but the user and the system's owner can have put a program there.
func trustworthy(program string) bool {
	info, err := os.Stat(program)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o022 != 0 {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && (private.IsOwn(info) || stat.Uid == 0)
}

// detach lets a process live on when this one ends, and gives it none of this one's files: whoever waits for the end of a pipe would wait for it.
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
