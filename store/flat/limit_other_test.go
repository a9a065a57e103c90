//go:build !unix

package flat

import (
	"errors"
	"testing"
)

var errFileTooLarge = errors.ErrUnsupported

func limitFileSize(t *testing.T, _ uint64) { t.Skip("files cannot be limited") }
