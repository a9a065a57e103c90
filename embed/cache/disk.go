package cache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

const (
	suffix   = ".v1.vectors"
	lockWait = time.Second // for a file lock, which is held for milliseconds
	lockPoll = 5 * time.Millisecond
	chunk    = 1 << 20 // bytes read at once when records are looked for
)

// disk is the shelf of document vectors: one file and, in memory, where in it each key is.
//
// Whoever changes the file holds the lock file; whoever reads holds nothing, and therefore believes
// a record only by its checksum. The file is opened anew each time, so one that another process
// replaced or removed is noticed.
type disk struct {
	path  string
	sum   [sha256.Size]byte // of the fingerprint
	max   int64             // bytes; negative: no bound
	known func() int        // the dimension vectors must have; 0: any
	turn  turn

	mu      sync.Mutex
	file    os.FileInfo       // the file that the rest is about; nil: none
	dim     int               // of its vectors; 0: it has none
	want    int               // the dimension of what is being put, in case the header does not tell
	slots   map[uint64]uint32 // key.short to number of the record
	end     int64             // behind the last whole record that slots knows
	size    int64
	corrupt int64
	evicted int64
}

func newDisk(dir, fingerprint string, max int64, known func() int) *disk {
	sum := sha256.Sum256([]byte(fingerprint))
	path := filepath.Join(dir, slug(fingerprint)+"-"+hex.EncodeToString(sum[:8])+suffix)
	return &disk{path: path, sum: sum, max: max, known: known, turn: newTurn(path + ".turn")}
}

// slug is the part of a file's name that is for people.
func slug(fingerprint string) string {
	clean := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '_'
	}, fingerprint)
	return strings.Trim(clean[:min(len(clean), 40)], ".")
}

func (d *disk) enter(ctx context.Context) (leave func()) { return d.turn.enter(ctx) }

// get reads what there is. An unreadable file is an empty one.
func (d *disk) get(items []item, found map[key][]float32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, err := os.Open(d.path)
	if err != nil {
		d.forget()
		return
	}
	defer f.Close()
	if d.refresh(f) != nil || !d.fits() {
		return
	}
	record := make([]byte, recordSize(d.dim))
	for _, it := range items {
		if v := d.read(f, it.key, record); v != nil {
			found[it.key] = v
		}
	}
}

// fits says whether what is stored is of the dimension that vectors must have.
func (d *disk) fits() bool {
	dim := d.known()
	return dim == 0 || d.dim == dim
}

// read returns the vector of k, or nil. A record that is not what it was is forgotten.
func (d *disk) read(f *os.File, k key, record []byte) []float32 {
	slot, ok := d.slots[k.short()]
	if !ok {
		return nil
	}
	_, err := f.ReadAt(record, d.offset(slot))
	if err == nil {
		if v := vectorOf(record, k); v != nil {
			return v
		}
		if sealed(record) { // of another key with the same beginning
			return nil
		}
	}
	d.corrupt++
	delete(d.slots, k.short())
	return nil
}

func (d *disk) offset(slot uint32) int64 {
	return int64(headerSize) + int64(slot)*int64(recordSize(d.dim))
}

// put appends vectors that are not there yet, all or none of them.
func (d *disk) put(items []item, vecs [][]float32) error {
	unlock, err := d.lock()
	if err != nil {
		return err
	}
	defer unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	f, err := d.open(len(vecs[0]))
	if err != nil {
		return err
	}
	defer func() { f.Close() }()
	items, data := d.encode(items, vecs)
	if d.max >= 0 && d.end+int64(len(data)) > d.max {
		if f, err = d.shrink(f, int64(len(data))); err != nil {
			return err
		}
	}
	return d.append(f, items, data)
}

// lock takes the right to change the file, waiting for whoever has it.
func (d *disk) lock() (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	lock := flock.New(d.path + ".lock")
	if _, err := lock.TryLockContext(ctx, lockPoll); err != nil {
		return nil, fmt.Errorf("lock %s: %w", lock.Path(), err)
	}
	return func() { lock.Close() }, nil
}

