package flat

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"

	"github.com/memcore/memcore/store"
)

// Check implements store.Index: it reads every byte and every record, of dead rows too.
func (ix *Index) Check(ctx context.Context) error {
	return ix.read(ctx, "check", func(s *snapshot) error {
		if s.identity == nil {
			return nil
		}
		if err := ix.checkFiles(s); err != nil {
			return err
		}
		live := map[key]bool{}
		for row := range s.Rows {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := s.checkRow(row, live); err != nil {
				return err
			}
		}
		return nil
	})
}

// checkFiles compares what is in memory with what is on disk now.
func (ix *Index) checkFiles(s *snapshot) error {
	return damaged(ix.root.View(func(number uint64, folder string) error {
		if number != s.number {
			return nil // a later one; this one may be gone
		}
		text, err := os.ReadFile(filepath.Join(folder, metaFile))
		if err != nil {
			return err
		}
		if m, err := parseMeta(text); err != nil {
			return err
		} else if m != s.meta {
			return corrupt("meta says %+v, it was opened as %+v", m, s.meta)
		}
		f, err := openFiles(folder)
		if err != nil {
			return err
		}
		defer f.close()
		table := make([]byte, len(s.table))
		if _, err := f.table.ReadAt(table, 0); err != nil {
			return damaged(err)
		}
		if !bytes.Equal(table, s.table) {
			return corrupt("table is not what was opened")
		}
		return nil
	}))
}

func (s *snapshot) checkRow(row int, live map[key]bool) error {
	e := s.row(row)
	if !e.key().valid() {
		return corrupt("row %d has no valid ID", row)
	}
	if !s.dead.has(row) {
		if live[e.key()] {
			return corrupt("record %s is there twice", e.key())
		}
		live[e.key()] = true
		if got := s.find([]key{e.key()})[e.key()]; got != row {
			return corrupt("record %s is not found by its ID", e.key())
		}
	}
	if err := s.checkVector(row); err != nil {
		return err
	}
	if _, length := unit(s.vector(row)); !(math.Abs(length-1) <= tolerance) {
		return corrupt("vector of %s has length %v", e.key(), length)
	}
	if !bytes.Equal(s.codes.between(row, row+1), newCode(s.vector(row))) {
		return corrupt("code of %s is not that of its vector", e.key())
	}
	rec, err := s.record(row)
	if err == nil && e.day() != dayOf(rec.Time) {
		return corrupt("entry of %s is of day %d, its time is %v", e.key(), e.day(), rec.Time)
	}
	return err
}

var _ store.Index = (*Index)(nil)
