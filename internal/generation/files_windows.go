package generation

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/windows"
)

func transient(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, fs.ErrPermission)
}
