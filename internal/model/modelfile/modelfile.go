// Package modelfile reads and writes the file of the built-in model: a first line, the vocabulary,
// the weights.
package modelfile

import (
	"encoding/binary"
	"fmt"

	"github.com/memcore/memcore/internal/model/weights"
)

// The shape of all-MiniLM-L6-v2, of which positions beyond 256 are left out.
const (
	Layers     = 6
	Positions  = 256
	Vocabulary = 30522
)

// Shape is that of the weights.
var Shape = weights.Shape{Layers: Layers, Positions: Positions, Vocabulary: Vocabulary, WordBits: 8}

// A File is the content.
type File struct {
	Words   string // the vocabulary in the order of its ids, each word followed by a newline
	Weights *weights.Model
}

// magic names the format and its version.
const magic = "memcore minilm 2\n"

// Parse returns a File that refers to data, which must not change. Errors are weights.ErrFormat.
func Parse(data []byte) (File, error) {
	if len(data) < len(magic)+4 || string(data[:len(magic)]) != magic {
		return File{}, fmt.Errorf("%w: it does not start with %q", weights.ErrFormat, magic)
	}
	data = data[len(magic):]
	n := binary.LittleEndian.Uint32(data)
	if data = data[4:]; uint64(n) > uint64(len(data)) {
		return File{}, fmt.Errorf("%w: a vocabulary of %d bytes is longer than the file", weights.ErrFormat, n)
	}
	m, err := weights.Parse(Shape, data[n:])
	if err != nil {
		return File{}, err
	}
	return File{string(data[:n]), m}, nil
}

// Append appends the file. It panics if a part has a wrong length.
func (f File) Append(data []byte) []byte {
	data = append(data, magic...)
	data = binary.LittleEndian.AppendUint32(data, uint32(len(f.Words)))
	return f.Weights.Append(append(data, f.Words...))
}
