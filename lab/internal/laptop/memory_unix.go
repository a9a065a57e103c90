//go:build unix

package laptop

import (
	"os"
	"syscall"
)

// mostMemory is what an ended process held at most, in KB.
func mostMemory(state *os.ProcessState) int64 {
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		return usage.Maxrss
	}
	return 0
}
