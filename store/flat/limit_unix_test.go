//go:build unix

package flat

import (
	"os/signal"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const errFileTooLarge = syscall.EFBIG

// limitFileSize limits the size of this process's files.
func limitFileSize(t *testing.T, size uint64) {
	signal.Ignore(syscall.SIGXFSZ)
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: 1 << 40}))
}
