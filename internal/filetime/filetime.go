// Package filetime tells when files have changed, whatever clocks and programs say.
package filetime

import (
	"io/fs"
	"time"
)

// Changed is when the system says that content or attributes of a file were changed last. Programs can set the time of a file's
// content, and those that copy or restore do; this one they cannot. The zero time is for systems that do not tell.
func Changed(info fs.FileInfo) time.Time { return Fit(changed(info)) }

// Modified is when the content of a file was changed last, as Fit makes it.
func Modified(info fs.FileInfo) time.Time { return Fit(info.ModTime()) }

// Times between which Fit leaves all as they are.
var (
	earliest = time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC) // the zero time means that none is known
	latest   = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
)

// Fit returns the nearest time that can be written as text: file systems keep years beyond 9999, which JSON refuses. The zero time
// stays what it is.
func Fit(t time.Time) time.Time {
	switch {
	case t.IsZero():
		return t
	case t.Before(earliest):
		return earliest
	case t.After(latest):
		return latest
	}
	return t
}

// soon is how soon after a writing the time of a file may not tell of another one: clocks of file systems go by steps, and networks
// add theirs.
const soon = 100 * time.Millisecond

// Doubtful tells whether a file that was written and looked at at these times may have been written to again after the look, and bear the same
// time. A time far in the future, which a clock that was put back leaves behind, is as good as one in the past.
func Doubtful(written, looked time.Time) bool { return looked.Sub(written).Abs() < soon }
