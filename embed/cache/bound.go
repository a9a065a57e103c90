package cache

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// tidy runs on Open: it reads the file, updates its time, and makes room in the folder.
func (d *disk) tidy() {
	d.get(nil, nil)
	now := time.Now()
	os.Chtimes(d.path, now, now)
	d.bound()
}

// bound removes what a crash left of a rewrite, then files of other fingerprints until the folder
// is within its bound, the least recently opened first. Their users start new ones.
func (d *disk) bound() {
	if lock := flock.New(d.path + ".lock"); locked(lock) {
		os.Remove(d.path + ".new")
		lock.Close()
	}
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

func locked(lock *flock.Flock) bool {
	ok, err := lock.TryLock()
	return ok && err == nil
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

var errTooLarge = errors.New("a batch of vectors is larger than the bound of the cache")

// shrink rewrites f with its newest records and, with need more bytes, fills three quarters of its
// bound. A crash leaves the old file or the new one. The caller holds the lock. On error, f may be
// closed.
func (d *disk) shrink(f *os.File, need int64) (*os.File, error) {
	if int64(headerSize)+need > d.max {
		return f, errTooLarge
	}
	fresh := d.path + ".new"
	kept, err := d.copyNewest(f, fresh, d.max/4*3-need)
	f.Close() // Windows cannot replace an open file
	if err != nil {
		os.Remove(fresh)
		return f, err
	}
	before := int64(len(d.slots))
	if err := os.Rename(fresh, d.path); err != nil {
		os.Remove(fresh)
		return f, err
	}
	d.evicted += before - kept
	return d.open(d.dim)
}

func (d *disk) copyNewest(f *os.File, path string, room int64) (kept int64, err error) {
	size := int64(recordSize(d.dim))
	slots := make([]uint32, 0, len(d.slots))
	for _, slot := range d.slots {
		slots = append(slots, slot)
	}
	slices.Sort(slots)
	n := max(room-int64(headerSize), 0) / size
	slots = slots[max(int64(len(slots))-n, 0):]
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	kept, err = d.copySlots(f, to, slots)
	return kept, errors.Join(err, to.Sync(), to.Close())
}

func (d *disk) copySlots(from, to *os.File, slots []uint32) (kept int64, err error) {
	w := bufio.NewWriterSize(to, chunk)
	w.Write(encodeHeader(d.sum, d.dim)) // Flush returns w's first error
	record := make([]byte, recordSize(d.dim))
	for _, slot := range slots {
		if _, err := from.ReadAt(record, d.offset(slot)); err != nil {
			return 0, err
		}
		if sealed(record) {
			w.Write(record)
			kept++
		}
	}
	return kept, w.Flush()
}
