//go:build !windows

package beneath

import (
	"errors"
	"os"
	"syscall"
)

// syncFolder makes the names in a folder durable, where the file system knows such a thing.
func syncFolder(folder *os.Root) error {
	file, err := folder.Open(".")
	if err != nil {
		return err
	}
	err = file.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, file.Close())
}
