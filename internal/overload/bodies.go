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
	ErrLarge = errors.New("the body is too large")
	ErrFull  = errors.New("the service holds as much of other requests as it can")
	ErrSlow  = errors.New("the body does not come")
)

// Bodies bounds what requests hold in memory together. It is safe for concurrent use.
type Bodies struct {
	// Most is how many bytes all bodies may have together. A quarter is kept for small ones, so that large ones shut nobody out.
	Most int64

	mu   sync.Mutex
	held int64
}

// take reserves n more bytes for a body of which there are so many, unless that would be too many.
func (b *Bodies) take(n, there int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	most := b.Most
	if there+n > smallBody {
		most -= most / 4
	}
	if b.held+n > most {
		return false
	}
	b.held += n
	return true
}

// Held is how many bytes all bodies have now.
func (b *Bodies) Held() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

func (b *Bodies) give(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= n
}

// firstPart is what is reserved and read of a body first, in bytes; each further part is as large as what there is.
const firstPart = 8 << 10

// smallBody is the size up to which a body is small, in bytes.
const smallBody = 64 << 10

// Read reads the body of a request, of most bytes at most, which has to come within wait. What it holds counts until free is called, which has to be, once,
// whatever the error. With ErrLarge and ErrFull data is what was read, and the rest is still to be read from the request; ErrSlow is wrapped in that
// of the connection, others are.
func (b *Bodies) Read(w http.ResponseWriter, r *http.Request, most int64, wait time.Duration) (data []byte, free func(), err error) {
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Now().Add(wait)) // a recorder of a test has none
	defer func() { _ = out.SetReadDeadline(time.Time{}) }()
	var taken int64
	free = func() { b.give(taken) }
	for {
		if int64(len(data)) > most {
			return data, free, ErrLarge
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
		switch {
		case err == io.EOF && int64(len(data)) > most:
			return data, free, ErrLarge
		case err == io.EOF:
			return data, free, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return data, free, fmt.Errorf("%w: not all of it within %v: %w", ErrSlow, wait, err)
		case err != nil:
			return data, free, err
		}
	}
}
