package flat

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/memcore/memcore/store"
)

var errRecord = errors.New("record does not decode")

// encodeRecord writes all of a record but its ID, place and vector.
func encodeRecord(rec store.Record) []byte {
	e := encoder{b: make([]byte, 0, 64+len(rec.Text)+len(rec.Before)+len(rec.After)+len(rec.Hash))}
	e.number(rec.StartLine)
	e.number(rec.EndLine)
	e.number(len(rec.Headings))
	for _, heading := range rec.Headings {
		e.string(heading)
	}
	e.string(rec.Session)
	e.string(rec.Speaker)
	e.b = binary.AppendVarint(e.b, rec.Time.Unix())
	e.string(rec.Text)
	e.string(rec.Before)
	e.string(rec.After)
	e.string(rec.Hash)
	e.number(rec.Tokens)
	return e.b
}

func decodeRecord(k key, p place, b []byte) (store.Record, error) {
	d := decoder{rest: b}
	rec := store.Record{ID: k.String(), Scope: p.scope, Kind: p.kind, Path: p.path}
	rec.StartLine, rec.EndLine = d.number(), d.number()
	rec.Headings = d.strings()
	rec.Session, rec.Speaker = d.string(), d.string()
	rec.Time = time.Unix(d.varint(), 0).UTC()
	rec.Text, rec.Before, rec.After, rec.Hash = d.string(), d.string(), d.string(), d.string()
	rec.Tokens = d.number()
	return rec, d.end()
}

// recordTime reads the time out of an encoded record; zero if it does not decode, which reading the
// record reports.
func recordTime(b []byte) time.Time {
	d := decoder{rest: b}
	d.number() // lines
	d.number()
	for n := d.varint(); n > 0 && !d.bad; n-- {
		d.skip() // headings
	}
	d.skip() // session
	d.skip() // speaker
	seconds := d.varint()
	if d.bad {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// An encoder appends to b.
type encoder struct{ b []byte }

func (e *encoder) number(n int) { e.b = binary.AppendVarint(e.b, int64(n)) }

func (e *encoder) string(s string) {
	e.number(len(s))
	e.b = append(e.b, s...)
}

// A decoder reads from the front of rest; after an error it returns zeros.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) varint() int64 {
	n, size := binary.Varint(d.rest)
	if size <= 0 {
		d.rest, d.bad = nil, true
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

func (d *decoder) number() int {
	n := d.varint()
	if n != int64(int(n)) {
		d.bad = true
	}
	return int(n)
}

func (d *decoder) string() string { return string(d.bytes()) }

func (d *decoder) skip() { d.bytes() }

// bytes returns those of a string, which are still d's.
func (d *decoder) bytes() []byte {
	n := d.varint()
	if n < 0 || n > int64(len(d.rest)) {
		d.rest, d.bad = nil, true
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) strings() []string {
	var all []string
	for n := d.varint(); n > 0 && !d.bad; n-- {
		all = append(all, d.string())
	}
	return all
}

// end is an error if anything was missing or is left over.
func (d *decoder) end() error {
	if d.bad || len(d.rest) > 0 {
		return errRecord
	}
	return nil
}

const (
	// maxRecord and maxName are what an entry's length has room for, on all systems.
	maxRecord = math.MaxInt32 // bytes
	maxName   = 1 << 20       // bytes
)
