package secretfile

import (
	"path/filepath"
	"strings"
	"testing"
)

// A denied path is denied in any spelling and folder.
func FuzzReason(f *testing.F) {
	for _, seed := range []string{"/a/.ssh/id_rsa", "notes/.env", "/proc/1/environ", "a/../.aws/x", "secret.md", "x/./y.pem", "/dev//null", ".SSH", "plain.md"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		reason := Reason(path)
		if strings.ContainsRune(path, 0) || path == "" {
			return
		}
		for _, other := range []string{filepath.Clean(path), "./" + path, "/x/../" + path, strings.ReplaceAll(path, "/", "//"), strings.ReplaceAll(path, "/", "/./")} {
			if filepath.IsAbs(path) != filepath.IsAbs(other) {
				continue
			}
			if reason != "" && filepath.Clean(other) == filepath.Clean(path) && Reason(other) == "" {
				t.Errorf("%q is denied, %q is not", path, other)
			}
		}
		if name := filepath.Base(path); Name(name) != "" && reason == "" && name == path[strings.LastIndexByte(path, '/')+1:] {
			t.Errorf("%q is denied, %q is not", name, path)
		}
		if Name(strings.ToUpper(filepath.Base(path))) == "" && Name(strings.ToLower(filepath.Base(path))) != "" && isASCII(path) {
			t.Errorf("%q is denied in small letters only", path)
		}
	})
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > 127 })
}
