package disk

import (
	"slices"
	"time"

	"github.com/memcore/memcore/internal/varint"
	"github.com/memcore/memcore/store"
)

// AppendRecord omits ID, Scope, Kind, Path and Vector.
func AppendRecord(e *varint.Encoder, r *store.Record) {
	*e = slices.Grow(*e, 64+len(r.Text)+len(r.Before)+len(r.After)+len(r.Hash))
	e.Numbers(int64(r.StartLine), int64(r.EndLine), int64(r.Tokens), r.Time.Unix(), int64(len(r.Headings)))
	e.Texts(r.Headings...)
	e.Texts(r.Session, r.Speaker, r.Text, r.Before, r.After, r.Hash)
}

// ReadRecord reads into r what AppendRecord wrote.
func ReadRecord(d *varint.Decoder, r *store.Record) {
	r.StartLine, r.EndLine, r.Tokens = int(d.Number()), int(d.Number()), int(d.Number())
	r.Time = time.Unix(d.Number(), 0).UTC()
	for n := d.Number(); n > 0 && len(d.Rest) > 0; n-- { // what follows fails if there are fewer
		r.Headings = append(r.Headings, d.Text())
	}
	r.Session, r.Speaker = d.Text(), d.Text()
	r.Text, r.Before, r.After, r.Hash = d.Text(), d.Text(), d.Text(), d.Text()
}
