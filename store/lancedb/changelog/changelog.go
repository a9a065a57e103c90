//go:build lancedb

package changelog

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/cenkalti/backoff/v5"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/lancedb/internal/table"
	"github.com/memcore/memcore/store/lancedb/storage"
)

// Columns of the table beside those of a record.
const (
	revisionColumn = "revision" // ID of the revision; a record has one of its own
	goneColumn     = "gone"
	byColumn       = "by"
	atColumn       = "at"       // microseconds since 1970
	fragmentColumn = "fragment" // that the writer expected
	placeColumn    = "place"    // in the append
	copyColumn     = "copy"     // made by Compact
)

// counts passes the rows that count: copies, and those in the fragment that their writer expected.
const counts = "(" + copyColumn + " OR CAST(" + table.Address + " AS BIGINT) / 4294967296 = " + fragmentColumn + ")"

// placeBits are the low bits of an order; the others are the fragment, from 1.
const placeBits = 20

// MostRevisions is how many revisions an Append takes.
const MostRevisions = 1 << placeBits

// A Log is a store.Changelog.
type Log struct {
	uri    string
	schema *arrow.Schema
}

var _ store.Changelog = (*Log)(nil)

// Open opens the log at uri: a folder, or such as s3://bucket/prefix, after storage.SetEnvironment.
// It does not connect. The first Append makes the table.
func Open(uri string) *Log {
	return &Log{uri: uri, schema: table.Schema(1, table.TextColumn(revisionColumn), table.BoolColumn(goneColumn), table.TextColumn(byColumn),
		table.NumberColumn(atColumn), table.NumberColumn(fragmentColumn), table.NumberColumn(placeColumn), table.BoolColumn(copyColumn))}
}

// Name implements store.Changelog.
func (l *Log) Name() string { return l.uri }

// Append implements store.Changelog.
func (l *Log) Append(ctx context.Context, revisions []store.Revision, mark store.Mark) (since []store.Revision, next store.Mark, err error) {
	if len(revisions) == 0 || len(revisions) > MostRevisions {
		return nil, mark, fmt.Errorf("write to log %s: %d revisions, want 1 to %d", l.uri, len(revisions), MostRevisions)
	}
	revisions = slices.Clone(revisions)
	for i := range revisions {
		revisions[i].ID = cmp.Or(revisions[i].ID, rand.Text())
	}
	wait := backoff.NewExponentialBackOff() // with jitter, or two writers could meet for ever
	wait.InitialInterval, wait.MaxInterval = 10*time.Millisecond, time.Second
	for attempt := range attempts {
		since, next, err = l.appendOnce(ctx, revisions, mark, attempt == 0)
		if !errors.Is(err, errElsewhere) {
			break
		}
		select {
		case <-time.After(wait.NextBackOff()):
		case <-ctx.Done():
			return nil, mark, context.Cause(ctx)
		}
	}
	switch {
	case errors.Is(err, table.ErrMissing):
		return nil, mark, fmt.Errorf("write to log %s: %w", l.uri, store.ErrGone)
	case err != nil:
		return nil, mark, err
	case since[0].ID != revisions[0].ID:
		return since, next, fmt.Errorf("write to log %s: %w", l.uri, store.ErrBehind)
	case len(since) > len(revisions): // an attempt whose answer was lost has added them, and others followed
		since = since[:len(revisions)]
		next = store.Mark{Order: since[len(since)-1].Order}
	}
	return since, next, nil
}

// attempts of an Append, while others write.
const attempts = 20

// errElsewhere means that rows do not stand where they were expected, so that they do not count.
var errElsewhere = errors.New("too many others write at the same time")

// appendOnce adds rows unless there are revisions after the mark. At first it expects that nothing
// else follows the mark; later it looks for what does not count, such as what Compact appended.
func (l *Log) appendOnce(ctx context.Context, revisions []store.Revision, mark store.Mark, first bool) (since []store.Revision, next store.Mark, err error) {
	added := false
	open := table.OpenOrCreate
	if mark.Order > 0 { // a log that was dropped does not begin again
		open = table.Open
	}
	err = storage.Retry(ctx, l.uri, "write to log", l.schema, open, func(t *table.Table) error {
		// An attempt that failed may have added them.
		since, next, err = read(ctx, t, mark)
		if err != nil || len(since) > 0 {
			return err
		}
		fragment := mark.Order>>placeBits + 1
		if !first {
			if fragment, err = freeFragment(ctx, t, fragment); err != nil {
				return err
			}
		}
		if err := t.Add(ctx, rowsFor(revisions, fragment)); err != nil {
			return err
		}
		added = true
		since, next, err = read(ctx, t, mark)
		return err
	})
	if err == nil && added && len(since) == 0 {
		err = fmt.Errorf("write to log %s: %w", l.uri, errElsewhere)
	}
	return since, next, err
}

// freeFragment returns the first fragment, from 1, behind all rows; it is not before from.
func freeFragment(ctx context.Context, t *table.Table, from int64) (int64, error) {
	used := func(fragment int64) (bool, error) {
		rows, err := t.Select(ctx, table.Query{Columns: []string{"id"}, Where: fmt.Sprintf("%s >= %d", table.Address, (fragment-1)<<32), Limit: 1})
		return len(rows) > 0, err
	}
	low, step := from, int64(1) // all before low are used
	for {
		more, err := used(low + step - 1)
		switch {
		case err != nil:
			return 0, err
		case more:
			low, step = low+step, 2*step
		case step == 1:
			return low, nil
		default:
			step /= 2
		}
	}
}

