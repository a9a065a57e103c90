package flat

import (
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/memcore/memcore/store"
)

// A snapshot is a generation opened for reading. It never changes and may be read by many. What the
// next generation adds to is shared with its snapshot: slices are appended to beyond the length
// they have here, and the log knows more than is in here.
type snapshot struct {
	meta
	number   uint64
	identity fs.FileInfo // of meta; nil for the snapshot of an index that has no generation

	log     *log
	vectors rows
	codes   rows
	table   []byte   // all entries
	entry   []uint32 // of a row: number of its entry
	place   []uint32 // of a row
	places  []place
	dead    bitmap

	verifier *verifier
	users    int // guarded by Index.mu
}

// A log is what snapshots share while the same files grow.
type log struct {
	records *os.File
	file    fs.FileInfo // of records; as long as that is open, no other file is the same
	ids     ids
	known   placeNumbers
	users   int // snapshots; guarded by Index.mu
}

func emptySnapshot(dimension int) *snapshot {
	return &snapshot{
		meta: meta{Dimension: dimension}, log: &log{users: 1}, verifier: &verifier{},
		vectors: newRows(dimension * floatSize), codes: newRows(codeSize(dimension)),
	}
}

// is tells whether s is the given generation: its number, with the same file, which it does not have
// if somebody deleted the index and built another.
func (s *snapshot) is(number uint64, folder string) bool {
	if s == nil || s.identity == nil || s.number != number {
		return false
	}
	now, err := os.Stat(filepath.Join(folder, metaFile))
	return err == nil && os.SameFile(now, s.identity) && now.ModTime().Equal(s.identity.ModTime())
}

// leave ends one use of s; the last one closes it. The caller holds Index.mu.
func (s *snapshot) leave() error {
	if s.users--; s.users > 0 {
		return nil
	}
	return s.release()
}

func (s *snapshot) release() error {
	err := errors.Join(s.vectors.leave(), s.codes.leave())
	if s.log.users--; s.log.users == 0 && s.log.records != nil {
		err = errors.Join(err, s.log.records.Close())
	}
	return err
}

// openSnapshot opens the generation in folder; last, which may be nil, is what was open before.
func openSnapshot(last *snapshot, number uint64, folder string, dimension int) (*snapshot, error) {
	f, err := openFiles(folder)
	if err != nil {
		return nil, err
	}
	defer f.close()
	if f.meta.Generation != number {
		return nil, corrupt("meta is of generation %d, not %d", f.meta.Generation, number)
	}
	if f.meta.Dimension != dimension {
		return nil, store.ErrDimension
	}
	if last == nil || !f.continues(last) {
		last = emptySnapshot(dimension)
		last.log = &log{file: f.recordsInfo, records: f.keepRecords()}
	}
	s, err := f.extend(last)
	if err != nil {
		if last.log.users == 0 {
			last.log.records.Close()
		}
		return nil, err
	}
	s.number, s.identity = number, f.metaInfo
	return s, nil
}

// files are those of a generation, open.
type files struct {
	meta                           meta
	vectors, codes, records, table *os.File
	metaInfo, recordsInfo          fs.FileInfo
}

// openFiles opens the files of a generation and checks their sizes.
func openFiles(folder string) (f *files, err error) {
	f = &files{}
	defer func() {
		if err != nil {
			f.close()
			f, err = nil, damaged(err)
		}
	}()
	if f.metaInfo, err = os.Stat(filepath.Join(folder, metaFile)); err != nil {
		return f, err
	}
	text, err := os.ReadFile(filepath.Join(folder, metaFile))
	if err != nil {
		return f, err
	}
	if f.meta, err = parseMeta(text); err != nil {
		return f, err
	}
	if f.vectors, _, err = openFile(folder, vectorsFile, f.meta.vectorsSize()); err != nil {
		return f, err
	}
	if f.codes, _, err = openFile(folder, codesFile, f.meta.codesSize()); err != nil {
		return f, err
	}
	if f.records, f.recordsInfo, err = openFile(folder, recordsFile, f.meta.Records); err != nil {
		return f, err
	}
	f.table, _, err = openFile(folder, tableFile, f.meta.tableSize())
	return f, err
}

