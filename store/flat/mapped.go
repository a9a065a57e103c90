package flat

import (
	"errors"
	"fmt"
	"os"

	"github.com/blevesearch/mmap-go"
)

// A rows is a memory-mapped file in chunks, which snapshots share: after an append, only the last
// is mapped again.
type rows struct {
	size   int // of a row in bytes
	per    int // rows in a full chunk
	chunks []*chunk
}

type chunk struct {
	mapped mmap.MMap
	users  int // snapshots
}

const (
	// mapUnit divides the offsets of mappings on all systems.
	mapUnit = 1 << 16
	// chunkSize is a chunk's approximate or least size.
	chunkSize = 8 << 20
)

// newRows returns no rows of a size. Chunks begin at multiples of mapUnit.
func newRows(size int) rows {
	a, b := mapUnit, size
	for b != 0 {
		a, b = b, a%b
	}
	least := mapUnit / a // rows whose size is a multiple of mapUnit
	return rows{size: size, per: least * max(1, chunkSize/(least*size))}
}

// grown maps n rows, sharing r's complete chunks.
func (r rows) grown(f *os.File, n int) (rows, error) {
	next := rows{size: r.size, per: r.per}
	for first := 0; first < n; first += r.per {
		size := min(r.per, n-first) * r.size
		c, err := r.chunk(f, len(next.chunks), size)
		if err != nil {
			return rows{}, errors.Join(err, next.leave())
		}
		c.users++
		next.chunks = append(next.chunks, c)
	}
	return next, nil
}

// chunk returns a chunk, r's if of this size.
func (r rows) chunk(f *os.File, i, size int) (*chunk, error) {
	if i < len(r.chunks) && len(r.chunks[i].mapped) == size {
		return r.chunks[i], nil
	}
	mapped, err := mmap.MapRegion(f, size, mmap.RDONLY, 0, int64(i)*int64(r.per)*int64(r.size))
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", f.Name(), err)
	}
	return &chunk{mapped: mapped}, nil
}

// leave ends a use of each chunk. Calls must not overlap.
func (r rows) leave() (err error) {
	for _, c := range r.chunks {
		if c.users--; c.users == 0 {
			err = errors.Join(err, c.mapped.Unmap())
		}
	}
	return err
}

// between returns rows of one chunk, inside the mapped file.
func (r rows) between(lo, hi int) []byte {
	at := lo % r.per
	return r.chunks[lo/r.per].mapped[at*r.size : (at+hi-lo)*r.size]
}

// end returns the end of the row's chunk.
func (r rows) end(row int) int { return (row/r.per + 1) * r.per }
