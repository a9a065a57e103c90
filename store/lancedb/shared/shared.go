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
	"github.com/cenkalti/backoff/v5"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/lancedb/internal/table"
)

// Columns of the table beside those of a record.
const (
	ownerColumn    = "owner"
	numberColumn   = "number"   // of the owner's batch
	goneColumn     = "gone"     // the record is withdrawn
	embedderColumn = "embedder" // fingerprint of what made the vector
	appendColumn   = "append"   // microseconds since 1970: which rows were written together
)

// A Table is a store.Shared.
type Table struct {
	uri        string
	schema     *arrow.Schema
	maxAppends int // const maxAppends, but in tests
}

var _ store.Shared = (*Table)(nil)

// Options say how a table is reached.
type Options struct {
	// Dimension is the length of vectors, at least 1, in a table that is made now for a first batch that
	// has none; else theirs counts. In one that was made
	// with another, vectors are left out: readers make their own.
	Dimension int
}

// Open opens the table in the database at uri: a folder, or such as s3://bucket/prefix, for which
// Environment has to be set first. It is made by the first Publish. Nothing is reached yet.
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

// attempts is how often a step is tried: storage is far away, and writers may be in each other's way.
const attempts = 4

// with calls f with the table as it is now. Every step may be repeated.
func (t *Table) with(ctx context.Context, op string, f func(*table.Table) error) error {
	return t.patiently(ctx, op, table.Open, f)
}

// ensure makes the table if there is none, fit for the vectors of some records.
func (t *Table) ensure(ctx context.Context, records []store.Record) error {
	return t.patiently(ctx, "open", func(ctx context.Context, uri string, schema *arrow.Schema) (*table.Table, error) {
		opened, err := table.Open(ctx, uri, schema)
		if errors.Is(err, table.ErrMissing) {
			for _, record := range records {
				if record.Vector != nil {
					schema = schemaOf(len(record.Vector))
					break
				}
			}
			return table.Create(ctx, uri, schema) // fails if another has just done so: then we try again
		}
		return opened, err
	}, func(*table.Table) error { return nil })
}

func (t *Table) patiently(ctx context.Context, op string,
	open func(context.Context, string, *arrow.Schema) (*table.Table, error), f func(*table.Table) error) error {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval = 50 * time.Millisecond
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		if err := reachable(ctx, t.uri); err != nil {
			return struct{}{}, err
		}
		opened, err := open(ctx, t.uri, t.schema)
		if errors.Is(err, table.ErrMissing) {
			err = backoff.Permanent(err)
		}
		if err != nil {
			return struct{}{}, err
		}
		// A native call that hangs must not make us hang.
		defer func() { go opened.Close() }()
		return struct{}{}, f(opened)
	}, backoff.WithBackOff(wait), backoff.WithMaxTries(attempts))
	switch {
	case err == nil || errors.Is(err, table.ErrMissing):
		return err
	case ctx.Err() != nil:
		err = fmt.Errorf("the storage did not answer in time: %w", context.Cause(ctx))
	}
	return fmt.Errorf("%s shared memory %s: %w", op, t.uri, explain(err))
}

func ownedBy(owner string) string { return ownerColumn + " = " + table.Text(owner) }

// What a row says of itself; nothing, if another program has made the table in another form.
func number(row table.Row) int64   { n, _ := row.Extra[numberColumn].(int64); return n }
func written(row table.Row) int64  { n, _ := row.Extra[appendColumn].(int64); return n }
func gone(row table.Row) bool      { b, _ := row.Extra[goneColumn].(bool); return b }
func ownerOf(row table.Row) string { s, _ := row.Extra[ownerColumn].(string); return s }
func madeBy(row table.Row) string  { s, _ := row.Extra[embedderColumn].(string); return s }

var bookkeeping = []string{ownerColumn, numberColumn, goneColumn, embedderColumn, appendColumn}

// rowsPerRead bounds memory: with its vector, a row takes many times its size while it is JSON.
const rowsPerRead = 4000

// rows returns the rows that pass a filter.
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

// An account is what an owner has in the table.
type account struct {
	last    int64                // number of its last batch
	live    map[string]table.Row // by ID: the last word on each record, also on those withdrawn
	appends map[int64]bool
	stale   []string // IDs of which there are rows beside the last word
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

// older tells whether a row says less of its record than another. Of two with one number, which an
// append that was repeated and a compaction that was cut short leave, the one written last counts.
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
	batch := int64(0) // the same if a step has to be repeated
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
		_ = compact(ctx, opened, owner) // the batch is published; the next one tries again
		return nil
	})
}

// rowsOf are those of a batch in a table with vectors of the given dimension.
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

// replaced are the IDs of which there are older rows than those of a batch.
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

// clean deletes the rows of these records that are not the last word, also those that say the same: a
// publisher that was killed while it compacted leaves all rows of an owner twice. Deleting by append
// takes one commit then, by number one for each batch there ever was.
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
			// What is newer than what was read here stays.
			where := table.And(ownedBy(owner), table.In("id", ids), notIn(written), numberColumn+" <= "+strconv.FormatInt(a.last, 10))
			if err := t.Delete(ctx, where); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxAppends is how many appends of an owner there are at most: every one is a file that each reader
// looks into.
const maxAppends = 64

// compact appends the rows of an owner again, as one, with the numbers they have, and deletes the
// others. Until then readers find rows twice, which they take as once; if it does not come to that, the
// next publisher cleans.
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

// notIn passes the rows of other appends.
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
		return nil, nil, fmt.Errorf("read shared memory %s: there was a table and it is missing: bring it back, or begin anew with memcore index --rebuild", t.uri)
	}
	return changes, next, err
}

// noOwner owns the row whose number tells this table from one that was made anew in its place.
const noOwner = ""

// identity returns that number. If there is none yet, it is 0 or, if asked for, made; of two that were
// made at once the lower counts.
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
	made := 1 + rand.Int64N(1<<53-1) // exact also for readers to whom all numbers are floating
	return made, t.Add(ctx, []table.Row{{Record: store.Record{ID: strconv.FormatInt(made, 16)}, Extra: map[string]any{
		ownerColumn: noOwner, numberColumn: made, goneColumn: true, embedderColumn: "", appendColumn: time.Now().UnixMicro()}}})
}

// newerThan is the filter for what others than owner have published since.
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

// rowsPerStep is how many rows Changes returns at least, if there are as many: so much is held in memory,
// and lost when a reader is interrupted.
const rowsPerStep = 4000

// step is the filter for the first of these batches, owner by owner, and advances the cursor by them.
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

// changesOf orders rows by owner and number and leaves out what they replace.
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
