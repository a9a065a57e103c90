package weights

import "encoding/binary"

// Words are the embeddings of the vocabulary, a row of Hidden numbers each.
//
// Of 8 bits a number is a signed byte, and 64 share a scale. Of 4 bits, 32 share a scale; byte i of
// their 16 holds numbers i, in its lower half, and i+16, both plus 8 (llama.cpp's Q4_0).
type Words struct {
	Codes  []byte
	Scales []byte // in half precision, little-endian
	Bits   int
}

const (
	byteGroup   = 64
	nibbleGroup = 32
	nibbleZero  = 8
)

// WordGroup is how many numbers of a word of 8 bits share a scale.
const WordGroup = byteGroup

func (w *Words) visit(v visitor, s Shape) {
	w.Bits = s.WordBits
	v.codes(&w.Codes, s.Vocabulary*w.rowBytes())
	v.codes(&w.Scales, s.Vocabulary*w.rowScales()*2)
}

func (w *Words) rowBytes() int { return Hidden * w.Bits / 8 }

func (w *Words) rowScales() int {
	if w.Bits == 4 {
		return Hidden / nibbleGroup
	}
	return Hidden / byteGroup
}

// Row sets row, of Hidden numbers, to the embedding of a token.
func (w *Words) Row(row []float32, id int) {
	codes := w.Codes[id*w.rowBytes():][:w.rowBytes()]
	scales := w.Scales[id*w.rowScales()*2:][:w.rowScales()*2]
	if w.Bits == 4 {
		nibbles(row, codes, scales)
		return
	}
	for i, c := range codes {
		row[i] = float32(int8(c)) * scaleAt(scales, i/byteGroup)
	}
}

func nibbles(row []float32, codes, scales []byte) {
	for group := range len(scales) / 2 {
		scale := scaleAt(scales, group)
		to := row[group*nibbleGroup:][:nibbleGroup]
		for i, c := range codes[group*nibbleGroup/2:][:nibbleGroup/2] {
			to[i] = float32(int(c&15)-nibbleZero) * scale
			to[i+nibbleGroup/2] = float32(int(c>>4)-nibbleZero) * scale
		}
	}
}

func scaleAt(scales []byte, i int) float32 {
	return Half(binary.LittleEndian.Uint16(scales[2*i:]))
}

// AppendHalf appends v in half precision; see RoundHalf.
func AppendHalf(b []byte, v float32) []byte { return binary.LittleEndian.AppendUint16(b, toHalf(v)) }
