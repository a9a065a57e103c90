//go:build unix

package address

import (
	"fmt"
	"os"

	"github.com/memcore/memcore/internal/userdir"
)

// shared returns a folder of all users, with a short path.
func shared() string { return "/tmp" }

// Owned refuses a folder that others may have changed.
func Owned(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("daemon: %w", err)
	}
	if !info.IsDir() || !userdir.IsOwn(info) || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("daemon: %s %w", dir, ErrFolder)
	}
	return nil
}
