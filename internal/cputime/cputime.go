// Package cputime measures processor time, for tests of how work grows: unlike wall time it is
// about the same on a busy machine.
package cputime

import "time"

// Least returns the least processor time of several runs. It counts the whole process, so nothing
// else may run in it.
func Least(runs int, work func()) time.Duration {
	least := time.Duration(1<<63 - 1)
	for range runs {
		before := used()
		work()
		least = min(least, used()-before)
	}
	return least
}
