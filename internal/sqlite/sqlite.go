// Package sqlite reads tables of SQLite databases that other programs have open. It writes nothing,
// takes no lock and leaves no file behind, so that no editor ever waits for memcore.
//
// It follows https://sqlite.org/fileformat2.html (SQLite 3.53): b-trees of tables and indexes,
// overflow pages, and the write-ahead log. A program may write meanwhile, which Unchanged tells.
// Not read are databases in UTF-16, tables WITHOUT ROWID, and what only a rollback journal could
// mend.
package sqlite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"

	"github.com/memcore/memcore/internal/filetime"
	"github.com/memcore/memcore/internal/safefile"
)

// ErrDamaged means that a database, or what was read of it while it changed, is not well formed.
var ErrDamaged = errors.New("the database is damaged, or changed while it was read")

// ErrBusy means that a program is writing the database.
var ErrBusy = errors.New("a program is writing the database")

const (
	headerSize    = 100
	walHeaderSize = 32
	frameHeader   = 24
	maxDepth      = 32       // of a b-tree; a real one has at most 20 levels
	maxValue      = 64 << 20 // bytes of a row
	maxLog        = 1 << 30  // bytes of a write-ahead log
)

var magic = []byte("SQLite format 3\x00")

// A DB is a database as it was when it was opened. It is not safe for concurrent use.
type DB struct {
	file     *os.File
	info     fs.FileInfo
	log      *os.File         // the write-ahead log, or nil
	logSalts [8]byte          // of its header
	frames   map[uint32]int64 // offset in the log of the newest version of a page
	pageSize int64
	usable   int // bytes of a page without its reserved end
	schema   []object
	visited  map[uint32]bool // pages of the tree that is walked
}

// Open opens a database. The caller closes it.
func Open(path string) (*DB, error) {
	db, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	return db, nil
}

func open(path string) (_ *DB, err error) {
	file, info, err := safefile.OpenPath(path)
	if err != nil {
		return nil, err
	}
	db := &DB{file: file, info: info}
	defer func() {
		if err != nil {
			db.Close()
		}
	}()
	header := make([]byte, headerSize)
	if _, err := file.ReadAt(header, 0); err != nil || !bytes.HasPrefix(header, magic) {
		return nil, fmt.Errorf("it is no SQLite database: %w", ErrDamaged)
	}
	db.pageSize = int64(binary.BigEndian.Uint16(header[16:]))
	if db.pageSize == 1 {
		db.pageSize = 1 << 16
	}
	db.usable = int(db.pageSize) - int(header[20])
	if db.pageSize < 512 || db.pageSize&(db.pageSize-1) != 0 || db.usable < 480 {
		return nil, fmt.Errorf("pages of %d bytes: %w", db.pageSize, ErrDamaged)
	}
	if encoding := binary.BigEndian.Uint32(header[56:]); encoding > 1 {
		return nil, errors.New("its texts are UTF-16, which is not read")
	}
	if journal, _, err := safefile.ReadPath(path+"-journal", 1<<30); err == nil && len(journal) > 0 && journal[0] != 0 {
		return nil, ErrBusy
	}
	if err := db.readLog(path + "-wal"); err != nil {
		return nil, err
	}
	return db, db.readSchema()
}

// Close closes the files.
func (db *DB) Close() error {
	err := db.file.Close()
	if db.log != nil {
		err = errors.Join(err, db.log.Close())
	}
	return err
}

// Unchanged reports whether all that was read since Open is of one state of the database. Else read
// again: a page may be of a later state than another.
func (db *DB) Unchanged() bool {
	now, err := db.file.Stat()
	if err != nil || now.Size() != db.info.Size() || !filetime.Changed(now).Equal(filetime.Changed(db.info)) {
		return false
	}
	if db.log == nil {
		return true
	}
	var salts [8]byte
	_, err = db.log.ReadAt(salts[:], 16)
	return len(db.frames) == 0 || err == nil && salts == db.logSalts
}

