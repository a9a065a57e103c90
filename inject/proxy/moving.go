package proxy

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/memcore/memcore/internal/web/overload"
)

// moving returns the body of a request, of any length. Something must come of it within each wait
// (overload.ErrSlow). late reports whether the last wait is over: net/http cancels the request
// then, which others may see before the error.
func moving(w http.ResponseWriter, r *http.Request, wait time.Duration) (body io.ReadCloser, late func() bool) {
	if r.Body == nil || r.Body == http.NoBody { // a deadline would end the request itself
		return r.Body, func() bool { return false }
	}
	t := &timed{ReadCloser: r.Body, out: http.NewResponseController(w), wait: wait}
	t.limit(time.Now().Add(wait))
	return t, t.late
}

// A timed body has a deadline until its end: later, it would end the request itself.
type timed struct {
	io.ReadCloser
	out  *http.ResponseController
	wait time.Duration

	mu     sync.Mutex
	end    time.Time // zero for none
	closed bool      // others may read from the connection
}

// limit sets the deadline, which recorders of tests do not have.
func (t *timed) limit(end time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.end = end
		_ = t.out.SetReadDeadline(end)
	}
}

func (t *timed) late() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.end.IsZero() && !time.Now().Before(t.end)
}

// Read implements io.Reader.
func (t *timed) Read(p []byte) (int, error) {
	t.limit(time.Now().Add(t.wait))
	n, err := t.ReadCloser.Read(p)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return n, fmt.Errorf("%w: nothing more of it within %v: %w", overload.ErrSlow, t.wait, err)
	case err != nil:
		t.limit(time.Time{})
	}
	return n, err
}

// Close implements io.Closer.
func (t *timed) Close() error {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	return t.ReadCloser.Close()
}
