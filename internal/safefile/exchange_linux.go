package safefile

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// exchange exchanges two files in one step.
func exchange(folder *os.Root, a, b string) error {
	dir, err := folder.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	err = unix.Renameat2(int(dir.Fd()), a, int(dir.Fd()), b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // as over NFS
		return fmt.Errorf("exchange: %w", errors.ErrUnsupported)
	}
	return os.NewSyscallError("exchange", err)
}

// noWriter returns errWriter if a program has the file open for writing. Otherwise release reports
// whether none has since. A kernel lease knows both; see fcntl(2).
func noWriter(file *os.File) (release func() (still bool), err error) {
	lease := func(command, kind int) (int, error) { return unix.FcntlInt(file.Fd(), command, kind) }
	_, err = lease(unix.F_SETLEASE, unix.F_RDLCK)
	switch {
	case errors.Is(err, unix.EAGAIN):
		return nil, errWriter
	case err != nil: // the file system or the owner of the file does not allow it
		return unmodified(file)
	}
	return func() bool {
		time.Sleep(time.Millisecond) // a program may be about to open what it found by its old name
		kind, err := lease(unix.F_GETLEASE, 0)
		_, _ = lease(unix.F_SETLEASE, unix.F_UNLCK)
		return err == nil && kind == unix.F_RDLCK
	}, nil
}
