//go:build unix

package static

import (
	"errors"
	"syscall"
)

// notFolder tells that an element of a path is a file.
func notFolder(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
