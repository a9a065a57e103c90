//go:build lancedb

package lancedb

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lancedb/lancedb-go/pkg/contracts"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/lancedb/internal/dataset"
	"github.com/memcore/memcore/store/lancedb/internal/table"
)

// limits say when a table is tidied. Rows that move cost about 0.1 ms each.
type limits struct {
	full       uint64  // rows from which on a fragment is large enough: it is merged only if it is mostly dead
	fragments  int     // smaller ones that a commit leaves, about
	quick      uint64  // rows that a commit moves at most, as long as there is no need
	dead       float64 // share of dead rows that Compact leaves in a fragment at most
	part       float64 // share of all rows below which Compact merges fragments
	indexFrom  int     // rows from which on there is an approximate index on vectors
	lookupFrom int     // rows from which on there are indexes on ID and path
	stale      float64 // share of all rows that an index lacks at most after Compact
	staleRows  uint64  // rows that an index lacks at most after Compact
}

var defaultLimits = limits{
	full: 4096, fragments: 12, quick: 300, dead: 0.2, part: 0.1, indexFrom: 20_000, lookupFrom: 2_000, stale: 0.1, staleRows: 30_000,
}

// small chooses the fragments that a commit merges: small ones when there are many, and those that are
// mostly dead.
func (l limits) small(all []dataset.Fragment) []dataset.Fragment {
	sorted := slices.SortedFunc(slices.Values(all), func(a, b dataset.Fragment) int {
		return cmp.Or(cmp.Compare(a.Rows-a.Deleted, b.Rows-b.Deleted), cmp.Compare(a.ID, b.ID))
	})
	var chosen []dataset.Fragment
	moved := uint64(0)
	surplus := -l.fragments
	for _, f := range all {
		if f.Rows-f.Deleted < l.full {
			surplus++
		}
	}
	for i, f := range sorted {
		live := f.Rows - f.Deleted
		many := surplus > 0 && i < surplus+l.fragments/2 && live < l.full
		rotten := 2*f.Deleted > f.Rows
		urgent := surplus > l.fragments || f.Deleted > 4*live
		if (many || rotten) && (moved+live <= l.quick || urgent) {
			chosen = append(chosen, f)
			moved += live
		}
	}
	return chosen
}

// maxMoved is how many rows one Compact moves at most: about 20 seconds.
const maxMoved = 150_000

// large chooses the fragments that Compact rewrites: those with dead rows, and the smallest of those
// that are small beside all, if there are several.
func (l limits) large(all []dataset.Fragment) []dataset.Fragment {
	live := uint64(0)
	for _, f := range all {
		live += f.Rows - f.Deleted
	}
	sorted := slices.SortedFunc(slices.Values(all), func(a, b dataset.Fragment) int {
		return cmp.Or(cmp.Compare(a.Rows-a.Deleted, b.Rows-b.Deleted), cmp.Compare(a.ID, b.ID))
	})
	var chosen []dataset.Fragment
	moved := uint64(0)
	for _, f := range sorted {
		rows := f.Rows - f.Deleted
		little := rows < rowsPerAppend && float64(rows) < l.part*float64(live)
		if (little || l.rotten(f)) && (moved == 0 || moved+rows <= maxMoved) {
			chosen = append(chosen, f)
			moved += rows
		}
	}
	if len(chosen) == 1 && !l.rotten(chosen[0]) {
		return nil // a single small fragment gains nothing
	}
	return chosen
}

func (l limits) rotten(f dataset.Fragment) bool { return float64(f.Deleted) > l.dead*float64(f.Rows) }

// merge appends the living rows of fragments again, as few new ones, and deletes the old ones.
func (c *commit) merge(ctx context.Context, fragments []dataset.Fragment) error {
	if len(fragments) == 0 {
		return nil
	}
	where, err := c.whereIn(fragments)
	if err != nil {
		return err
	}
	records, err := c.read(ctx, where)
	if err != nil {
		return err
	}
	if err := c.wholly(records, fragments); err != nil {
		return err // what was not read must not be deleted
	}
	if err := c.append(ctx, records); err != nil {
		return err
	}
	if err := c.table.Delete(ctx, where); err != nil {
		return err
	}
	c.compacted()
	return c.reread()
}

