package flat

import (
	"errors"
	"fmt"
	"os"

	"github.com/edsrzf/mmap-go"
)

// A rows is a memory-mapped file of rows of one size, in chunks. Chunks are shared by snapshots: when
// rows are appended, only the last chunk, which they are appended to, is mapped anew.
type rows struct {
	size   int // bytes of a row
	per    int // rows in a full chunk
	chunks []*chunk
}

type chunk struct {
	mapped mmap.MMap
	users  int // snapshots; guarded by Index.mu
}

const (
	// mapUnit is what offsets of mappings have to be multiples of, on all systems.
	mapUnit = 1 << 16
	// chunkSize is about how large a chunk is, or larger if it has to be.
	chunkSize = 8 << 20
)

// newRows is for rows of the given size; chunks begin at multiples of mapUnit.
func newRows(size int) rows {
	a, b := mapUnit, size
	for b != 0 {
		a, b = b, a%b
	}
	least := mapUnit / a // rows that are a multiple of mapUnit together
	return rows{size: size, per: least * max(1, chunkSize/(least*size))}
}

// grown maps n rows of the file, sharing the chunks of r that have not grown.
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

// chunk returns the i-th chunk of the file, the one r has if it is as large.
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

// leave ends one use of each chunk. The caller holds Index.mu.
func (r rows) leave() (err error) {
	for _, c := range r.chunks {
		if c.users--; c.users == 0 {
			err = errors.Join(err, c.mapped.Unmap())
		}
	}
	return err
}

// between returns the rows from lo up to hi, hi excluded, all in one chunk, inside the mapped file.
func (r rows) between(lo, hi int) []byte {
	at := lo % r.per
	return r.chunks[lo/r.per].mapped[at*r.size : (at+hi-lo)*r.size]
}

// end returns the end of the chunk that row is in.
func (r rows) end(row int) int { return (row/r.per + 1) * r.per }
