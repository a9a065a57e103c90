package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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
		// git refuses another user's checkout, which would fail go build.
		out, err := exec.Command("go", "build", "-buildvcs=false", "-o", program.path, "github.com/memcore/memcore/cmd/memcore").CombinedOutput()
		if err != nil {
			program.err = fmt.Errorf("building memcore: %w\n%s", err, out)
		}
	})
	if program.err != nil {
		t.Fatal(program.err)
	}
	return program.path
}

// Main runs the tests and removes the program. TestMain ends with os.Exit(harness.Main(m)).
func Main(m *testing.M) int {
	code := m.Run()
	if program.path != "" {
		os.RemoveAll(filepath.Dir(program.path))
	}
	return code
}