// open returns the file, ready for appending at d.end: with a header of dim, and nothing broken at
// its end. Callers hold the lock, so what is broken is not just being written.
func (d *disk) open(dim int) (*os.File, error) {
	f, err := os.OpenFile(d.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	d.want = dim
	if err := d.prepare(f, dim); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (d *disk) prepare(f *os.File, dim int) error {
	if err := d.refresh(f); err != nil {
		return err
	}
	if d.dim != dim { // it was, or is, another model's: start again
		if err := f.Truncate(0); err != nil {
			return err
		}
		d.forget()
		d.size = 0
	}
	if d.header(f) != dim {
		if _, err := f.WriteAt(encodeHeader(d.sum, dim), 0); err != nil {
			return err
		}
		if err := d.refresh(f); err != nil {
			return err
		}
	}
	return d.trim(f)
}

// trim cuts off what follows the last whole record.
func (d *disk) trim(f *os.File) error {
	if d.size == d.end {
		return nil
	}
	size := int64(recordSize(d.dim))
	d.corrupt += (d.size - d.end + size - 1) / size
	if err := f.Truncate(d.end); err != nil {
		return err
	}
	d.size = d.end
	return nil
}

// encode returns the items that are not stored yet, and their records.
func (d *disk) encode(items []item, vecs [][]float32) (fresh []item, data []byte) {
	for i, it := range items {
		if _, ok := d.slots[it.key.short()]; !ok {
			fresh, data = append(fresh, it), appendRecord(data, it.key, vecs[i])
		}
	}
	return fresh, data
}

// append writes records behind the last whole one. There is no fsync: what a power cut takes is
// embedded again, and the checksums tell.
func (d *disk) append(f *os.File, items []item, data []byte) error {
	if _, err := f.WriteAt(data, d.end); err != nil {
		return errors.Join(err, f.Truncate(d.end))
	}
	next := uint32((d.end - int64(headerSize)) / int64(recordSize(d.dim)))
	for i, it := range items {
		d.slots[it.key.short()] = next + uint32(i)
	}
	d.end += int64(len(data))
	d.size = d.end
	return nil
}

func (d *disk) forget() {
	d.file, d.dim, d.end, d.size, d.slots = nil, 0, 0, 0, nil
}

// refresh learns what f holds beyond what is known already: all of it if f is another file, or
// shorter, than last time.
func (d *disk) refresh(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	dim := d.header(f)
	if d.file == nil || !os.SameFile(d.file, info) || info.Size() < d.end || dim > 0 && dim != d.dim {
		d.forget()
	}
	d.file, d.size = info, info.Size()
	if d.dim == 0 && d.size >= int64(headerSize) {
		d.begin(dim)
	}
	if d.dim == 0 {
		return nil
	}
	return d.scan(f)
}

// header returns the dimension that f's header tells, 0 if it is damaged.
func (d *disk) header(f *os.File) int {
	header := make([]byte, headerSize)
	if n, _ := f.ReadAt(header, 0); n < headerSize {
		return 0
	}
	return decodeHeader(header, d.sum)
}

// begin prepares for the first scan of a file. If its header is damaged, its records may still be
// good: their dimension is known from elsewhere most of the time, and each has its own checksum.
func (d *disk) begin(dim int) {
	if dim == 0 {
		dim = d.known()
	}
	if dim == 0 {
		dim = d.want
	}
	d.dim, d.end, d.slots = dim, int64(headerSize), make(map[uint64]uint32)
}

// scan finds the whole records behind d.end. Broken ones are skipped; those at the very end may be
// in the middle of being written, and are looked at again next time.
func (d *disk) scan(f *os.File) error {
	size := recordSize(d.dim)
	buf := make([]byte, 0, min(int64(max(chunk/size, 1)), (d.size-d.end)/int64(size))*int64(size))
	broken := int64(0)
	for at := d.end; at+int64(size) <= d.size; at += int64(len(buf)) {
		n := min(int64(cap(buf)), (d.size-at)/int64(size)*int64(size))
		buf = buf[:n]
		if _, err := f.ReadAt(buf, at); err != nil && err != io.EOF {
			return err
		}
		for i := 0; i < len(buf); i += size {
			if !sealed(buf[i : i+size]) {
				broken++
				continue
			}
			offset := at + int64(i)
			d.slots[key(buf[i:i+keySize]).short()] = uint32((offset - int64(headerSize)) / int64(size))
			d.end = offset + int64(size)
			d.corrupt, broken = d.corrupt+broken, 0
		}
	}
	return nil
}

func (d *disk) dimension() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.fits() {
		return 0
	}
	return d.dim
}

func (d *disk) stats() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	return Stats{Corrupt: d.corrupt, Evicted: d.evicted, Records: int64(len(d.slots)), Bytes: d.size}
}
