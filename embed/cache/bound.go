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

// tidy is done once, on Open: it reads the file, marks it by its time as in use, and makes room in
// the folder.
func (d *disk) tidy() {
	d.get(nil, nil)
	now := time.Now()
	os.Chtimes(d.path, now, now)
	d.bound()
}

// bound removes files of other fingerprints, those first that were opened longest ago, until the
// folder is within its bound, and what a crash left of a rewrite. Whoever still uses a removed file
// starts a new one.
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

// others are the files of other fingerprints, oldest first, and total is the size of all files.
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

// shrink rewrites f with its newest records only, so that need more bytes leave it at three
// quarters of its bound, and returns the new file. The rename is what counts: a crash leaves the
// old file or the new one. Callers hold the lock. On error, f may be closed already.
func (d *disk) shrink(f *os.File, need int64) (*os.File, error) {
	if int64(headerSize)+need > d.max {
		return f, errTooLarge
	}
	fresh := d.path + ".new"
	kept, err := d.copyNewest(f, fresh, d.max/4*3-need)
	f.Close() // Windows renames over no open file
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

// copyNewest writes to path as many of the newest records as fit in room bytes.
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

// copySlots writes a header and the whole ones among the records in slots.
func (d *disk) copySlots(from, to *os.File, slots []uint32) (kept int64, err error) {
	w := bufio.NewWriterSize(to, chunk)
	w.Write(encodeHeader(d.sum, d.dim)) // w remembers its first error until Flush
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
