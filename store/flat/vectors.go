package flat

import (
	"math"
	"unsafe"
)

const floatSize = 4

// bytesOf shows numbers as they are in memory and in the file.
func bytesOf(vec []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(vec))), len(vec)*floatSize)
}

// floatsOf is the other way round; rows of a mapped file lie at multiples of four.
func floatsOf(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/floatSize)
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
