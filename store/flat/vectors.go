package flat

import "unsafe"

const floatSize = 4

// bytesOf returns numbers as in the file, without a copy.
func bytesOf(vec []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(vec))), len(vec)*floatSize)
}

// floatsOf is the reverse. Mapped rows begin at multiples of four.
func floatsOf(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/floatSize)
}
