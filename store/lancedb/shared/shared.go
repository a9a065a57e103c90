//go:build lancedb

package shared

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/lancedb/internal/remote"
	"github.com/memcore/memcore/store/lancedb/internal/table"
)

// Columns of the table beside those of a record.
const (
	ownerColumn    = "owner"
	numberColumn   = "number"   // of the owner's batch
	goneColumn     = "gone"     // the record is withdrawn
	embedderColumn = "embedder" // fingerprint of the vector's embedder
	appendColumn   = "append"   // microseconds since 1970; the same in rows of one append
)

// A Table is a store.Shared.
type Table struct {
	uri        string
	schema     *arrow.Schema
	maxAppends int // const maxAppends, except in tests
}

var _ store.Shared = (*Table)(nil)

// Options are those of Open.
type Options struct {
	// Dimension, at least 1, is for a table that a batch without vectors creates. A table with
	// another one gets no vectors: readers embed.
	Dimension int
}

// Open opens the table at uri: a folder, or such as s3://bucket/prefix, after
// storage.SetEnvironment. It does not connect. The first Publish makes the table.
func Open(uri string, options Options) (*Table, error) {
	if uri == "" || options.Dimension < 1 {
		return nil, fmt.Errorf("shared memory: URI %q, dimension %d: want a folder or s3://bucket/prefix, and at least 1", uri, options.Dimension)
	}
	return &Table{uri: uri, maxAppends: maxAppends, schema: schemaOf(options.Dimension)}, nil
}

// Name implements store.Shared.
func (t *Table) Name() string { return t.uri }

func schemaOf(dimension int) *arrow.Schema {
	return table.Schema(dimension, table.TextColumn(ownerColumn), table.NumberColumn(numberColumn),
		table.BoolColumn(goneColumn), table.TextColumn(embedderColumn), table.NumberColumn(appendColumn))
}

// Close implements store.Shared.
func (t *Table) Close() error { return nil }

// with calls f with the table, perhaps several times.
func (t *Table) with(ctx context.Context, op string, f func(*table.Table) error) error {
	return t.retry(ctx, op, table.Open, f)
}

// ensure creates a missing table for these vectors.
func (t *Table) ensure(ctx context.Context, records []store.Record) error {
	return t.retry(ctx, "open", func(ctx context.Context, uri string, schema *arrow.Schema) (*table.Table, error) {
		opened, err := table.Open(ctx, uri, schema)
		if errors.Is(err, table.ErrMissing) {
			for _, record := range records {
				if record.Vector != nil {
					schema = schemaOf(len(record.Vector))
					break
				}
			}
			return table.Create(ctx, uri, schema) // fails if another process is faster: the next attempt opens it
		}
		return opened, err
	}, func(*table.Table) error { return nil })
}

func (t *Table) retry(ctx context.Context, op string,
	open func(context.Context, string, *arrow.Schema) (*table.Table, error), f func(*table.Table) error) error {
	return remote.Retry(ctx, t.uri, op+" shared memory", t.schema, open, f)
}

func ownedBy(owner string) string { return ownerColumn + " = " + table.Text(owner) }

// Columns are zero if another program made the table otherwise.
func number(row table.Row) int64   { n, _ := row.Extra[numberColumn].(int64); return n }
func written(row table.Row) int64  { n, _ := row.Extra[appendColumn].(int64); return n }
func gone(row table.Row) bool      { b, _ := row.Extra[goneColumn].(bool); return b }
func ownerOf(row table.Row) string { s, _ := row.Extra[ownerColumn].(string); return s }
func madeBy(row table.Row) string  { s, _ := row.Extra[embedderColumn].(string); return s }

var bookkeeping = []string{ownerColumn, numberColumn, goneColumn, embedderColumn, appendColumn}

// rowsPerRead bounds memory: JSON multiplies a vector's size.
const rowsPerRead = 4000

func rows(ctx context.Context, t *table.Table, where string, vectors bool) ([]table.Row, error) {
	columns := append(table.RecordColumns(), bookkeeping...)
	if vectors {
		columns = append(columns, "vector")
	}
	return read(ctx, t, columns, where)
}

func read(ctx context.Context, t *table.Table, columns []string, where string) ([]table.Row, error) {
	var all []table.Row
	for {
		some, err := t.Select(ctx, table.Query{Columns: columns, Where: where, Limit: rowsPerRead, Offset: len(all)})
		if err != nil {
			return nil, err
		}
		if all = append(all, some...); len(some) < rowsPerRead {
			return all, nil
		}
	}
}

// An account is an owner's part of the table.
type account struct {
	last    int64                // number of its last batch
	live    map[string]table.Row // by ID: the latest row of each record, also if withdrawn
	appends map[int64]bool
	stale   []string // IDs with older rows
}

