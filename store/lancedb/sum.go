//go:build lancedb

package lancedb

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"strings"

	"github.com/memcore/memcore/store"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sumOf is a record's checksum: Lance keeps none.
func sumOf(r store.Record) int64 {
	var b []byte
	for _, text := range []string{r.ID, r.Scope, r.Kind, r.Path, strings.Join(r.Headings, "\x00"), r.Session, r.Speaker,
		r.Text, r.Before, r.After, r.Hash} {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	for _, n := range []int64{int64(r.StartLine), int64(r.EndLine), r.Time.Unix(), int64(r.Tokens)} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	for _, x := range r.Vector {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return int64(crc32.Checksum(b, castagnoli))
}
