//go:build lancedb

package changelog

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/memcore/memcore/internal/lancedb/table"
	"github.com/memcore/memcore/service/store"
	index "github.com/memcore/memcore/store"
)

// Columns of the table beside those of a record.
const (
	revisionColumn = "revision" // ID of the revision; a record has one of its own
	goneColumn     = "gone"
	byColumn       = "by"
	atColumn       = "at"       // microseconds since 1970
	sequenceColumn = "sequence" // of the append, from 1
	appendColumn   = "append"   // ID of the append
	placeColumn    = "place"    // in the append
	copyColumn     = "copy"     // made by Compact
)

// placeBits are the low bits of an order; the others are the sequence of the append.
const placeBits = 20

// MostRevisions is how many revisions an Append takes.
const MostRevisions = 1 << placeBits

// A Log is a store.Changelog.
type Log struct {
	uri    string
	schema *arrow.Schema

	objects store.Objects // that the table consists of; may be nil
	folder  string        // of the table in objects

	mu    sync.Mutex
	tip   int64     // version of the table that was read last
	tipAt time.Time // when it was
}

var _ store.Changelog = (*Log)(nil)

// Open opens the log at uri: a folder, or such as s3://bucket/prefix, after Below.
// It does not connect. The first Append makes the table. With objects, of which folder is the
// log's, a reader with the newest mark costs two requests that list nothing.
func Open(uri string, objects store.Objects, folder string) *Log {
	return &Log{uri: uri, objects: objects, folder: folder, schema: table.Schema(1, table.TextColumn(revisionColumn), table.BoolColumn(goneColumn), table.TextColumn(byColumn),
		table.NumberColumn(atColumn), table.NumberColumn(sequenceColumn), table.TextColumn(appendColumn), table.NumberColumn(placeColumn),
		table.BoolColumn(copyColumn))}
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
	open := table.OpenOrCreate
	if mark.Order > 0 { // a log that was dropped does not begin again
		open = table.Open
	}
	rows := rowsFor(revisions, mark.Order>>placeBits+1)
	err = retry(ctx, l.uri, "write to log", l.schema, open, func(t *table.Table) error {
		// An attempt that failed may have added them.
		since, next, err = read(ctx, t, mark)
		if err != nil || len(since) > 0 {
			return err
		}
		if err := t.Add(ctx, rows); err != nil {
			return err
		}
		version, err := t.Version(ctx)
		if err == nil && int64(version) == next.Version+1 { // nobody else has written since
			since = revisionsOf(rows, 0)
			next = store.Mark{Version: int64(version), Order: since[len(since)-1].Order}
			return nil
		}
		since, next, err = read(ctx, t, mark)
		return err
	})
	l.reached(next, err)
	switch {
	case errors.Is(err, table.ErrMissing):
		return nil, mark, fmt.Errorf("write to log %s: %w", l.uri, store.ErrGone)
	case err != nil:
		return nil, mark, err
	case len(since) == 0 || since[0].ID != revisions[0].ID:
		return since, next, fmt.Errorf("write to log %s: %w", l.uri, store.ErrBehind)
	case len(since) > len(revisions): // an attempt whose answer was lost has added them, and others followed
		since = since[:len(revisions)]
		next = store.Mark{Order: since[len(since)-1].Order}
	}
	return since, next, nil
}

// Since implements store.Changelog.
func (l *Log) Since(ctx context.Context, mark store.Mark) (since []store.Revision, next store.Mark, err error) {
	if l.isNewest(ctx, mark) {
		return nil, mark, nil
	}
	err = retry(ctx, l.uri, "read log", l.schema, table.Open, func(t *table.Table) error {
		since, next, err = read(ctx, t, mark)
		return err
	})
	l.reached(next, err)
	if errors.Is(err, table.ErrMissing) {
		if mark.Order > 0 {
			return nil, mark, fmt.Errorf("read log %s: %w", l.uri, store.ErrGone)
		}
		return nil, store.Mark{}, nil
	}
	return since, next, err
}

// tipAge is how long a Log believes that the version after the one that it has read still exists if
// it was made: Lance removes versions of the table after 14 days.
const tipAge = time.Hour

func (l *Log) reached(mark store.Mark, err error) {
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tip, l.tipAt = mark.Version, time.Now()
}

// isNewest reports whether the table surely has no version after that of the mark: its manifest
// exists, and the next one does not. Lance numbers them one by one.
func (l *Log) isNewest(ctx context.Context, mark store.Mark) bool {
	l.mu.Lock()
	wasRead := mark.Version > 0 && l.tip == mark.Version && time.Since(l.tipAt) < tipAge
	l.mu.Unlock()
	if l.objects == nil || !wasRead {
		return false
	}
	var next error
	var asked sync.WaitGroup
	asked.Go(func() { _, next = l.objects.Get(ctx, l.manifest(mark.Version+1)) })
	_, err := l.objects.Get(ctx, l.manifest(mark.Version))
	asked.Wait()
	return err == nil && errors.Is(next, fs.ErrNotExist)
}