// wholly tells whether records are all the living rows of fragments, each once.
func (c *commit) wholly(records []store.Record, fragments []dataset.Fragment) error {
	live := uint64(0)
	appends := map[int64]bool{}
	for _, f := range fragments {
		appends[c.Appends[f.ID]] = true
	}
	for _, f := range c.data.Fragments {
		if appends[c.Appends[f.ID]] {
			live += f.Rows - f.Deleted
		}
	}
	ids := map[string]bool{}
	for _, r := range records {
		ids[r.ID] = true
	}
	if uint64(len(ids)) != live || len(ids) != len(records) {
		return fmt.Errorf("%w: %d rows were read of fragments that have %d, with %d IDs", store.ErrCorrupt, len(records), live, len(ids))
	}
	return nil
}

// whereIn is the filter for the rows of fragments.
func (c *commit) whereIn(fragments []dataset.Fragment) (string, error) {
	numbers := map[string]bool{}
	for _, f := range fragments {
		n, known := c.Appends[f.ID]
		if !known {
			return "", fmt.Errorf("%w: no append is known for fragment %d", store.ErrCorrupt, f.ID)
		}
		numbers[strconv.FormatInt(n, 10)] = true
	}
	var list []string
	for n := range numbers {
		list = append(list, n)
	}
	slices.Sort(list)
	return appendColumn + " IN (" + strings.Join(list, ", ") + ")", nil
}

// rowsPerRead bounds memory: with its vector, a row takes many times its size while it is JSON.
const rowsPerRead = 4000

// read returns rows with their vectors.
func (c *commit) read(ctx context.Context, where string) ([]store.Record, error) {
	var records []store.Record
	for {
		rows, err := c.table.Select(ctx, table.Query{
			Columns: append(table.RecordColumns(), "vector", sumColumn), Where: where, Limit: rowsPerRead, Offset: len(records)})
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if err := checkRow(row, c.Dimension); err != nil {
				return nil, err // damage must not get a new checksum
			}
			records = append(records, row.Record)
		}
		if len(rows) < rowsPerRead {
			return records, nil
		}
	}
}

// Compact implements store.Compactor: it drops dead rows, merges fragments, and makes the approximate
// index, or makes it anew, if the table is large enough. Searches go on meanwhile; they see it when it
// is done.
func (ix *Index) Compact(ctx context.Context) error {
	var due bool
	if err := ix.read(ctx, "compact", func(s *snapshot) error {
		due = len(ix.limits.large(s.data.Fragments)) > 0 || len(ix.limits.due(s.data)) > 0
		return nil
	}); err != nil || !due {
		return err
	}
	return ix.rewrite(ctx, "compact", func(c *commit) error {
		if err := c.merge(ctx, ix.limits.large(c.data.Fragments)); err != nil {
			return err
		}
		c.compacted()
		return c.index(ctx, ix.limits.due(c.data))
	})
}

// An index on a column, with the name that Lance gives it.
type index struct {
	name, column string
	kind         contracts.IndexType
	from         func(limits) int // rows from which on there is one
}

const vectorIndex = "vector_idx"

var indexes = []index{
	{vectorIndex, "vector", contracts.IndexTypeIvfFlat, func(l limits) int { return l.indexFrom }},
	{"id_idx", "id", contracts.IndexTypeBTree, func(l limits) int { return l.lookupFrom }},
	{"path_idx", "path", contracts.IndexTypeBTree, func(l limits) int { return l.lookupFrom }},
}

// due returns the indexes that are to be made, or made anew: Lance searches all rows that they lack.
func (l limits) due(d *dataset.Dataset) []index {
	live, _ := d.Rows()
	var due []index
	for _, x := range indexes {
		made, ok := d.Index(x.name)
		if int(live) >= x.from(l) && (!ok || d.Uncovered(made) > min(l.staleRows, uint64(l.stale*float64(live)))) {
			due = append(due, x)
		}
	}
	return due
}

// index makes the indexes that are due.
func (c *commit) index(ctx context.Context, due []index) error {
	for _, x := range due {
		if err := c.table.CreateIndex(ctx, x.column, x.kind); err != nil {
			return fmt.Errorf("index on %s: %w", x.column, err)
		}
	}
	return c.reread()
}
