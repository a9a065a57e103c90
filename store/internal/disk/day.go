package disk

import (
	"time"

	"github.com/memcore/memcore/store"
)

// A Day is a day of UTC: from 1, in 1970 and before, to LastDay.
type Day uint32

const (
	NoDay   Day = 0         // of a time that is not known
	LastDay Day = 1<<24 - 1 // fits three bytes
)

// DayOf returns the day of a time.
func DayOf(t time.Time) Day {
	if t.IsZero() {
		return NoDay
	}
	return Day(max(1, min(t.Unix()/(24*60*60)+1, int64(LastDay))))
}

// Days returns the first and last day that may pass; those between pass whole.
func Days(f store.Filter) (first, last Day) {
	first, last = 1, LastDay
	if !f.Since.IsZero() {
		first = DayOf(f.Since)
	}
	if !f.Until.IsZero() {
		last = DayOf(f.Until)
	}
	return first, last
}