// manifest is the object that Lance makes for a version of a table, by its first scheme of names.
func (l *Log) manifest(version int64) string {
	return path.Join(l.folder, table.Name+".lance", "_versions", fmt.Sprintf("%d.manifest", version))
}

func read(ctx context.Context, t *table.Table, mark store.Mark) ([]store.Revision, store.Mark, error) {
	version, err := t.Version(ctx)
	if err != nil || int64(version) == mark.Version {
		return nil, mark, err
	}
	rows, err := rowsWhere(ctx, t, fmt.Sprintf("%s > %d", sequenceColumn, mark.Order>>placeBits))
	if err != nil {
		return nil, mark, err
	}
	all := revisionsOf(rows, 0)
	next := store.Mark{Version: int64(version), Order: mark.Order}
	if len(all) > 0 {
		next.Order = all[len(all)-1].Order
	}
	return all, next, nil
}

const rowsPerRead = 2000 // bounds memory

func rowsWhere(ctx context.Context, t *table.Table, where string) ([]table.Row, error) {
	columns := append(table.RecordColumns(), revisionColumn, goneColumn, byColumn, atColumn, sequenceColumn, appendColumn, placeColumn, copyColumn)
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

// revisionsOf returns the revisions of the rows that count, by order. rows are in the order in
// which they were appended; all sequences up to copied were copied, as far as they count, and those
// up to any copy among the rows.
func revisionsOf(rows []table.Row, copied int64) []store.Revision {
	winners := map[int64]string{} // the first append of each sequence
	for _, row := range rows {
		sequence := numberIn(row, sequenceColumn)
		if isCopy(row) {
			copied = max(copied, sequence)
		} else if _, known := winners[sequence]; !known {
			winners[sequence] = textIn(row, appendColumn)
		}
	}
	var all []store.Revision
	for _, row := range rows {
		if sequence := numberIn(row, sequenceColumn); isCopy(row) || sequence > copied && textIn(row, appendColumn) == winners[sequence] {
			all = append(all, revisionOf(row))
		}
	}
	slices.SortFunc(all, func(a, b store.Revision) int { return cmp.Compare(a.Order, b.Order) })
	return slices.CompactFunc(all, func(a, b store.Revision) bool { return a.Order == b.Order }) // of two compactions
}

func textIn(row table.Row, column string) string  { s, _ := row.Extra[column].(string); return s }
func numberIn(row table.Row, column string) int64 { n, _ := row.Extra[column].(int64); return n }
func isCopy(row table.Row) bool                   { b, _ := row.Extra[copyColumn].(bool); return b }

// rowsFor makes the rows of an append.
func rowsFor(revisions []store.Revision, sequence int64) []table.Row {
	id := rand.Text()
	rows := make([]table.Row, len(revisions))
	for i, r := range revisions {
		r.Order = sequence<<placeBits | int64(i)
		rows[i] = rowOf(r, id, false)
	}
	return rows
}

func rowOf(r store.Revision, id string, isCopy bool) table.Row {
	return table.Row{Record: index.Record{ID: rand.Text(), Path: r.Path, Text: r.Text}, Extra: map[string]any{
		revisionColumn: r.ID, goneColumn: r.Gone, byColumn: r.By, atColumn: r.At.UnixMicro(), appendColumn: id,
		sequenceColumn: r.Order >> placeBits, placeColumn: r.Order & (1<<placeBits - 1), copyColumn: isCopy}}
}

func revisionOf(row table.Row) store.Revision {
	r := store.Revision{ID: textIn(row, revisionColumn), Path: row.Record.Path, Text: row.Record.Text, By: textIn(row, byColumn),
		At: time.UnixMicro(numberIn(row, atColumn)).UTC(), Order: numberIn(row, sequenceColumn)<<placeBits | numberIn(row, placeColumn)}
	r.Gone, _ = row.Extra[goneColumn].(bool)
	return r
}

const idsPerDelete = 1000

// Compact implements store.Changelog. Its append is one commit. Until the rows that it copied are
// deleted, readers find them twice.
func (l *Log) Compact(ctx context.Context, before time.Time) error {
	err := retry(ctx, l.uri, "compact log", l.schema, table.Open, func(t *table.Table) error {
		rows, err := rowsWhere(ctx, t, "")
		if err != nil {
			return err
		}
		if err := t.Add(ctx, copies(revisionsOf(rows, 0), before)); err != nil {
			return err
		}
		for some := range slices.Chunk(rows, idsPerDelete) {
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

// copies returns rows of the revisions that are current or were replaced not before a time. The
// last append is always current, so that the copies tell how far they go.
func copies(all []store.Revision, before time.Time) []table.Row {
	replaced := map[string]time.Time{} // when the later revision of a path was written
	var rows []table.Row
	id := rand.Text()
	for _, r := range slices.Backward(all) {
		if at, known := replaced[r.Path]; !known || !at.Before(before) {
			rows = append(rows, rowOf(r, id, true))
		}
		replaced[r.Path] = r.At
	}
	slices.Reverse(rows)
	return rows
}

// Drop implements store.Changelog.
func (l *Log) Drop(ctx context.Context) error { return table.Drop(ctx, l.uri) }
