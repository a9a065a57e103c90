// Package harness runs the built memcore for tests that attack it as a whole.
//
//   - A [Home] is a user's home and workspace; [Home.Serve] starts servers in it.
//   - A [Machine] is a home whose state can be saved, compared and restored, for tests that kill
//     memcore or fail its system calls.
//   - A [Load] is a home with many processes, on Linux.
//
// Each test has a short form, and a long one in `make -C lab torture`.
package harness

import (
	"os"
	"time"
)

// LengthVariable is the environment variable that is "full" for the long form.
const LengthVariable = "MEMCORE_TORTURE"

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
