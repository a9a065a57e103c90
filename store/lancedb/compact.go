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

// limits say when to compact. Moving a row takes about 0.1 ms.
type limits struct {
	full       uint64  // rows of a large fragment, which is merged only if mostly dead
	fragments  int     // approximate number of smaller ones after a commit
	quick      uint64  // rows that a commit usually moves at most
	dead       float64 // largest share of dead rows in a fragment after Compact
	part       float64 // share of all rows below which Compact merges fragments
	indexFrom  int     // fewest rows with an approximate index on vectors
	lookupFrom int     // fewest rows with indexes on ID and path
	stale      float64 // largest share of rows that an index lacks after Compact
	staleRows  uint64  // most rows that an index lacks after Compact
}

var defaultLimits = limits{
	full: 4096, fragments: 12, quick: 300, dead: 0.2, part: 0.1, indexFrom: 20_000, lookupFrom: 2_000, stale: 0.1, staleRows: 30_000,
}

// small chooses the fragments that a commit merges: mostly dead ones, and, if many, small ones.
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

// maxMoved bounds the rows that a Compact moves, in about 20 s.
const maxMoved = 150_000

// large chooses the fragments that Compact rewrites: those with dead rows, and several small ones,
// the smallest first.
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
		return nil // one small fragment gains nothing
	}
	return chosen
}

func (l limits) rotten(f dataset.Fragment) bool { return float64(f.Deleted) > l.dead*float64(f.Rows) }

// merge appends the live rows of fragments as few new ones.
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
		return err // never delete unread rows
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

// wholly requires each live row of fragments once in records.
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

// rowsPerRead bounds memory: JSON multiplies a vector's size.
const rowsPerRead = 4000

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

// An index of a column, under Lance's default name.
type index struct {
	name, column string
	kind         contracts.IndexType
	from         func(limits) int // fewest rows with it
}

const vectorIndex = "vector_idx"

var indexes = []index{
	{vectorIndex, "vector", contracts.IndexTypeIvfFlat, func(l limits) int { return l.indexFrom }},
	{"id_idx", "id", contracts.IndexTypeBTree, func(l limits) int { return l.lookupFrom }},
	{"path_idx", "path", contracts.IndexTypeBTree, func(l limits) int { return l.lookupFrom }},
}

// due returns missing indexes, and those that lack rows: Lance scans these.
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

func (c *commit) index(ctx context.Context, due []index) error {
	for _, x := range due {
		if err := c.table.CreateIndex(ctx, x.column, x.kind); err != nil {
			return fmt.Errorf("index on %s: %w", x.column, err)
		}
	}
	return c.reread()
}