// readLog finds the pages that the write-ahead log holds: of whole transactions, and of the log's
// present round, which its salts and checksums tell.
func (db *DB) readLog(path string) error {
	file, info, err := safefile.OpenPath(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	db.log, db.frames = file, map[uint32]int64{}
	if info.Size() > maxLog {
		return fmt.Errorf("its log has %d bytes, more than %d", info.Size(), maxLog)
	}
	header := make([]byte, walHeaderSize)
	if _, err := io.ReadFull(file, header); err != nil {
		return nil // an empty log
	}
	var order binary.ByteOrder
	switch binary.BigEndian.Uint32(header) {
	case 0x377f0682:
		order = binary.LittleEndian
	case 0x377f0683:
		order = binary.BigEndian
	default:
		return nil
	}
	sum := checksum{order: order}
	sum.add(header[:24])
	if int64(binary.BigEndian.Uint32(header[8:])) != db.pageSize || !sum.is(header[24:]) {
		return nil // SQLite ignores it, too
	}
	copy(db.logSalts[:], header[16:])
	begun := map[uint32]int64{} // of a transaction without an end so far
	frame := make([]byte, frameHeader+db.pageSize)
	for at := int64(walHeaderSize); ; at += int64(len(frame)) {
		if _, err := io.ReadFull(file, frame); err != nil {
			return nil
		}
		sum.add(frame[:8])
		sum.add(frame[frameHeader:])
		if !bytes.Equal(frame[8:16], db.logSalts[:]) || !sum.is(frame[16:]) {
			return nil
		}
		begun[binary.BigEndian.Uint32(frame)] = at + frameHeader
		if commits := binary.BigEndian.Uint32(frame[4:]) != 0; commits {
			for page, offset := range begun {
				db.frames[page] = offset
			}
			clear(begun)
		}
	}
}

// A checksum is that of the write-ahead log.
type checksum struct {
	order  binary.ByteOrder
	s0, s1 uint32
}

func (c *checksum) add(data []byte) {
	for ; len(data) >= 8; data = data[8:] {
		c.s0 += c.order.Uint32(data) + c.s1
		c.s1 += c.order.Uint32(data[4:]) + c.s0
	}
}

func (c *checksum) is(stored []byte) bool {
	return binary.BigEndian.Uint32(stored) == c.s0 && binary.BigEndian.Uint32(stored[4:]) == c.s1
}

// page reads a page, whose numbers begin with 1.
func (db *DB) page(number uint32) ([]byte, error) {
	if number == 0 {
		return nil, ErrDamaged
	}
	data := make([]byte, db.pageSize)
	if offset, ok := db.frames[number]; ok {
		if _, err := db.log.ReadAt(data, offset); err != nil {
			return nil, fmt.Errorf("page %d in the log: %w", number, ErrDamaged)
		}
		return data, nil
	}
	if _, err := db.file.ReadAt(data, int64(number-1)*db.pageSize); err != nil {
		return nil, fmt.Errorf("page %d: %w", number, ErrDamaged)
	}
	return data, nil
}

// Kinds of pages of b-trees.
const (
	indexInterior = 2
	tableInterior = 5
	indexLeaf     = 10
	tableLeaf     = 13
)

// A node is a page of a b-tree.
type node struct {
	kind  byte
	data  []byte
	cells []int  // offsets in data
	right uint32 // the last child of an interior page
}

func (db *DB) node(number uint32) (n node, err error) {
	if n.data, err = db.page(number); err != nil {
		return n, err
	}
	head := n.data
	if number == 1 {
		head = head[headerSize:]
	}
	n.kind = head[0]
	size := 8
	switch n.kind {
	case indexInterior, tableInterior:
		size, n.right = 12, binary.BigEndian.Uint32(head[8:])
	case indexLeaf, tableLeaf:
	default:
		return n, fmt.Errorf("page %d is of no b-tree: %w", number, ErrDamaged)
	}
	count := int(binary.BigEndian.Uint16(head[3:]))
	if size+2*count > len(head) {
		return n, fmt.Errorf("page %d has %d cells: %w", number, count, ErrDamaged)
	}
	for i := range count {
		at := int(binary.BigEndian.Uint16(head[size+2*i:]))
		if at+4 > db.usable {
			return n, fmt.Errorf("page %d has a cell at %d: %w", number, at, ErrDamaged)
		}
		n.cells = append(n.cells, at)
	}
	return n, nil
}

// varint reads a number of one to nine bytes, and returns how many it took; 0 if it is cut off.
func varint(data []byte) (value uint64, n int) {
	for n < len(data) {
		b := data[n]
		n++
		if n == 9 {
			return value<<8 | uint64(b), n
		}
		if value = value<<7 | uint64(b&0x7f); b < 0x80 {
			return value, n
		}
	}
	return 0, 0
}

// payload reads the content of a cell that begins after its head: size bytes, of which the rest
// stands on overflow pages.
func (db *DB) payload(data []byte, size uint64, table bool) ([]byte, error) {
	if size > maxValue {
		return nil, fmt.Errorf("a row of %d bytes, more than %d: %w", size, maxValue, ErrDamaged)
	}
	u, total := db.usable, int(size)
	local := u - 35
	if !table {
		local = (u-12)*64/255 - 23
	}
	if total > local {
		least := (u-12)*32/255 - 23
		if k := least + (total-least)%(u-4); k <= local {
			local = k
		} else {
			local = least
		}
	} else {
		local = total
	}
	if local > len(data) || local < total && local+4 > len(data) {
		return nil, ErrDamaged
	}
	if local == total {
		return data[:total], nil
	}
	all := append(make([]byte, 0, min(total, 1<<20)), data[:local]...)
	next := binary.BigEndian.Uint32(data[local:])
	for len(all) < total {
		page, err := db.page(next)
		if err != nil {
			return nil, err
		}
		all = append(all, page[4:min(u, 4+total-len(all))]...)
		next = binary.BigEndian.Uint32(page)
	}
	return all, nil
}

// record reads the values of a row: nil, int64, float64, string or []byte.
func record(payload []byte) ([]any, error) {
	size, n := varint(payload)
	if n == 0 || size > uint64(len(payload)) {
		return nil, ErrDamaged
	}
	head, body := payload[n:max(n, int(size))], payload[size:]
	var values []any
	for len(head) > 0 {
		kind, n := varint(head)
		if n == 0 {
			return nil, ErrDamaged
		}
		head = head[n:]
		value, length, ok := value(kind, body)
		if !ok {
			return nil, ErrDamaged
		}
		values, body = append(values, value), body[length:]
	}
	return values, nil
}

// value reads a value of a serial type, and returns how many bytes it took.
func value(kind uint64, body []byte) (v any, length int, ok bool) {
	switch {
	case kind == 0:
		return nil, 0, true
	case kind == 8 || kind == 9:
		return int64(kind - 8), 0, true
	case kind < 8:
		length = [...]int{0, 1, 2, 3, 4, 6, 8, 8}[kind]
		if length > len(body) {
			return nil, 0, false
		}
		number := int64(int8(body[0]))
		for _, b := range body[1:length] {
			number = number<<8 | int64(b)
		}
		if kind == 7 {
			return math.Float64frombits(uint64(number)), length, true
		}
		return number, length, true
	case kind < 12 || (kind-12)/2 > uint64(len(body)):
		return nil, 0, false
	}
	length = int(kind-12) / 2
	if kind%2 == 0 {
		return body[:length], length, true
	}
	return string(body[:length]), length, true
}
