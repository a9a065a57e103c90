package flat

import (
	"cmp"
	"context"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/memcore/memcore/internal/varint"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/internal/disk"
)

// A snapshot is an open generation, safe for concurrent use. The next one shares its slices and
// appends beyond their length here.
type snapshot struct {
	manifest
	number uint64 // 0 if there is no generation
	folder string

	log     *log
	vectors rows
	codes   rows
	table   table
	entry   []uint32 // of a row: number of its entry
	place   []uint32 // of a row
	places  []place
	dead    bitmap

	verified atomic.Pointer[verified]
}

// A table has all entries of a generation.
type table []byte

func (t table) entry(at int) entry {
	return entry(t[at*entrySize : (at+1)*entrySize])
}

// A log is shared by the snapshots of growing files.
type log struct {
	records *os.File
	file    fs.FileInfo // of records; while that is open, no other file is the same
	ids     ids
	known   placeNumbers
	users   int // snapshots
}

func emptySnapshot(dimension int) *snapshot {
	return &snapshot{
		manifest: manifest{Dimension: dimension}, log: &log{users: 1},
		vectors: newRows(dimension * floatSize), codes: newRows(codeSize(dimension)),
	}
}

// Close implements generation.Snapshot.
func (s *snapshot) Close() error {
	err := errors.Join(s.vectors.leave(), s.codes.leave())
	if s.log.users--; s.log.users == 0 && s.log.records != nil {
		err = errors.Join(err, s.log.records.Close())
	}
	return err
}

// openSnapshot opens a generation; last, if not nil, was open before.
func openSnapshot(last *snapshot, number uint64, folder string, dimension int) (*snapshot, error) {
	if number == 0 {
		return emptySnapshot(dimension), nil
	}
	f, err := openFiles(folder)
	if err != nil {
		return nil, disk.Damaged(err)
	}
	defer f.close()
	if f.Dimension != dimension {
		return nil, store.ErrDimension
	}
	if last == nil || !f.continues(last) {
		last = emptySnapshot(dimension)
		last.log = &log{file: f.recordsInfo, records: f.records}
		f.records = nil // not closed with the others
	}
	s, err := f.extend(last)
	if err != nil {
		if last.log.users == 0 {
			last.log.records.Close()
		}
		return nil, err
	}
	s.number, s.folder = number, folder
	s.Unchanged(folder)
	return s, nil
}

// files are the open files of a generation.
type files struct {
	manifest
	vectors, codes, records, table *os.File
	recordsInfo                    fs.FileInfo
}

