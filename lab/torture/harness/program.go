package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

var program struct {
	once sync.Once
	path string
	err  error
}

// Program builds memcore once a test process and returns its path.
func Program(t testing.TB) string {
	t.Helper()
	program.once.Do(func() {
		var dir string
		if dir, program.err = os.MkdirTemp("", "memcore-torture-"); program.err != nil {
			return
		}
		program.path = filepath.Join(dir, "memcore")
		if runtime.GOOS == "windows" {
			program.path += ".exe"
		}
		var root string
		if root, program.err = productRoot(); program.err != nil {
			return
		}
		// In the product's module, with the versions that it names. Git refuses another user's
		// checkout, which would fail go build.
		out, err := exec.Command("go", "-C", root, "build", "-buildvcs=false", "-o", program.path, "./cmd/memcore").CombinedOutput()
		if err != nil {
			program.err = fmt.Errorf("building memcore: %w\n%s", err, out)
		}
	})
	if program.err != nil {
		t.Fatal(program.err)
	}
	return program.path
}

// productRoot returns the folder of the product's module.
func productRoot() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/memcore/memcore").Output()
	if err != nil {
		return "", fmt.Errorf("finding the source of memcore with go list -m: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Main runs the tests and removes the program. TestMain ends with os.Exit(harness.Main(m)).
func Main(m *testing.M) int {
	code := m.Run()
	if program.path != "" {
		os.RemoveAll(filepath.Dir(program.path))
	}
	return code
}
