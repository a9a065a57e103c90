//go:build !linux && !darwin && !windows

package safefile

import (
	"errors"
	"os"
)

func exchange(*os.Root, string, string) error { return errors.ErrUnsupported }

func noWriter(file *os.File) (release func() (still bool), err error) { return unmodified(file) }
