// Package filetime finds out whether files have changed.
package filetime

import (
	"io/fs"
	"os"
	"time"
)

// Changed returns when content or attributes changed last, which programs cannot set. It is zero on
// systems without it.
func Changed(info fs.FileInfo) time.Time { return fit(changed(info)) }

// Modified returns when content changed last.
func Modified(info fs.FileInfo) time.Time { return fit(info.ModTime()) }

// Times that JSON can have. The zero time means unknown.
var (
	earliest = time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC)
	latest   = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
)

// fit returns the nearest such time, zero for zero.
func fit(t time.Time) time.Time {
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

// Same reports whether a and b are one unchanged file.
func Same(a, b fs.FileInfo) bool {
	return a != nil && b != nil && os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// soon exceeds the clock steps of file systems.
const soon = 100 * time.Millisecond

// Doubtful reports whether a write after the time looked may leave a file's time at written. A time
// far in the future is fine.
func Doubtful(written, looked time.Time) bool { return looked.Sub(written).Abs() < soon }
