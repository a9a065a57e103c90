//go:build lancedb

package changelog

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/memcore/memcore/internal/lancedb/table"
	"github.com/memcore/memcore/service/store"
)

// Pages implements store.Changelog.
func (l *Log) Pages(ctx context.Context, mark store.Mark) iter.Seq2[[]store.Revision, error] {
	return func(yield func([]store.Revision, error) bool) {
		after := mark.Order >> placeBits // where an attempt that failed has got to
		stopped := false
		err := retry(ctx, l.uri, "read log", l.schema, table.Open, func(t *table.Table) error {
			sequences, copied, err := sequencesOf(ctx, t, after)
			if err != nil {
				return err
			}
			for first, last := range ranges(sequences) {
				rows, err := rowsWhere(ctx, t, fmt.Sprintf("%s >= %d AND %s <= %d", sequenceColumn, first, sequenceColumn, last))
				if err != nil {
					return err
				}
				all := revisionsOf(rows, copied)
				after = last
				if stopped = len(all) > 0 && !yield(all, nil); stopped {
					return nil
				}
			}
			return nil
		})
		if errors.Is(err, table.ErrMissing) {
			if err = nil; mark.Order > 0 {
				err = fmt.Errorf("read log %s: %w", l.uri, store.ErrGone)
			}
		}
		if err != nil && !stopped {
			yield(nil, err)
		}
	}
}

// sequencesOf counts the rows by sequence after one, and returns the last that was copied.
func sequencesOf(ctx context.Context, t *table.Table, after int64) (rows map[int64]int, copied int64, err error) {
	rows = map[int64]int{}
	for read := 0; ; {
		some, err := t.Select(ctx, table.Query{Columns: []string{sequenceColumn, copyColumn}, Limit: rowsPerRead, Offset: read,
			Where: fmt.Sprintf("%s > %d", sequenceColumn, after)})
		if err != nil {
			return nil, 0, err
		}
		for _, row := range some {
			sequence := numberIn(row, sequenceColumn)
			if rows[sequence]++; isCopy(row) {
				copied = max(copied, sequence)
			}
		}
		if read += len(some); len(some) < rowsPerRead {
			return rows, copied, nil
		}
	}
}

// ranges yields ranges of sequences with about as many rows as are read together.
func ranges(rows map[int64]int) iter.Seq2[int64, int64] {
	return func(yield func(first, last int64) bool) {
		first, count := int64(0), 0
		sorted := slices.Sorted(maps.Keys(rows))
		for i, sequence := range sorted {
			if count == 0 {
				first = sequence
			}
			count += rows[sequence]
			if i == len(sorted)-1 || count+rows[sorted[i+1]] > rowsPerRead {
				if !yield(first, sequence) {
					return
				}
				count = 0
			}
		}
	}
}