// Since implements store.Changelog.
func (l *Log) Since(ctx context.Context, mark store.Mark) (since []store.Revision, next store.Mark, err error) {
	err = storage.Retry(ctx, l.uri, "read log", l.schema, table.Open, func(t *table.Table) error {
		since, next, err = read(ctx, t, mark)
		return err
	})
	if errors.Is(err, table.ErrMissing) {
		if mark.Order > 0 {
			return nil, mark, fmt.Errorf("read log %s: %w", l.uri, store.ErrGone)
		}
		return nil, store.Mark{}, nil
	}
	return since, next, err
}

func read(ctx context.Context, t *table.Table, mark store.Mark) ([]store.Revision, store.Mark, error) {
	version, err := t.Version(ctx)
	if err != nil || int64(version) == mark.Version {
		return nil, mark, err
	}
	rows, err := rowsWhere(ctx, t, table.And(counts, fmt.Sprintf("%s > %d", fragmentColumn, mark.Order>>placeBits-1)))
	if err != nil {
		return nil, mark, err
	}
	all := revisionsOf(rows)
	next := store.Mark{Version: int64(version), Order: mark.Order}
	if len(all) > 0 {
		next.Order = all[len(all)-1].Order
	}
	return all, next, nil
}

const rowsPerRead = 2000 // bounds memory

func rowsWhere(ctx context.Context, t *table.Table, where string) ([]table.Row, error) {
	columns := append(table.RecordColumns(), revisionColumn, goneColumn, byColumn, atColumn, fragmentColumn, placeColumn, copyColumn)
	var all []table.Row
	for {
		rows, err := t.Select(ctx, table.Query{Columns: columns, Where: where, Limit: rowsPerRead, Offset: len(all)})
		if err != nil {
			return nil, err
		}
		if all = append(all, rows...); len(rows) < rowsPerRead {
			return all, nil
		}
	}
}

// revisionsOf orders revisions. One counts once, also while Compact has copied it.
func revisionsOf(rows []table.Row) []store.Revision {
	all := make([]store.Revision, len(rows))
	for i, row := range rows {
		all[i] = revisionOf(row)
	}
	slices.SortFunc(all, func(a, b store.Revision) int { return cmp.Compare(a.Order, b.Order) })
	return slices.CompactFunc(all, func(a, b store.Revision) bool { return a.Order == b.Order })
}

// rowsFor makes the rows of an append that expects to become a fragment, from 1.
func rowsFor(revisions []store.Revision, expected int64) []table.Row {
	rows := make([]table.Row, len(revisions))
	for i, r := range revisions {
		r.Order = expected<<placeBits | int64(i)
		rows[i] = rowOf(r, false)
	}
	return rows
}

func rowOf(r store.Revision, isCopy bool) table.Row {
	return table.Row{Record: store.Record{ID: rand.Text(), Path: r.Path, Text: r.Text}, Extra: map[string]any{
		revisionColumn: r.ID, goneColumn: r.Gone, byColumn: r.By, atColumn: r.At.UnixMicro(),
		fragmentColumn: r.Order>>placeBits - 1, placeColumn: r.Order & (1<<placeBits - 1), copyColumn: isCopy}}
}

func revisionOf(row table.Row) store.Revision {
	text := func(column string) string { s, _ := row.Extra[column].(string); return s }
	number := func(column string) int64 { n, _ := row.Extra[column].(int64); return n }
	r := store.Revision{ID: text(revisionColumn), Path: row.Record.Path, Text: row.Record.Text, By: text(byColumn),
		At: time.UnixMicro(number(atColumn)).UTC(), Order: (number(fragmentColumn)+1)<<placeBits | number(placeColumn)}
	r.Gone, _ = row.Extra[goneColumn].(bool)
	return r
}

const idsPerDelete = 1000

// Compact implements store.Changelog. Its append is one commit. Until the rows that it copied are
// deleted, readers find them twice.
func (l *Log) Compact(ctx context.Context, before time.Time) error {
	err := storage.Retry(ctx, l.uri, "compact log", l.schema, table.Open, func(t *table.Table) error {
		rows, err := rowsWhere(ctx, t, counts)
		if err != nil {
			return err
		}
		ids, err := t.Select(ctx, table.Query{Columns: []string{"id"}}) // also of rows that do not count
		if err != nil {
			return err
		}
		if err := t.Add(ctx, copies(revisionsOf(rows), before)); err != nil {
			return err
		}
		for some := range slices.Chunk(ids, idsPerDelete) {
			names := make([]string, len(some))
			for i, row := range some {
				names[i] = row.Record.ID
			}
			if err := t.Delete(ctx, table.In("id", names)); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, table.ErrMissing) {
		return nil
	}
	return err
}

// copies returns rows of the revisions that count or were replaced not before a time.
func copies(all []store.Revision, before time.Time) []table.Row {
	replaced := map[string]time.Time{} // when the later revision of a path was written
	var rows []table.Row
	for _, r := range slices.Backward(all) {
		if at, known := replaced[r.Path]; !known || !at.Before(before) {
			rows = append(rows, rowOf(r, true))
		}
		replaced[r.Path] = r.At
	}
	slices.Reverse(rows)
	return rows
}

// Drop implements store.Changelog.
func (l *Log) Drop(ctx context.Context) error { return table.Drop(ctx, l.uri) }
