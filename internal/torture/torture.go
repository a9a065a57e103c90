// Package torture is what the tests that attack memcore as a whole have in common: how long they go on,
// the program they attack, and where they write down what they counted.
//
// Each test runs in a short form with all the others, and in a long one in `make torture`, which makes
// the table in docs/reliability.md of their rows.
package torture

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"
)

// Settings of the environment.
const (
	// LengthVariable set to "full" asks for the long form.
	LengthVariable = "MEMCORE_TORTURE"
	// RowsVariable names the file that gets a line of JSON for each row.
	RowsVariable = "MEMCORE_TORTURE_ROWS"
)

// Full tells whether the long form is asked for.
func Full() bool { return os.Getenv(LengthVariable) == "full" }

// Times is how often to do a thing: short, or full in the long form.
func Times(short, full int) int {
	if Full() {
		return full
	}
	return short
}

// For is how long to go on: short, or full in the long form.
func For(short, full time.Duration) time.Duration {
	if Full() {
		return full
	}
	return short
}

// A Row is a line of the table.
type Row struct {
	Part   string `json:"part"`   // the part of the attack, as "kill -9" or "full disk"
	Case   string `json:"case"`   // what was attacked, as "memcore save"
	Count  int    `json:"count"`  // how often
	Unit   string `json:"unit"`   // of what, as "kills"
	Result string `json:"result"` // what came of it, in a few words
	Failed bool   `json:"failed"` // the test had failed when it said so
}

// Report writes a row into the test's log and, when it is asked for, into the file of rows. A test that
// has failed already reports a failed row.
func Report(t testing.TB, row Row) {
	t.Helper()
	row.Failed = t.Failed()
	t.Logf("torture: %s: %s: %d %s: %s", row.Part, row.Case, row.Count, row.Unit, row.Result)
	name := os.Getenv(RowsVariable)
	if name == "" {
		return
	}
	line, err := json.Marshal(row)
	if err != nil {
		t.Fatalf("torture: %v", err)
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatalf("torture: opening the file of rows, %s of %s: %v", name, RowsVariable, err)
	}
	_, err = file.Write(append(line, '\n')) // one write: tests of several processes add to it
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		t.Fatalf("torture: writing a row: %v", err)
	}
}

var program struct {
	once sync.Once
	path string
	err  error
}

// Program builds the memcore of this tree, once in a test process, and returns its path. Its folder is
// removed by [Main].
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
		// git tells nobody of a checkout that is another user's, and go builds nothing then.
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

// Main runs the tests and then removes the program, for a TestMain that ends with os.Exit(torture.Main(m)).
func Main(m *testing.M) int {
	code := m.Run()
	if program.path != "" {
		os.RemoveAll(filepath.Dir(program.path))
	}
	return code
}
