// Package harness runs the built memcore for tests that attack it as a whole, and reports their
// figures.
//
//   - A [Home] is a user's home and workspace; [Home.Serve] starts servers in it.
//   - A [Machine] is a home whose state can be saved, compared and restored, for tests that kill
//     memcore or fail its system calls.
//   - A [Load] is a home with many processes, on Linux.
//
// Each test has a short form, and a long one in `make torture`, which writes a table of rows.
package harness

import (
	"encoding/json"
	"os"
	"testing"
	"time"
)

// Settings of the environment.
const (
	// LengthVariable is "full" for the long form.
	LengthVariable = "MEMCORE_TORTURE"
	// RowsVariable names a file for rows as JSON lines.
	RowsVariable = "MEMCORE_TORTURE_ROWS"
)

// Full reports whether the long form is wanted.
func Full() bool { return os.Getenv(LengthVariable) == "full" }

// Times returns short, or full in the long form.
func Times(short, full int) int {
	if Full() {
		return full
	}
	return short
}

// For returns short, or full in the long form.
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
	Failed bool   `json:"failed"` // the test had failed before
}

// Report logs a row and appends it to the file of RowsVariable. It marks rows of failed tests.
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
		t.Fatalf("open the file of rows, %s: %v", RowsVariable, err)
	}
	_, err = file.Write(append(line, '\n')) // one write, since several processes append
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		t.Fatalf("write a row: %v", err)
	}
}
