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
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

const (
	suffix   = ".v1.vectors"
	lockWait = time.Second // for a file lock, usually held for milliseconds
	lockPoll = 5 * time.Millisecond
	chunk    = 1 << 20 // bytes read at once in a scan
)

// A disk keeps the vectors of documents in a file, with its index in memory.
//
// Writers hold a lock file. Readers do not, so they check each record's checksum. Each call opens
// the file, which another process may have replaced.
type disk struct {
	path  string
	sum   [sha256.Size]byte // of the fingerprint
	max   int64             // bytes; negative: no bound
	known func() int        // dimension that vectors must have; 0: any

	mu      sync.Mutex
	looked  bool              // at the file, since Open
	file    os.FileInfo       // that the rest describes; nil: none
	dim     int               // of its vectors; 0: no vectors
	slots   map[uint64]uint32 // key.short to number of the record
	end     int64             // end of the last intact record in slots
	size    int64
	corrupt int64
}

func newDisk(dir, fingerprint string, max int64, known func() int) *disk {
	sum := sha256.Sum256([]byte(fingerprint))
	path := filepath.Join(dir, slug(fingerprint)+"-"+hex.EncodeToString(sum[:8])+suffix)
	return &disk{path: path, sum: sum, max: max, known: known}
}

// slug is the readable part of a file's name.
func slug(fingerprint string) string {
	clean := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '_'
	}, fingerprint)
	return strings.Trim(clean[:min(len(clean), 40)], ".")
}

// get treats an unreadable file as empty.
func (d *disk) get(items []item, found map[key][]float32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.look()
	if f == nil {
		return
	}
	defer f.Close()
	if !d.fits() {
		return
	}
	record := make([]byte, recordSize(d.dim))
	for _, it := range items {
		if v := d.read(f, it.key, record); v != nil {
			found[it.key] = v
		}
	}
}

// look reads what is new in the file and returns it, or nil if it cannot be read.
func (d *disk) look() *os.File {
	d.looked = true
	f, err := os.Open(d.path)
	if err != nil {
		d.forget()
		return nil
	}
	if d.refresh(f) != nil {
		f.Close()
		return nil
	}
	return f
}

// lookOnce reads the file unless a call has done so. Open does not: a process that embeds a
// question alone needs none of it, and a year's vectors take longer to read.
func (d *disk) lookOnce() {
	if d.looked {
		return
	}
	if f := d.look(); f != nil {
		f.Close()
	}
}

// fits reports whether vectors have the required dimension.
func (d *disk) fits() bool {
	dim := d.known()
	return d.dim > 0 && (dim == 0 || d.dim == dim)
}

// read forgets a damaged record.
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
		if sealed(record) { // of another key: another process has started the file over
			d.forget()
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

// errTooLarge means that the bound is less than one batch.
var errTooLarge = errors.New("a batch of vectors is larger than the bound of the cache")

// put appends vectors that are missing, all or nothing. If the file gets too large, it starts over
// with these.
func (d *disk) put(items []item, vecs [][]float32) error {
	unlock, err := d.lock()
	if err != nil {
		return err
	}
	defer unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.looked = true
	f, err := d.open(len(vecs[0]))
	if err != nil {
		return err
	}
	defer f.Close()
	fresh, data := d.encode(items, vecs)
	if d.max >= 0 && d.end+int64(len(data)) > d.max {
		if int64(headerSize+len(items)*recordSize(d.dim)) > d.max {
			return errTooLarge
		}
		if err := d.startOver(f, d.dim); err != nil {
			return err
		}
		fresh, data = d.encode(items, vecs)
	}
	return d.append(f, fresh, data)
}

// lock locks the file for writing.
func (d *disk) lock() (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	lock := flock.New(d.path + ".lock")
	if _, err := lock.TryLockContext(ctx, lockPoll); err != nil {
		return nil, fmt.Errorf("lock %s: %w", lock.Path(), err)
	}
	return func() { lock.Close() }, nil
}

// open returns the file, ready for appending at d.end: with a header of dim and no broken record.
// The caller holds the lock, so no process is writing one.
func (d *disk) open(dim int) (*os.File, error) {
	f, err := os.OpenFile(d.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
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
	if d.dim != dim { // new, damaged, or another model's
		if err := d.startOver(f, dim); err != nil {
			return err
		}
	}
	return d.trim(f)
}

// startOver leaves only a header.
func (d *disk) startOver(f *os.File, dim int) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	if _, err := f.WriteAt(encodeHeader(d.sum, dim), 0); err != nil {
		return err
	}
	return d.refresh(f)
}

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

// encode returns the missing items and their records.
func (d *disk) encode(items []item, vecs [][]float32) (fresh []item, data []byte) {
	for i, it := range items {
		if _, ok := d.slots[it.key.short()]; !ok {
			fresh, data = append(fresh, it), appendRecord(data, it.key, vecs[i])
		}
	}
	return fresh, data
}

// append writes after the last intact record, without fsync: checksums show what a power cut has
// destroyed.
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

// refresh reads f's new records, or all if f is new or damaged.
func (d *disk) refresh(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	header := make([]byte, headerSize)
	n, _ := f.ReadAt(header, 0)
	dim := decodeHeader(header[:n], d.sum)
	if d.file == nil || !os.SameFile(d.file, info) || info.Size() < d.end || dim != d.dim {
		d.dim, d.end, d.slots = dim, int64(headerSize), map[uint64]uint32{}
	}
	d.file, d.size = info, info.Size()
	if dim == 0 {
		return nil
	}
	return d.scan(f)
}

// scan finds intact records after d.end and skips broken ones, but reads those at the very end
// again next time: a writer may not be done.
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
	if d.lookOnce(); !d.fits() {
		return 0
	}
	return d.dim
}

func (d *disk) stats() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lookOnce()
	return Stats{Corrupt: d.corrupt, Records: int64(len(d.slots)), Bytes: d.size}
}

// tidy runs on Open: it updates the file's time, and removes files of other fingerprints until the
// folder is within its bound, the least recently opened first. Their users start new ones.
func (d *disk) tidy() {
	now := time.Now()
	os.Chtimes(d.path, now, now)
	others, total := d.others()
	for _, o := range others {
		if d.max < 0 || total <= d.max {
			return
		}
		if os.Remove(filepath.Join(filepath.Dir(d.path), o.Name())) == nil {
			total -= o.Size()
		}
	}
}

// others returns the other fingerprints' files, oldest first, and the size of all.
func (d *disk) others() (others []os.FileInfo, total int64) {
	entries, _ := os.ReadDir(filepath.Dir(d.path))
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !strings.HasSuffix(e.Name(), suffix) {
			continue
		}
		total += info.Size()
		if e.Name() != filepath.Base(d.path) {
			others = append(others, info)
		}
	}
	slices.SortFunc(others, func(a, b os.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	return others, total
}
