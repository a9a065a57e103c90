package flat

import (
	"encoding/binary"
	"strings"

	"github.com/memcore/memcore/internal/varint"
	"github.com/memcore/memcore/store/internal/disk"
)

const entrySize = 64

// An entry is one line of the table: little-endian, by kind
//
//	rowEntry:    day 1:4, place 4:8; of the record: offset 8:16, length 16:20, checksum 20:24;
//	             key 24:57, checksum of the code 57:60, of the vector 60:64
//	deadEntry:   row 4:8
//	placeEntry:  length 16:20, followed by that many bytes, filled up with zeros to whole entries
//
// where the first byte is the kind and all others are zero. Rows and places are numbered from 0 in
// the order of their entries.
type entry []byte

const (
	rowEntry byte = iota + 1
	deadEntry
	placeEntry
)

func (e entry) kind() byte           { return e[0] }
func (e entry) day() disk.Day        { return disk.Day(uint32(e[1]) | uint32(e[2])<<8 | uint32(e[3])<<16) }
func (e entry) number() uint32       { return binary.LittleEndian.Uint32(e[4:]) } // place or row
func (e entry) offset() int64        { return int64(binary.LittleEndian.Uint64(e[8:])) }
func (e entry) length() int          { return int(binary.LittleEndian.Uint32(e[16:])) }
func (e entry) recordSum() uint32    { return binary.LittleEndian.Uint32(e[20:]) }
func (e entry) key() key             { return key(e[24 : 24+keySize]) }
func (e entry) keyBytes() []byte     { return e[24 : 24+keySize] }
func (e entry) codeSum() uint32      { return uint32(e[57]) | uint32(e[58])<<8 | uint32(e[59])<<16 }
func (e entry) vectorSum() uint32    { return binary.LittleEndian.Uint32(e[60:]) }
func (e entry) setOffset(at int64)   { binary.LittleEndian.PutUint64(e[8:], uint64(at)) }
func (e entry) setNumber(n uint32)   { binary.LittleEndian.PutUint32(e[4:], n) }
func (e entry) setLength(length int) { binary.LittleEndian.PutUint32(e[16:], uint32(length)) }

func newRowEntry(k key, d disk.Day, record []byte, vectorSum uint32) entry {
	e := make(entry, entrySize)
	e[0] = rowEntry
	e[1], e[2], e[3] = byte(d), byte(d>>8), byte(d>>16)
	e.setLength(len(record))
	binary.LittleEndian.PutUint32(e[20:], checksum(record))
	copy(e[24:], k[:])
	binary.LittleEndian.PutUint32(e[60:], vectorSum)
	return e
}

// codeSumOf folds a code's checksum into an entry's three bytes.
func codeSumOf(c Code) uint32 {
	sum := checksum(c)
	return (sum ^ sum>>24) & (1<<24 - 1)
}

func (e entry) setCodeSum(sum uint32) { e[57], e[58], e[59] = byte(sum), byte(sum>>8), byte(sum>>16) }

func newDeadEntry(row uint32) entry {
	e := make(entry, entrySize)
	e[0] = deadEntry
	e.setNumber(row)
	return e
}

func newPlaceEntry(p place) entry {
	text := p.encode()
	e := make(entry, entrySize, entrySize+padded(len(text)))
	e[0] = placeEntry
	e.setLength(len(text))
	e = append(e, text...)
	return e[:cap(e)]
}

func padded(n int) int { return (n + entrySize - 1) / entrySize * entrySize }

// A key is an ID, two digits a byte, and its length. Keys sort like IDs.
type key [keySize]byte

const (
	keySize   = 33
	maxDigits = 64
)

// keyOf packs an ID.
func keyOf(id string) (k key) {
	for i := range len(id) {
		k[i/2] |= byte(strings.IndexByte(digits, id[i])) << (4 * (1 - i%2))
	}
	k[keySize-1] = byte(len(id))
	return k
}

const digits = "0123456789abcdef"

func (k key) String() string {
	id := make([]byte, min(int(k[keySize-1]), maxDigits))
	for i := range id {
		id[i] = digits[k[i/2]>>(4*(1-i%2))&15]
	}
	return string(id)
}

func (k key) valid() bool { id := k.String(); return disk.ValidID(id) && keyOf(id) == k }

// A place is what a document's records share.
type place struct{ scope, kind, path string }

func (p place) encode() []byte {
	var e varint.Encoder
	e.Texts(p.scope, p.kind, p.path)
	return e
}

func decodePlace(b []byte) (place, error) {
	d := varint.Decoder{Rest: b}
	p := place{d.Text(), d.Text(), d.Text()}
	return p, d.End()
}