func openFiles(folder string) (*files, error) {
	f := &files{}
	err := format.Read(folder, &f.manifest)
	for _, file := range []struct {
		opened **os.File
		name   string
		size   int64
	}{
		{&f.vectors, vectorsFile, f.vectorsSize()},
		{&f.codes, codesFile, f.codesSize()},
		{&f.table, tableFile, f.tableSize()},
		{&f.records, recordsFile, f.Records},
	} {
		if err == nil {
			*file.opened, f.recordsInfo, err = openFile(folder, file.name, file.size)
		}
	}
	if err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// openFile requires the given size. Anything beyond is from a later or failed commit.
func openFile(folder, name string, size int64) (*os.File, fs.FileInfo, error) {
	f, err := os.Open(filepath.Join(folder, name))
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && (size < 0 || info.Size() < size) {
		err = disk.Corrupt("%s has %d bytes, want %d", name, info.Size(), size)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func (f *files) close() {
	for _, file := range []*os.File{f.vectors, f.codes, f.records, f.table} {
		if file != nil {
			file.Close()
		}
	}
}

// continues reports whether the files are last's, perhaps grown.
func (f *files) continues(last *snapshot) bool {
	return last.log.file != nil && os.SameFile(f.recordsInfo, last.log.file) && f.Entries >= last.Entries &&
		f.Rows >= last.Rows && f.Records >= last.Records
}

// extend reads what the files have beyond last.
func (f *files) extend(last *snapshot) (*snapshot, error) {
	added := make([]byte, f.tableSize()-last.tableSize())
	if _, err := f.table.ReadAt(added, last.tableSize()); err != nil {
		return nil, disk.Damaged(err)
	}
	if crc32.Update(last.Checksum, castagnoli, added) != f.Checksum {
		return nil, disk.Corrupt("table has the wrong checksum")
	}
	s := &snapshot{
		manifest: f.manifest, log: last.log, table: append(last.table, added...), entry: last.entry,
		place: last.place, places: last.places, dead: last.dead.clone(f.Rows),
	}
	if err := s.readEntries(last.Entries); err != nil {
		return nil, err
	}
	var err error
	if s.vectors, err = last.vectors.grown(f.vectors, s.Rows); err != nil {
		return nil, err
	}
	if s.codes, err = last.codes.grown(f.codes, s.Rows); err != nil {
		return nil, errors.Join(err, s.vectors.leave())
	}
	s.log.users++
	return s, nil
}

// readEntries reads the table from an entry on.
func (s *snapshot) readEntries(from int) error {
	for at := from; at < s.Entries; at++ {
		e := s.table.entry(at)
		var err error
		switch e.kind() {
		case rowEntry:
			err = s.readRow(at, e)
		case deadEntry:
			err = s.readDead(e)
		case placeEntry:
			at, err = s.readPlace(at, e)
		default:
			err = disk.Corrupt("table has an entry of kind %d", e.kind())
		}
		if err != nil {
			return err
		}
	}
	if len(s.entry) != s.Rows || s.Rows-s.dead.count != s.Live {
		return disk.Corrupt("table has %d rows, %d of them dead; manifest has %d rows, %d live", len(s.entry), s.dead.count, s.Rows, s.Live)
	}
	return nil
}

func (s *snapshot) readRow(at int, e entry) error {
	// In this order: the sum of large numbers may be negative.
	if e.offset() < 0 || e.offset() > s.Records || int64(e.length()) > s.Records-e.offset() {
		return disk.Corrupt("record of row %d lies outside the file", len(s.entry))
	}
	if int(e.number()) >= len(s.places) || len(s.entry) == s.Rows {
		return disk.Corrupt("row %d has place %d of %d", len(s.entry), e.number(), len(s.places))
	}
	s.entry = append(s.entry, uint32(at))
	s.place = append(s.place, e.number())
	return nil
}

func (s *snapshot) readDead(e entry) error {
	row := int(e.number())
	if row >= len(s.entry) || s.dead.has(row) {
		return disk.Corrupt("row %d is deleted twice or before it exists", row)
	}
	s.dead.add(row)
	return nil
}

// readPlace returns the number of the place's last entry.
func (s *snapshot) readPlace(at int, e entry) (int, error) {
	end := at + 1 + padded(e.length())/entrySize
	if end > s.Entries {
		return at, disk.Corrupt("table ends inside a name")
	}
	p, err := decodePlace(s.table[(at+1)*entrySize:][:e.length()])
	if err != nil {
		return at, disk.Damaged(err)
	}
	s.places = append(s.places, p)
	return end - 1, nil
}

func (s *snapshot) row(row int) entry { return s.table.entry(int(s.entry[row])) }

// vector lies inside the mapped file.
func (s *snapshot) vector(row int) []float32 { return floatsOf(s.vectors.between(row, row+1)) }

func (s *snapshot) record(row int) (r store.Record, err error) {
	e := s.row(row)
	b, err := s.readRecord(e)
	if err != nil {
		return r, err
	}
	p := s.places[s.place[row]]
	r = store.Record{ID: e.key().String(), Scope: p.scope, Kind: p.kind, Path: p.path}
	d := varint.Decoder{Rest: b}
	disk.ReadRecord(&d, &r)
	if err := d.End(); err != nil {
		return store.Record{}, disk.Corrupt("record %s: %w", e.key(), err)
	}
	return r, nil
}

// readRecord checks the bytes of a record.
func (s *snapshot) readRecord(e entry) ([]byte, error) {
	b := make([]byte, e.length())
	if _, err := s.log.records.ReadAt(b, e.offset()); err != nil {
		return nil, disk.Damaged(err)
	}
	if checksum(b) != e.recordSum() {
		return nil, disk.Corrupt("record %s has the wrong checksum", e.key())
	}
	return b, nil
}

// Document implements disk.Snapshot.
func (s *snapshot) Document(ctx context.Context, path string) (records []store.Record, err error) {
	places := make([]bool, len(s.places))
	for i, p := range s.places {
		places[i] = p.path == path
	}
	if !slices.Contains(places, true) {
		return nil, nil
	}
	for row, place := range s.place {
		if !places[place] || s.dead.has(row) {
			continue
		}
		r, err := s.record(row)
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, nil
}

// each calls do with each live record and its vector, which lies inside the mapped file.
func (s *snapshot) each(ctx context.Context, do func(store.Record) error) error {
	for row := range s.Rows {
		if s.dead.has(row) {
			continue
		}
		if err := cmp.Or(ctx.Err(), s.checkVector(row)); err != nil {
			return err
		}
		r, err := s.record(row)
		if err != nil {
			return err
		}
		r.Vector = s.vector(row)
		if err := do(r); err != nil {
			return err
		}
	}
	return nil
}

// Count implements disk.Snapshot.
func (s *snapshot) Count() int { return s.Live }

// Stats implements disk.Snapshot.
func (s *snapshot) Stats() (store.Stats, error) {
	return store.Stats{
		Engine: "flat", Records: s.Live, Deleted: s.Rows - s.Live, Fragments: min(1, s.Rows),
		Bytes: s.vectorsSize() + s.codesSize() + s.Records + s.tableSize(),
	}, nil
}

// A bitmap is a set of rows.
type bitmap struct {
	words []uint64
	count int
}

// clone copies the set, with room for n rows.
func (b bitmap) clone(n int) bitmap {
	words := make([]uint64, (n+63)/64)
	copy(words, b.words)
	return bitmap{words, b.count}
}

func (b *bitmap) has(row int) bool { return b.words[row/64]&(1<<(row%64)) != 0 }

func (b *bitmap) add(row int) {
	b.words[row/64] |= 1 << (row % 64)
	b.count++
}
