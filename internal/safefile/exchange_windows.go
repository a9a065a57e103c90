package safefile

import (
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/windows"
)

var replaceFile = windows.NewLazySystemDLL("kernel32.dll").NewProc("ReplaceFileW")

// exchange puts a in the place of b in one step, then gives b a's name. Windows refuses it while a
// program has b open for writing. ErrChanged means that b is no file any more.
func exchange(folder *os.Root, a, b string) error {
	if info, err := folder.Lstat(b); err != nil {
		return err
	} else if !info.Mode().IsRegular() { // it would follow a link, or fail without saying why
		return ErrChanged
	}
	aside := a + "~"
	var names [3]*uint16
	for i, name := range []string{b, a, aside} {
		name, err := windows.UTF16PtrFromString(filepath.Join(folder.Name(), name))
		if err != nil {
			return err
		}
		names[i] = name
	}
	done, _, err := replaceFile.Call(uintptr(unsafe.Pointer(names[0])), uintptr(unsafe.Pointer(names[1])), uintptr(unsafe.Pointer(names[2])), 0, 0, 0)
	if done == 0 {
		return os.NewSyscallError("ReplaceFile", err)
	}
	return folder.Rename(aside, a)
}

func noWriter(file *os.File) (release func() (still bool), err error) { return unmodified(file) }
