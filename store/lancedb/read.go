//go:build lancedb

package lancedb

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/internal/disk"
	"github.com/memcore/memcore/store/lancedb/internal/table"
)

// Document implements disk.Snapshot.
func (s *snapshot) Document(ctx context.Context, path string) ([]store.Record, error) {
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
	records := make([]store.Record, len(rows))
	for i, row := range rows {
		records[i] = row.Record
	}
	return records, nil
}

// each calls do with each record and its vector.
func (s *snapshot) each(ctx context.Context, do func(store.Record) error) error {
	if s.rows() == 0 {
		return nil
	}
	t, err := s.exactly(ctx)
	if err != nil {
		return err
	}
	for read := 0; ; {
		rows, err := t.Select(ctx, table.Query{Columns: append(table.RecordColumns(), "vector"), Limit: rowsPerRead, Offset: read})
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := do(row.Record); err != nil {
				return err
			}
		}
		if read += len(rows); len(rows) < rowsPerRead {
			return nil
		}
	}
}

// Count implements disk.Snapshot.
func (s *snapshot) Count() int { return s.rows() }

// Stats implements disk.Snapshot.
func (s *snapshot) Stats() (store.Stats, error) {
	live, dead := s.data.Rows()
	size, err := s.size()
	return store.Stats{
		Engine: "lancedb", Records: int(live), Deleted: int(dead), Fragments: len(s.data.Fragments),
		Versions: s.versions(), Compacted: s.Compacted, Index: s.index(), Bytes: size,
	}, err
}

// versions counts the generation's versions of the table.
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

// size counts the bytes of the generation's files.
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

// Check implements disk.Snapshot.
func (s *snapshot) Check(ctx context.Context) error {
	if s.number == 0 {
		return nil
	}
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
				return disk.Corrupt("two rows have the ID %s", row.Record.ID)
			}
			ids[row.Record.ID] = true
		}
		if len(rows) < rowsPerRead {
			break
		}
	}
	if len(ids) != s.rows() {
		return disk.Corrupt("%d rows can be read, the table says %d", len(ids), s.rows())
	}
	return nil
}

func checkRow(row table.Row, dimension int) error {
	switch {
	case len(row.Record.Vector) != dimension:
		return disk.Corrupt("vector of record %q has %d numbers, want %d", row.Record.ID, len(row.Record.Vector), dimension)
	case row.Extra[sumColumn] != sumOf(row.Record):
		return disk.Corrupt("record %q has the wrong checksum", row.Record.ID)
	}
	return nil
}

// damage turns a reading error into damage, unless ctx has ended.
func damage(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %w", store.ErrCorrupt, err)
}
