//go:build lancedb

package lancedb

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/lancedb/internal/dataset"
	"github.com/memcore/memcore/store/lancedb/internal/table"
)

const (
	tableFolder = table.Name + ".lance"
	// exactFolder, beside the table's, is the database of the view that has no index.
	exactFolder  = "exact"
	appendColumn = "append"
	sumColumn    = "sum"
)

// A snapshot is a generation opened for reading.
type snapshot struct {
	meta
	number   uint64 // 0 if there is no generation yet
	folder   string
	identity fs.FileInfo // of the meta file
	data     *dataset.Dataset

	users int // guarded by Index.mu

	opening sync.Mutex // guards the tables, which are opened when first needed
	table   *table.Table
	exact   *table.Table
}

func emptySnapshot(dimension int) *snapshot {
	return &snapshot{meta: meta{Format: metaFormat, Dimension: dimension}, data: &dataset.Dataset{}}
}

func openSnapshot(number uint64, folder string, dimension int) (*snapshot, error) {
	s := &snapshot{number: number, folder: folder}
	var err error
	if s.identity, err = os.Stat(filepath.Join(folder, metaFile)); err != nil {
		return nil, err
	}
	if s.meta, err = readMeta(folder); err != nil {
		return nil, err
	}
	if s.Dimension != dimension {
		return nil, store.ErrDimension
	}
	if s.data, err = dataset.Read(filepath.Join(s.database(), tableFolder)); err != nil {
		return nil, err
	}
	if missing := s.data.Missing(); missing != "" {
		return nil, fmt.Errorf("%w: %s is missing in %s", store.ErrCorrupt, missing, s.database())
	}
	return s, nil
}

func (s *snapshot) database() string { return filepath.Join(s.folder, s.Database) }

// is tells whether s is the given generation: its number, with the same file, which it does not have
// if somebody deleted the index and built another.
func (s *snapshot) is(number uint64, folder string) bool {
	if s == nil || s.identity == nil || s.number != number {
		return false
	}
	now, err := os.Stat(filepath.Join(folder, metaFile))
	return err == nil && os.SameFile(now, s.identity) && now.ModTime().Equal(s.identity.ModTime())
}

// rows is the number of living rows.
func (s *snapshot) rows() int {
	live, _ := s.data.Rows()
	return int(live)
}

// approximate tells whether searches of the table use an index on vectors.
func (s *snapshot) approximate() bool {
	_, ok := s.data.Index(vectorIndex)
	return ok
}

// all returns the table with its approximate index, if it has one.
func (s *snapshot) all(ctx context.Context) (*table.Table, error) {
	return s.open(ctx, &s.table, s.database())
}

// exactly returns the table without an approximate index.
func (s *snapshot) exactly(ctx context.Context) (*table.Table, error) {
	if !s.approximate() {
		return s.all(ctx)
	}
	return s.open(ctx, &s.exact, filepath.Join(s.database(), exactFolder))
}

func (s *snapshot) open(ctx context.Context, known **table.Table, database string) (*table.Table, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	if *known != nil {
		return *known, nil
	}
	opened, err := table.Open(ctx, database, schemaOf(s.Dimension))
	if err != nil {
		return nil, err
	}
	*known = opened
	return opened, nil
}

func (s *snapshot) close() {
	s.opening.Lock()
	defer s.opening.Unlock()
	for _, t := range []*table.Table{s.table, s.exact} {
		if t != nil {
			_ = t.Close() // it was only read from
		}
	}
}
