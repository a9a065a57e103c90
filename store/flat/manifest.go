package flat

import (
	"hash/crc32"

	"github.com/memcore/memcore/store"
)

// Files of a generation beside the manifest.
const (
	vectorsFile = "vectors"
	codesFile   = "codes"
	recordsFile = "records"
	tableFile   = "table"
)

// format grows with the form of any file.
//
//	2: entries have a checksum of the code
//	3: entries have the day of the record's time
//	4: the manifest and the records are written as in the other indexes
var format = store.ManifestFormat{Kind: "vectors", Number: 4}

// castagnoli is the checksum that processors compute in hardware.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// A manifest says how much of each file counts.
type manifest struct {
	Dimension int    `json:"dimension"`
	Rows      int    `json:"rows"` // in vectors, dead ones too
	Live      int    `json:"live"`
	Records   int64  `json:"records"`  // bytes
	Entries   int    `json:"entries"`  // in table
	Checksum  uint32 `json:"checksum"` // of table
}

func (m manifest) vectorsSize() int64 { return int64(m.Rows) * int64(m.Dimension) * floatSize }
func (m manifest) codesSize() int64   { return int64(m.Rows) * int64(codeSize(m.Dimension)) }
func (m manifest) tableSize() int64   { return int64(m.Entries) * entrySize }
