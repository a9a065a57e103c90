package cache

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// An Exchange copies the vectors of documents between the caches of several machines. It is safe
// for concurrent use.
type Exchange struct {
	disk *disk

	mu    sync.Mutex
	known map[uint64]bool // key.short of records that the others have
	next  int64           // number of the record to look at next
}

// Records are vectors with the hashes of their texts, as a cache stores them.
type Records struct {
	Bytes     []byte
	Dimension int // length of the vectors
	Count     int // of records; Import need not know it
}

// And returns both. The second may be empty.
func (r Records) And(more Records) Records {
	return Records{append(r.Bytes, more.Bytes...), max(r.Dimension, more.Dimension), r.Count + more.Count}
}

// each calls do with each intact record.
func (r Records) each(do func(k key, record []byte)) {
	for size, rest := recordSize(r.Dimension), r.Bytes; len(rest) >= size; rest = rest[size:] {
		if sealed(rest[:size]) {
			do(key(rest[:keySize]), rest[:size])
		}
	}
}

// NewExchange returns an exchange for a cache. The others are taken to have nothing.
func NewExchange(c *Cache) *Exchange { return &Exchange{disk: c.disk, known: map[uint64]bool{}} }

// Name is equal for caches whose vectors fit each other: those of one embedder.
func (e *Exchange) Name() string { return filepath.Base(e.disk.path) }

// Import adds what Export of another machine returned. It skips damaged records.
func (e *Exchange) Import(r Records) error {
	if r.Dimension < 1 || r.Dimension > maxDim || len(r.Bytes)%recordSize(r.Dimension) != 0 {
		return errors.New("these are no vectors of a cache")
	}
	var items []item
	var vectors [][]float32
	r.each(func(k key, record []byte) {
		items, vectors = append(items, item{key: k}), append(vectors, vectorOf(record, k))
	})
	if len(items) == 0 {
		return nil
	}
	if err := e.disk.put(items, vectors); err != nil {
		return err
	}
	e.Exported(r)
	return nil
}

// Export returns records that the others do not have, at most a number. The caller calls Exported
// once the others have them, or Again.
func (e *Exchange) Export(most int) (r Records, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.disk.mu.Lock()
	defer e.disk.mu.Unlock()
	f, err := os.Open(e.disk.path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	defer f.Close()
	if err := e.disk.refresh(f); err != nil || e.disk.dim == 0 {
		return r, err
	}
	r.Dimension = e.disk.dim
	all := (e.disk.end - int64(headerSize)) / int64(recordSize(r.Dimension))
	if e.next > all {
		e.next = 0 // the file was made smaller
	}
	record := make([]byte, recordSize(r.Dimension))
	for ; e.next < all && r.Count < most; e.next++ {
		if _, err := f.ReadAt(record, e.disk.offset(uint32(e.next))); err != nil {
			return Records{}, err
		}
		if sealed(record) && !e.known[key(record[:keySize]).short()] {
			r.Bytes = append(r.Bytes, record...)
			r.Count++
		}
	}
	return r, nil
}

// Exported notes that the others have records.
func (e *Exchange) Exported(r Records) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r.each(func(k key, _ []byte) { e.known[k.short()] = true })
}

// Again makes Export return records once more that the others do not have.
func (e *Exchange) Again() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.next = 0
}
