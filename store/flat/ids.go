package flat

import (
	"bytes"
	"hash/maphash"
	"sync"
)

// ids finds rows by ID in a hash table, filled on first use.
type ids struct {
	mu     sync.Mutex
	newest *snapshot // with the most rows so far; only its table counts
	slots  []uint32  // row + 1, or 0; a power of two of them
	filled int       // rows taken in
}

var seed = maphash.MakeSeed()

// find returns the live rows of known keys.
func (x *ids) find(s *snapshot, keys []key) map[key]int {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.grow(s)
	rows := make(map[key]int, len(keys))
	for _, k := range keys {
		row := int(x.slots[x.slot(k[:])]) - 1
		if row >= s.Rows { // put again in a later generation
			row = s.lookFor(k)
		}
		if row >= 0 && !s.dead.has(row) {
			rows[k] = row
		}
	}
	return rows
}

// grow adds the rows of s.
func (x *ids) grow(s *snapshot) {
	if x.newest == nil || s.Rows > x.newest.Rows {
		x.newest = s
	}
	if size := slotsFor(x.newest.Rows); len(x.slots) < size {
		x.slots, x.filled = make([]uint32, size), 0
	}
	for ; x.filled < x.newest.Rows; x.filled++ {
		x.slots[x.slot(x.newest.row(x.filled).keyBytes())] = uint32(x.filled) + 1
	}
}

// slotsFor keeps at least half of the slots free.
func slotsFor(rows int) int {
	size := 16
	for size < 2*rows {
		size *= 2
	}
	return size
}

// slot returns a key's slot, or the free one for it.
func (x *ids) slot(k []byte) int {
	mask := len(x.slots) - 1
	at := int(maphash.Bytes(seed, k)) & mask
	for x.slots[at] != 0 && !bytes.Equal(x.newest.row(int(x.slots[at])-1).keyBytes(), k) {
		at = (at + 1) & mask
	}
	return at
}

// lookFor scans for the live row of a key, else -1.
func (s *snapshot) lookFor(k key) int {
	for row := range s.Rows {
		if !s.dead.has(row) && bytes.Equal(s.row(row).keyBytes(), k[:]) {
			return row
		}
	}
	return -1
}

// placeNumbers is filled and grows like ids.
type placeNumbers struct {
	mu  sync.Mutex
	all map[place]uint32
}

func (x *placeNumbers) find(s *snapshot, p place) (number uint32, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.all == nil {
		x.all = make(map[place]uint32, len(s.places))
	}
	for n := len(x.all); n < len(s.places); n++ {
		x.all[s.places[n]] = uint32(n)
	}
	number, ok = x.all[p]
	return number, ok && int(number) < len(s.places)
}
