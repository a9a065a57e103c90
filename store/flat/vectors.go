package flat

import (
	"errors"
	"fmt"
	"math"
	"os"
	"unsafe"

	"github.com/edsrzf/mmap-go"
)

// A chunk is a run of rows, memory-mapped. Chunks are shared by snapshots: when rows are appended,
// only the last one, which they are appended to, is mapped anew.
type chunk struct {
	mapped mmap.MMap
	rows   []float32
	users  int // snapshots; guarded by Index.mu
}

const (
	// mapUnit is what offsets of mappings have to be multiples of, on all systems.
	mapUnit = 1 << 16
	// chunkSize is about how large a chunk is.
	chunkSize = 8 << 20
)

// rowsPerChunk is how many rows a full chunk has: such that chunks begin at multiples of mapUnit.
func rowsPerChunk(dimension int) int {
	unit := mapUnit / floatSize
	a, b := unit, dimension
	for b != 0 {
		a, b = b, a%b
	}
	least := unit / a // rows whose bytes are a multiple of mapUnit
	return least * max(1, chunkSize/(least*dimension*floatSize))
}

// mapVectors maps the rows of the file, sharing the chunks of old that have not grown.
func mapVectors(f *os.File, rows, dimension int, old []*chunk) (chunks []*chunk, err error) {
	per := rowsPerChunk(dimension)
	for first := 0; first < rows; first += per {
		n := min(per, rows-first)
		i := len(chunks)
		if i < len(old) && len(old[i].rows) == n*dimension {
			chunks = append(chunks, old[i])
		} else {
			c, err := mapChunk(f, int64(first)*int64(dimension)*floatSize, n*dimension)
			if err != nil {
				return nil, errors.Join(err, leaveChunks(chunks))
			}
			chunks = append(chunks, c)
		}
		chunks[i].users++
	}
	return chunks, nil
}

func mapChunk(f *os.File, offset int64, floats int) (*chunk, error) {
	mapped, err := mmap.MapRegion(f, floats*floatSize, mmap.RDONLY, 0, offset)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", f.Name(), err)
	}
	return &chunk{mapped: mapped, rows: unsafe.Slice((*float32)(unsafe.Pointer(&mapped[0])), floats)}, nil
}

// leaveChunks ends one use of each chunk.
func leaveChunks(chunks []*chunk) (err error) {
	for _, c := range chunks {
		if c.users--; c.users == 0 {
			c.rows = nil
			err = errors.Join(err, c.mapped.Unmap())
		}
	}
	return err
}

// bytesOf shows numbers as they are in memory and in the file.
func bytesOf(vec []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(vec))), len(vec)*floatSize)
}

// tolerance is how far the length of a vector may be from 1.
const tolerance = 1e-3

// unit returns a copy of vec scaled to length 1, and the length it had; nil if that has no meaning.
func unit(vec []float32) (scaled []float32, length float64) {
	square := 0.0
	for _, x := range vec {
		square += float64(x) * float64(x)
	}
	length = math.Sqrt(square)
	if length == 0 || math.IsNaN(length) || math.IsInf(length, 0) {
		return nil, length
	}
	scaled = make([]float32, len(vec))
	for i, x := range vec {
		scaled[i] = float32(float64(x) / length)
	}
	return scaled, length
}
