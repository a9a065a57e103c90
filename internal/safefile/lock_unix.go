//go:build linux || darwin

package safefile

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lockFolder lets one swap at a time work in a folder. It waits at most longest, and reports
// whether it is alone.
func lockFolder(folder *os.Root, longest time.Duration) (unlock func(), alone bool) {
	dir, err := folder.Open(".")
	if err != nil {
		return func() {}, false
	}
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		err := unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil || err != unix.EWOULDBLOCK || time.Since(began) >= longest {
			return func() { dir.Close() }, err == nil
		}
	}
}