func accountOf(all []table.Row) account {
	a := account{live: map[string]table.Row{}, appends: map[int64]bool{}}
	for _, row := range all {
		a.last = max(a.last, number(row))
		a.appends[written(row)] = true
		before, known := a.live[row.Record.ID]
		if known {
			a.stale = append(a.stale, row.Record.ID)
		}
		if !known || older(before, row) {
			a.live[row.Record.ID] = row
		}
	}
	return a
}

// older reports whether a row is older than its record's other one. Of equal numbers, the last
// written counts.
func older(row, than table.Row) bool {
	return cmp.Or(cmp.Compare(number(row), number(than)), cmp.Compare(written(row), written(than))) < 0
}

// Owned implements store.Shared.
func (t *Table) Owned(ctx context.Context, owner string) (records []store.Record, err error) {
	err = t.with(ctx, "read", func(opened *table.Table) error {
		all, err := rows(ctx, opened, ownedBy(owner), false)
		if err != nil {
			return err
		}
		records = nil
		for _, row := range accountOf(all).live {
			if !gone(row) {
				records = append(records, row.Record)
			}
		}
		return nil
	})
	if errors.Is(err, table.ErrMissing) {
		return nil, nil
	}
	return records, err
}

// Publish implements store.Shared.
func (t *Table) Publish(ctx context.Context, owner, embedder string, put, withdrawn []store.Record) error {
	if len(put)+len(withdrawn) == 0 {
		return ctx.Err()
	}
	if err := t.ensure(ctx, put); err != nil {
		return err
	}
	batch := int64(0) // the same in a repeated step
	return t.with(ctx, "publish to", func(opened *table.Table) error {
		if _, err := identity(ctx, opened, true); err != nil {
			return err
		}
		all, err := rows(ctx, opened, ownedBy(owner), false)
		if err != nil {
			return err
		}
		a := accountOf(all)
		if batch == 0 {
			batch = a.last + 1
		}
		if err := opened.Add(ctx, rowsOf(opened.Dimension(), owner, embedder, batch, put, withdrawn)); err != nil {
			return err
		}
		if err := clean(ctx, opened, owner, replaced(a, put, withdrawn)); err != nil {
			return err
		}
		if len(a.appends) < t.maxAppends {
			return nil
		}
		_ = compact(ctx, opened, owner) // the batch is published; the next one compacts
		return nil
	})
}

func rowsOf(dimension int, owner, embedder string, number int64, put, withdrawn []store.Record) []table.Row {
	written := time.Now().UnixMicro()
	extra := func(gone bool, embedder string) map[string]any {
		return map[string]any{ownerColumn: owner, numberColumn: number, goneColumn: gone, embedderColumn: embedder, appendColumn: written}
	}
	var all []table.Row
	for _, record := range put {
		made := embedder
		if len(record.Vector) != dimension {
			record.Vector, made = nil, ""
		}
		all = append(all, table.Row{Record: record, Extra: extra(false, made)})
	}
	for _, record := range withdrawn {
		all = append(all, table.Row{Record: store.Record{ID: record.ID, Path: record.Path}, Extra: extra(true, "")})
	}
	return all
}

