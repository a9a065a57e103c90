package curated

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/memcore/memcore/internal/paths"
)

// resolveImport returns an import's path, which open must check. The path comes with errKind, too.
func resolveImport(from, name, home string) (string, error) {
	kind := checkName(name, runtime.GOOS == "windows")
	if kind != nil && kind != errKind {
		return "", kind
	}
	switch {
	case strings.HasPrefix(name, "~"):
		if home == "" {
			return "", errors.New("there is no home folder")
		}
		return filepath.Join(home, filepath.FromSlash(name[1:])), kind
	case filepath.IsAbs(name):
		return filepath.Clean(name), kind
	}
	return filepath.Join(from, filepath.FromSlash(name)), kind
}

// checkName refuses paths that must not be looked up, and at last those of other kinds (errKind).
func checkName(name string, windows bool) error {
	switch {
	case len(name) > paths.Longest:
		return fmt.Errorf("its path is too long: %d bytes", len(name))
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return errors.New("its path has control characters in it")
	case strings.Contains(name, "://"):
		return errors.New("addresses cannot be imported, only files")
	case strings.HasPrefix(name, "~") && !strings.HasPrefix(name, "~/") && !(windows && strings.HasPrefix(name, `~\`)):
		return errors.New("files in other users' home folders cannot be imported")
	case !windows && (strings.Contains(name, `\`) || hasDrive(name)):
		return errors.New("its path is that of another system; write it with /")
	}
	if err := checkWindowsName(name); windows && err != nil {
		return err
	}
	if !isMarkdown(name) {
		return errKind
	}
	return nil
}

func hasDrive(name string) bool {
	return len(name) > 1 && name[1] == ':' && (name[0]|0x20 >= 'a' && name[0]|0x20 <= 'z')
}

// checkWindowsName allows only files on a local disk: no other machines, devices, paths relative to
// a drive, streams, or ends that Windows drops
// (https://learn.microsoft.com/windows/win32/fileio/naming-a-file).
func checkWindowsName(name string) error {
	path := strings.ReplaceAll(name, `\`, "/")
	if strings.HasPrefix(path, "//") {
		return errors.New("paths of other machines and devices cannot be imported")
	}
	rest := path
	if hasDrive(path) {
		rest = path[2:]
		if !strings.HasPrefix(rest, "/") {
			return errors.New("its path depends on the current folder of a drive; write the full path")
		}
	} else if strings.HasPrefix(path, "/") {
		return errors.New("its path depends on the current drive; write the full path")
	}
	for element := range strings.SplitSeq(rest, "/") {
		if strings.ContainsAny(element, `:*?"<>|`) {
			return errors.New("its path has characters that no file name has, or names a stream")
		}
		if element != "." && element != ".." && strings.TrimRight(element, ". ") != element {
			return errors.New("its path has an element that ends in a dot or a blank")
		}
		base, _, _ := strings.Cut(strings.ToUpper(element), ".")
		if isDevice(strings.TrimRight(base, " ")) {
			return errors.New("its path names a device")
		}
	}
	return nil
}

func isDevice(name string) bool {
	switch name {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	number, ok := strings.CutPrefix(name, "COM")
	if !ok {
		number, ok = strings.CutPrefix(name, "LPT")
	}
	return ok && len([]rune(number)) == 1 && strings.Contains("0123456789¹²³", number)
}
