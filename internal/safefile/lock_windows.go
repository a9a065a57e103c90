package safefile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/windows"
)

// lockFolder lets one swap at a time work in a folder. It waits at most longest, and reports
// whether it is alone.
//
// A folder cannot be locked, so the lock is a named event that exists: whoever makes it has the
// lock, and the system removes it with its last handle, also after a crash.
func lockFolder(folder *os.Root, longest time.Duration) (unlock func(), alone bool) {
	path, err := filepath.Abs(folder.Name())
	if err != nil {
		return func() {}, false
	}
	name, err := windows.UTF16PtrFromString(`Global\memcore-` + sumOf([]byte(strings.ToLower(path))))
	if err != nil {
		return func() {}, false
	}
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		event, err := windows.CreateEvent(nil, 1, 0, name)
		if err == nil {
			return func() { _ = windows.CloseHandle(event) }, true
		}
		if event != 0 { // it exists
			_ = windows.CloseHandle(event)
		}
		taken := errors.Is(err, windows.ERROR_ALREADY_EXISTS) || errors.Is(err, windows.ERROR_ACCESS_DENIED)
		if !taken || time.Since(began) >= longest {
			return func() {}, false
		}
	}
}
