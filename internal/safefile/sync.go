package safefile

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

// SyncFolder makes the names in a folder durable, if the file system can. Windows cannot flush a
// folder; NTFS keeps its names in a journal.
func SyncFolder(path string) error {
	return syncFolder(os.Open, path)
}

// syncFolder syncs the names in a folder that open opens.
func syncFolder(open func(string) (*os.File, error), name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := open(name)
	if err != nil {
		return err
	}
	err = folder.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, folder.Close())
}
