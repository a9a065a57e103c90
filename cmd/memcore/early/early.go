// Package early asks the daemon for the answer to a hook before the rest of the program is
// initialised, which takes longer than to ask.
//
// Go initialises first the packages that import least. This one imports little, so its turn comes
// before that of the libraries with large tables. After a plain answer it ends the process; everything
// else it leaves to the command.
package early

import (
	"io"
	"os"
	"time"
)

// MaxEvent is the longest event that is passed on whole, in bytes; the command shortens others.
const MaxEvent = 8 << 20

// EventWait is how long an agent may take to write an event.
const EventWait = 2 * time.Second

// Started is about when the process started.
var Started = time.Now()

// Stdin is standard input, also if some of it was read.
var Stdin io.Reader = os.Stdin

// Began returns when the time of a hook whose event is read began: an agent may start the process
// long before it writes. reading is when the command began to read.
func Began(reading time.Time) time.Time {
	if in, aside := Stdin.(interface{ Ended() time.Time }); aside {
		return in.Ended()
	}
	return Started.Add(time.Since(reading))
}

// An Answer is the daemon's to the hook that this process is.
type Answer struct {
	// ID is of the event, as the daemon knows it; "" if the daemon was not asked.
	ID string
	// Body is what the daemon answered.
	Body []byte
	// Release is the daemon's.
	Release string
	// Err is why there is no answer. It wraps os.ErrDeadlineExceeded if the daemon was late.
	Err error
	// Works says that the daemon has taken the request.
	Works bool
}

// Asked is what the daemon answered before main. The command has to do the rest.
var Asked = ask()
