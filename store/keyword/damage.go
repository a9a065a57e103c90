package keyword

import (
	"fmt"
	"runtime/debug"

	"github.com/memcore/memcore/store"
)

// recoverDamage turns what damage does to Bleve's readers into ErrCorrupt: they trust offsets in a
// file and panic if those lead nowhere, and touching a mapped file that was cut short is a fault.
// Use: defer recoverDamage(&err)().
func recoverDamage(err *error) func() {
	before := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(before)
		if cause := recover(); cause != nil {
			*err = fmt.Errorf("%w: %v", store.ErrCorrupt, cause)
		}
	}
}
