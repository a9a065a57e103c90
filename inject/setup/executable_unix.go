//go:build !windows

package setup

import "io/fs"

// executableExtensions are what names of executables may end in.
var executableExtensions = []string{""}

func canRun(mode fs.FileMode) bool { return mode&0o111 != 0 }
