//go:build lancedb

package lancedb

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/internal/disk"
	"github.com/memcore/memcore/store/lancedb/internal/dataset"
	"github.com/memcore/memcore/store/lancedb/internal/table"
)

const (
	tableFolder = table.Name + ".lance"
	// exactFolder holds the view without the index.
	exactFolder  = "exact"
	appendColumn = "append"
	sumColumn    = "sum"
)

// format: its number grows when older indexes cannot be used any more.
//
//	2: the manifest is written as in the other indexes
var format = store.ManifestFormat{Kind: "lancedb", Number: 2}

// A manifest describes the table of a generation.
type manifest struct {
	Dimension int `json:"dimension"`
	// Database is the table's folder in the generation, new at each commit: a cancelled one's
	// native call writes into its own.
	Database  string    `json:"database"`
	Append    int64     `json:"append"` // number of the last append
	Compacted time.Time `json:"compacted,omitzero"`
	// Appends are those of the table, by fragment.
	Appends map[uint64]int64 `json:"appends"`
}

// A snapshot is an open generation.
type snapshot struct {
	*engine
	manifest
	number uint64 // 0 if there is no generation
	folder string
	data   *dataset.Dataset

	opening sync.Mutex // guards the tables, which open on first use
	table   *table.Table
	exact   *table.Table
}

func openSnapshot(e *engine, number uint64, folder string, dimension int) (*snapshot, error) {
	s := &snapshot{engine: e, manifest: manifest{Dimension: dimension}, number: number, folder: folder, data: &dataset.Dataset{}}
	if number == 0 {
		return s, nil
	}
	if err := format.Read(folder, &s.manifest); err != nil {
		return nil, disk.Damaged(err)
	}
	if s.Dimension != dimension {
		return nil, store.ErrDimension
	}
	var err error
	if s.data, err = dataset.Read(filepath.Join(s.database(), tableFolder)); err != nil {
		return nil, disk.Damaged(err)
	}
	if missing := s.data.Missing(); missing != "" {
		return nil, disk.Corrupt("%s is missing in %s", missing, s.database())
	}
	return s, nil
}

// Unchanged implements generation.Snapshot.
func (s *snapshot) Unchanged(string) bool { return true }

func (s *snapshot) database() string { return filepath.Join(s.folder, s.Database) }

func (s *snapshot) rows() int {
	live, _ := s.data.Rows()
	return int(live)
}

// approximate reports whether the table has an index on vectors.
func (s *snapshot) approximate() bool {
	_, ok := s.data.Index(vectorIndex)
	return ok
}

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

// Close implements generation.Snapshot. Tables close in the background, lest a cancelled search
// hold it up.
func (s *snapshot) Close() error {
	s.behind.Go(func() {
		s.opening.Lock()
		defer s.opening.Unlock()
		for _, t := range []*table.Table{s.table, s.exact} {
			if t != nil {
				_ = t.Close() // it was only read
			}
		}
	})
	return nil
}
