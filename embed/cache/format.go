package cache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"math"

	"github.com/memcore/memcore/embed"
)

// The file: a header, then records of one size, only appended. Numbers are little endian. The
// version is in the file's name.
//
//	header  magic [8], dimension uint32, SHA-256 of the fingerprint [32], CRC-32 of all that
//	record  SHA-256 of kind and text [32], the vector as float32s, CRC-32 of all that
//
// Records are at fixed positions, so a damaged one hides no other. The checksum shows one that is
// half written.
const (
	magic      = "MCvecs\r\n"
	keySize    = sha256.Size
	crcSize    = 4
	headerSize = len(magic) + 4 + sha256.Size + crcSize
	maxDim     = 1 << 16 // a header with more is damaged
)

// A key is the SHA-256 of kind and text.
type key [keySize]byte

func keyOf(kind embed.Kind, text string) key {
	h := sha256.New()
	h.Write([]byte{byte(kind)})
	h.Write([]byte(text))
	return key(h.Sum(nil))
}

// short is the part of a key in memory. Of two keys that share it, one is embedded each time:
// records are compared in full.
func (k key) short() uint64 { return binary.LittleEndian.Uint64(k[:]) }

func recordSize(dim int) int { return keySize + 4*dim + crcSize }

func encodeHeader(print [sha256.Size]byte, dim int) []byte {
	b := append(make([]byte, 0, headerSize), magic...)
	b = binary.LittleEndian.AppendUint32(b, uint32(dim))
	b = append(b, print[:]...)
	return seal(b, 0)
}

// decodeHeader returns the dimension; 0 if b is not print's header.
func decodeHeader(b []byte, print [sha256.Size]byte) int {
	if len(b) != headerSize || !sealed(b) || !bytes.HasPrefix(b, []byte(magic)) ||
		!bytes.Equal(b[len(magic)+4:headerSize-crcSize], print[:]) {
		return 0
	}
	dim := binary.LittleEndian.Uint32(b[len(magic):])
	if dim > maxDim {
		return 0
	}
	return int(dim)
}

func appendRecord(b []byte, k key, v []float32) []byte {
	start := len(b)
	b = append(b, k[:]...)
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return seal(b, start)
}

// vectorOf returns nil unless record is an intact one of k.
func vectorOf(record []byte, k key) []float32 {
	if !sealed(record) || !bytes.Equal(record[:keySize], k[:]) {
		return nil
	}
	v := make([]float32, (len(record)-keySize-crcSize)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(record[keySize+4*i:]))
	}
	return v
}

// seal appends the checksum of b[start:].
func seal(b []byte, start int) []byte {
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b[start:]))
}

func sealed(b []byte) bool {
	body := b[:len(b)-crcSize]
	return binary.LittleEndian.Uint32(b[len(body):]) == crc32.ChecksumIEEE(body)
}
