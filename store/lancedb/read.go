//go:build lancedb

package lancedb

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/lancedb/internal/table"
)

// Document implements store.Index.
func (ix *Index) Document(ctx context.Context, path string) (recs []store.Record, err error) {
	err = ix.read(ctx, "document", func(s *snapshot) error {
		recs, err = s.document(ctx, path)
		return err
	})
	if err != nil {
		return nil, err
	}
	return recs, nil
}

func (s *snapshot) document(ctx context.Context, path string) ([]store.Record, error) {
	if s.rows() == 0 {
		return nil, nil
	}
	t, err := s.all(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := t.Select(ctx, table.Query{Columns: table.RecordColumns(), Where: "path = " + table.Text(path)})
	if err != nil {
		return nil, err
	}
	var recs []store.Record
	for _, row := range rows {
		recs = append(recs, row.Record)
	}
	slices.SortFunc(recs, func(a, b store.Record) int {
		return cmp.Or(cmp.Compare(a.StartLine, b.StartLine), cmp.Compare(a.ID, b.ID))
	})
	return recs, nil
}

// Count implements store.Index.
func (ix *Index) Count(ctx context.Context) (n int, err error) {
	err = ix.read(ctx, "count", func(s *snapshot) error {
		n = s.rows()
		return nil
	})
	return n, err
}

// Stats implements store.Index.
func (ix *Index) Stats(ctx context.Context) (stats store.Stats, err error) {
	err = ix.read(ctx, "stats", func(s *snapshot) error {
		live, dead := s.data.Rows()
		stats = store.Stats{
			Engine: "lancedb", Records: int(live), Deleted: int(dead), Fragments: len(s.data.Fragments),
			Versions: s.versions(), Compacted: s.Compacted, Index: s.index(),
		}
		stats.Bytes, err = s.size()
		return err
	})
	return stats, err
}

// versions is the number of versions of the table that this generation keeps.
func (s *snapshot) versions() int {
	if s.number == 0 {
		return 0
	}
	return s.data.Versions()
}

func (s *snapshot) index() string {
	index, ok := s.data.Index(vectorIndex)
	if !ok {
		return "exact"
	}
	return fmt.Sprintf("IVF_FLAT of %d rows, %d searched exactly", s.rows()-int(s.data.Uncovered(index)), s.data.Uncovered(index))
}

// size is the number of bytes of all files of the generation.
func (s *snapshot) size() (bytes int64, err error) {
	if s.number == 0 {
		return 0, nil
	}
	err = filepath.WalkDir(s.folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := os.Lstat(path)
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	return bytes, err
}

// Check implements store.Index.
func (ix *Index) Check(ctx context.Context) error {
	return ix.read(ctx, "check", func(s *snapshot) error {
		if s.number == 0 {
			return nil
		}
		return s.check(ctx)
	})
}

func (s *snapshot) check(ctx context.Context) error {
	t, err := s.exactly(ctx)
	if err != nil {
		return damage(ctx, err)
	}
	ids := map[string]bool{}
	for {
		rows, err := t.Select(ctx, table.Query{Columns: append(table.RecordColumns(), "vector", sumColumn), Limit: rowsPerRead, Offset: len(ids)})
		if err != nil {
			return damage(ctx, err)
		}
		for _, row := range rows {
			if err := checkRow(row, s.Dimension); err != nil {
				return err
			}
			if ids[row.Record.ID] {
				return fmt.Errorf("%w: two rows have the ID %s", store.ErrCorrupt, row.Record.ID)
			}
			ids[row.Record.ID] = true
		}
		if len(rows) < rowsPerRead {
			break
		}
	}
	if len(ids) != s.rows() {
		return fmt.Errorf("%w: %d rows can be read, the table says %d", store.ErrCorrupt, len(ids), s.rows())
	}
	return nil
}

func checkRow(row table.Row, dimension int) error {
	switch {
	case len(row.Record.Vector) != dimension:
		return fmt.Errorf("%w: vector of record %q has %d numbers, want %d", store.ErrCorrupt, row.Record.ID, len(row.Record.Vector), dimension)
	case row.Extra[sumColumn] != sumOf(row.Record):
		return fmt.Errorf("%w: record %q has the wrong checksum", store.ErrCorrupt, row.Record.ID)
	}
	return nil
}

// damage says that a table which could not be read is damaged, unless the reader was stopped.
func damage(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %w", store.ErrCorrupt, err)
}
