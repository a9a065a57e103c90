package overload

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

// Errors of reading a body.
var (
	ErrLarge = errors.New("the body is too large: larger than")
	ErrFull  = errors.New("the service holds too much of other requests")
	ErrSlow  = errors.New("the body comes too slowly")
)

// Bodies bounds the memory of bodies. It is safe for concurrent use.
type Bodies struct {
	// Most is in bytes. A quarter is for small bodies.
	Most int64
	// Within also bounds these bodies, with others; may be nil.
	Within *Bodies

	mu   sync.Mutex
	held int64
}

// take reserves n more bytes if it can.
func (b *Bodies) take(n, read int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	most := b.Most
	if read+n > smallBody {
		most -= most / 4
	}
	if b.held+n > most || b.Within != nil && !b.Within.take(n, read) {
		return false
	}
	b.held += n
	return true
}

// Held returns the bytes of all bodies.
func (b *Bodies) Held() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

func (b *Bodies) give(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= n
	if b.Within != nil {
		b.Within.give(n)
	}
}

// Sizes in bytes.
const (
	firstPart = 8 << 10  // reserved first; each further part doubles it
	smallBody = 64 << 10 // at most
)

// Read reads a body of at most most bytes within wait (ErrSlow). The caller calls free once, even
// after an error. With ErrLarge and ErrFull, data is the beginning.
func (b *Bodies) Read(w http.ResponseWriter, r *http.Request, most int64, wait time.Duration) (data []byte, free func(), err error) {
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Now().Add(wait)) // fails for recorders of tests
	var taken int64
	free = func() { b.give(taken) }
	for {
		if int64(len(data)) > most {
			return data, free, tooLarge(most)
		}
		if len(data) == cap(data) {
			part := min(max(int64(cap(data)), firstPart), most+1-int64(len(data)))
			if !b.take(part, int64(len(data))) {
				return data, free, ErrFull
			}
			taken += part
			data = append(make([]byte, 0, int64(len(data))+part), data...)
		}
		n, err := r.Body.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err == io.EOF { // else the deadline also ends the rest
			_ = out.SetReadDeadline(time.Time{})
		}
		switch {
		case err == io.EOF && int64(len(data)) > most:
			return data, free, tooLarge(most)
		case err == io.EOF:
			return data, free, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return data, free, fmt.Errorf("%w: not all of it within %v: %w", ErrSlow, wait, err)
		case err != nil:
			return data, free, err
		}
	}
}

func tooLarge(most int64) error { return fmt.Errorf("%w %d bytes", ErrLarge, most) }