// replaced returns the IDs with rows older than the batch.
func replaced(a account, put, withdrawn []store.Record) []string {
	ids := slices.Clone(a.stale)
	for _, record := range slices.Concat(put, withdrawn) {
		if _, known := a.live[record.ID]; known {
			ids = append(ids, record.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

const idsPerDelete = 1000

// clean deletes older rows and the copies that a killed compaction leaves. By append that takes one
// commit, by number one for each batch ever.
func clean(ctx context.Context, t *table.Table, owner string, ids []string) error {
	for some := range slices.Chunk(ids, idsPerDelete) {
		found, err := rows(ctx, t, table.And(ownedBy(owner), table.In("id", some)), false)
		if err != nil {
			return err
		}
		a := accountOf(found)
		byAppend := map[int64][]string{}
		for id, row := range a.live {
			byAppend[written(row)] = append(byAppend[written(row)], id)
		}
		for written, ids := range byAppend {
			// Newer rows stay.
			where := table.And(ownedBy(owner), table.In("id", ids), notIn(written), numberColumn+" <= "+strconv.FormatInt(a.last, 10))
			if err := t.Delete(ctx, where); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxAppends bounds an owner's appends: every reader opens them all.
const maxAppends = 64

// compact appends an owner's rows again, as one append with their numbers, and deletes the others.
// If it is interrupted, the next publisher cleans.
func compact(ctx context.Context, t *table.Table, owner string) error {
	all, err := rows(ctx, t, ownedBy(owner), true)
	if err != nil {
		return err
	}
	written := time.Now().UnixMicro()
	var live []table.Row
	for _, row := range accountOf(all).live {
		row.Extra[appendColumn] = written
		live = append(live, row)
	}
	if err := t.Add(ctx, live); err != nil {
		return err
	}
	return t.Delete(ctx, table.And(ownedBy(owner), notIn(written)))
}

func notIn(written int64) string { return appendColumn + " <> " + strconv.FormatInt(written, 10) }

// Changes implements store.Shared.
func (t *Table) Changes(ctx context.Context, owner string, since store.Cursor) (changes []store.Change, next store.Cursor, err error) {
	err = t.with(ctx, "read", func(opened *table.Table) error {
		storage, err := identity(ctx, opened, false)
		if err != nil {
			return err
		}
		from := since
		if storage != since.Storage() {
			from = nil
		}
		batches, err := read(ctx, opened, []string{ownerColumn, numberColumn}, newerThan(owner, from))
		if err != nil {
			return err
		}
		next = maps.Clone(from)
		if next == nil {
			next = store.Cursor{}
		}
		next[noOwner] = storage
		found, err := rows(ctx, opened, step(batches, next), true)
		changes = changesOf(found)
		return err
	})
	switch {
	case errors.Is(err, table.ErrMissing) && since.Storage() == 0:
		return nil, nil, nil
	case errors.Is(err, table.ErrMissing):
		return nil, nil, fmt.Errorf("read shared memory %s: the table is missing: restore it, or start again with memcore index --rebuild", t.uri)
	}
	return changes, next, err
}

// noOwner owns the row that identifies this table, even if recreated.
const noOwner = ""

// identity returns its number: 0 without one, unless it may create it. Of two made at once the
// lower counts.
func identity(ctx context.Context, t *table.Table, create bool) (int64, error) {
	found, err := rows(ctx, t, ownedBy(noOwner), false)
	if err != nil {
		return 0, err
	}
	lowest := int64(0)
	for _, row := range found {
		if lowest == 0 || number(row) < lowest {
			lowest = number(row)
		}
	}
	if lowest > 0 || !create {
		return lowest, nil
	}
	made := 1 + rand.Int64N(1<<53-1) // exact as a float64 too
	return made, t.Add(ctx, []table.Row{{Record: store.Record{ID: strconv.FormatInt(made, 16)}, Extra: map[string]any{
		ownerColumn: noOwner, numberColumn: made, goneColumn: true, embedderColumn: "", appendColumn: time.Now().UnixMicro()}}})
}

// newerThan passes what other owners published since.
func newerThan(owner string, since store.Cursor) string {
	known := []string{owner, noOwner}
	parts := []string{}
	for other, last := range since {
		if other != owner && other != noOwner {
			known = append(known, other)
			parts = append(parts, "("+table.And(ownedBy(other), numberColumn+" > "+strconv.FormatInt(last, 10))+")")
		}
	}
	slices.Sort(known)
	slices.Sort(parts)
	return strings.Join(append(parts, "NOT "+table.In(ownerColumn, known)), " OR ")
}

// rowsPerStep is how many rows Changes returns, rounded up to batches. It bounds memory and the
// loss of an interrupted reader.
const rowsPerStep = 4000

// step returns the filter for the first batches, by owner, and advances the cursor.
func step(rows []table.Row, cursor store.Cursor) string {
	slices.SortFunc(rows, func(a, b table.Row) int {
		return cmp.Or(cmp.Compare(ownerOf(a), ownerOf(b)), cmp.Compare(number(a), number(b)))
	})
	upTo := store.Cursor{}
	for _, row := range rows[:min(len(rows), rowsPerStep)] {
		upTo[ownerOf(row)] = number(row) // and so the rest of its batch
	}
	var parts []string
	for owner, last := range upTo {
		parts = append(parts, "("+table.And(ownedBy(owner), numberColumn+" <= "+strconv.FormatInt(last, 10),
			numberColumn+" > "+strconv.FormatInt(cursor[owner], 10))+")")
	}
	maps.Copy(cursor, upTo)
	return cmp.Or(strings.Join(parts, " OR "), "false")
}

// changesOf orders rows by owner and number, without replaced ones.
func changesOf(found []table.Row) []store.Change {
	byOwner := map[string][]table.Row{}
	for _, row := range found {
		byOwner[ownerOf(row)] = append(byOwner[ownerOf(row)], row)
	}
	var last []table.Row
	for _, rows := range byOwner {
		last = slices.AppendSeq(last, maps.Values(accountOf(rows).live))
	}
	slices.SortFunc(last, func(a, b table.Row) int {
		return cmp.Or(cmp.Compare(ownerOf(a), ownerOf(b)), cmp.Compare(number(a), number(b)), cmp.Compare(a.Record.ID, b.Record.ID))
	})
	var changes []store.Change
	for _, row := range last {
		changes = append(changes, store.Change{Owner: ownerOf(row), Embedder: madeBy(row),
			Gone: gone(row), Record: row.Record})
	}
	return changes
}