// openFile opens a file that has at least the given size. It may be longer: what a later commit,
// or one that failed, has appended does not count.
func openFile(folder, name string, size int64) (*os.File, fs.FileInfo, error) {
	f, err := os.Open(filepath.Join(folder, name))
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() < size {
		err = corrupt("%s has %d bytes, want %d", name, info.Size(), size)
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

// keepRecords hands over the file of records, which is then not closed with the others.
func (f *files) keepRecords() *os.File {
	records := f.records
	f.records = nil
	return records
}

// continues tells whether the files are those of last, grown.
func (f *files) continues(last *snapshot) bool {
	return last.log.file != nil && os.SameFile(f.recordsInfo, last.log.file) && f.meta.Entries >= last.Entries &&
		f.meta.Rows >= last.Rows && f.meta.Records >= last.Records
}

// extend reads what the files have beyond last.
func (f *files) extend(last *snapshot) (*snapshot, error) {
	added := make([]byte, f.meta.tableSize()-last.tableSize())
	if _, err := f.table.ReadAt(added, last.tableSize()); err != nil {
		return nil, damaged(err)
	}
	if crc32.Update(last.Checksum, castagnoli, added) != f.meta.Checksum {
		return nil, corrupt("table has the wrong checksum")
	}
	s := *last
	s.meta, s.users, s.verifier = f.meta, 0, &verifier{}
	s.table = append(last.table, added...)
	s.dead = last.dead.clone(f.meta.Rows)
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
	return &s, nil
}

// readEntries takes in the entries of the table from the given one.
func (s *snapshot) readEntries(from int) error {
	for at := from; at < s.Entries; at++ {
		e := s.entryAt(at)
		var err error
		switch e.kind() {
		case rowEntry:
			err = s.readRow(at, e)
		case deadEntry:
			err = s.readDead(e)
		case placeEntry:
			at, err = s.readPlace(at, e)
		default:
			err = corrupt("table has an entry of kind %d", e.kind())
		}
		if err != nil {
			return err
		}
	}
	if len(s.entry) != s.Rows || s.Rows-s.dead.count != s.Live {
		return corrupt("table has %d rows, %d of them dead; meta says %d rows, %d live", len(s.entry), s.dead.count, s.Rows, s.Live)
	}
	return nil
}

func (s *snapshot) readRow(at int, e entry) error {
	// In this order: the sum of two large numbers may be negative.
	if e.offset() < 0 || e.offset() > s.Records || int64(e.length()) > s.Records-e.offset() {
		return corrupt("record of row %d lies outside the file", len(s.entry))
	}
	if int(e.number()) >= len(s.places) || len(s.entry) == s.Rows {
		return corrupt("row %d has place %d of %d", len(s.entry), e.number(), len(s.places))
	}
	s.entry = append(s.entry, uint32(at))
	s.place = append(s.place, e.number())
	return nil
}

func (s *snapshot) readDead(e entry) error {
	row := int(e.number())
	if row >= len(s.entry) || s.dead.has(row) {
		return corrupt("row %d dies twice or before it is born", row)
	}
	s.dead.add(row)
	return nil
}

// readPlace returns the number of the last entry that belongs to the place.
func (s *snapshot) readPlace(at int, e entry) (int, error) {
	end := at + 1 + padded(e.length())/entrySize
	if end > s.Entries {
		return at, corrupt("table ends inside a name")
	}
	p, err := decodePlace(s.table[(at+1)*entrySize:][:e.length()])
	if err != nil {
		return at, damaged(err)
	}
	s.places = append(s.places, p)
	return end - 1, nil
}

func (s *snapshot) entryAt(at int) entry {
	return entry(s.table[at*entrySize : (at+1)*entrySize])
}

// row returns the entry of a row.
func (s *snapshot) row(row int) entry { return s.entryAt(int(s.entry[row])) }

// vector returns a row's vector, inside the mapped file.
func (s *snapshot) vector(row int) []float32 { return floatsOf(s.vectors.between(row, row+1)) }

// record reads a row's record.
func (s *snapshot) record(row int) (store.Record, error) {
	e := s.row(row)
	b := make([]byte, e.length())
	if err := s.readRecord(e, b); err != nil {
		return store.Record{}, err
	}
	rec, err := decodeRecord(e.key(), s.places[s.place[row]], b)
	if err != nil {
		return store.Record{}, corrupt("%s: %w", e.key(), err)
	}
	return rec, nil
}

// readRecord reads the bytes of a record, as many as b has room for, and checks them.
func (s *snapshot) readRecord(e entry, b []byte) error {
	if _, err := s.log.records.ReadAt(b, e.offset()); err != nil {
		return damaged(err)
	}
	if checksum(b) != e.recordSum() {
		return corrupt("record %s has the wrong checksum", e.key())
	}
	return nil
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
