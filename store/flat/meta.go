package flat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strconv"
	"unsafe"

	"github.com/memcore/memcore/store"
)

// Names of the files of a generation.
const (
	metaFile    = "meta"
	vectorsFile = "vectors"
	codesFile   = "codes"
	recordsFile = "records"
	tableFile   = "table"
)

// format grows whenever any of the files is written in another way. An index of another format has
// to be rebuilt.
//
//	1: first.
//	2: entries have a checksum of the code, meta the number of its generation.
//	3: entries have the day of the record's time.
const format = 3

// castagnoli is the checksum that processors compute by themselves.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// byteOrder is that of this machine's float32.
var byteOrder = func() string {
	if one := uint16(1); *(*byte)(unsafe.Pointer(&one)) == 1 {
		return "little"
	}
	return "big"
}()

// A meta says how much of the files of a generation counts.
type meta struct {
	Generation uint64 `json:"generation"` // that it is of: the one before, which is still there, has the same files, shorter
	ByteOrder  string `json:"byteOrder"`
	Dimension  int    `json:"dimension"`
	Rows       int    `json:"rows"` // in vectors, dead ones too
	Live       int    `json:"live"`
	Records    int64  `json:"records"` // bytes
	Entries    int    `json:"entries"` // in table
	Checksum   uint32 `json:"checksum"`
}

func (m meta) vectorsSize() int64 { return int64(m.Rows) * int64(m.Dimension) * floatSize }
func (m meta) codesSize() int64   { return int64(m.Rows) * int64(codeSize(m.Dimension)) }
func (m meta) tableSize() int64   { return int64(m.Entries) * entrySize }

// metaHead begins the file in every format, so that a release knows a newer one from a damaged file: the checksum is of the
// format's number, too.
const metaHead = "memcore vectors, format %d, checksum %08x\n"

func metaSum(format int, body []byte) uint32 {
	return crc32.Update(checksum([]byte(strconv.Itoa(format))), castagnoli, body)
}

func (m meta) write(folder string) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	head := fmt.Sprintf(metaHead, format, metaSum(format, body))
	return os.WriteFile(filepath.Join(folder, metaFile), append([]byte(head), body...), 0o600)
}

// parseMeta returns an error wrapping ErrFormat or ErrCorrupt for what it cannot use.
func parseMeta(text []byte) (m meta, err error) {
	head, body, _ := bytes.Cut(text, []byte("\n"))
	var version int
	var want uint32
	_, err = fmt.Sscanf(string(head)+"\n", metaHead, &version, &want)
	if err != nil || fmt.Sprintf(metaHead, version, want) != string(head)+"\n" {
		return m, corrupt("meta begins with %.60q", head)
	}
	switch {
	case version == 1: // which had a checksum of the body alone
		return m, store.OtherFormat(metaFile, version, format)
	case metaSum(version, body) != want:
		return m, corrupt("meta has the wrong checksum")
	case version != format:
		return m, store.OtherFormat(metaFile, version, format)
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return m, corrupt("meta: %w", err)
	}
	if m.ByteOrder != byteOrder {
		return m, fmt.Errorf("%w: made on a machine with %s-endian numbers", store.ErrFormat, m.ByteOrder)
	}
	return m, m.check()
}

// Limits that keep numbers of rows and entries in 32 bits, and sizes of files far from overflow.
const (
	maxRows      = 1 << 28
	maxEntries   = 1<<31 - 1
	maxDimension = 1 << 20
)

func (m meta) check() error {
	sane := m.Dimension >= 1 && m.Dimension <= maxDimension && m.Rows >= 0 && m.Rows <= maxRows &&
		m.Live >= 0 && m.Live <= m.Rows && m.Entries >= m.Rows && m.Entries <= maxEntries && m.Records >= 0
	if !sane {
		return corrupt("meta says %+v", m)
	}
	return nil
}
