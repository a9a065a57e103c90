//go:build !unix

package cputime

import "time"

var start = time.Now()

// used is wall time where there is no getrusage.
func used() time.Duration { return time.Since(start) }
