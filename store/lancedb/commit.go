//go:build lancedb

package lancedb

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/memcore/memcore/internal/generation"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/internal/disk"
	"github.com/memcore/memcore/store/lancedb/internal/dataset"
	"github.com/memcore/memcore/store/lancedb/internal/table"
)

const (
	idsPerDelete  = 1000
	rowsPerAppend = 50_000 // bounds memory: an append is held as rows and as Arrow
)

// A commit prepares the next generation.
type commit struct {
	manifest
	next  *generation.Next
	table *table.Table
	data  *dataset.Dataset // the current state
}

func (c *commit) database() string { return filepath.Join(c.next.Path(), c.Database) }

// begin prepares the next generation with s's live files.
func (s *snapshot) begin(ctx context.Context, dir *generation.Dir) (*commit, error) {
	next, err := dir.BeginAfter(ctx, s.number, nil)
	if err != nil {
		return nil, err
	}
	c := &commit{manifest: s.manifest, next: next, data: s.data}
	c.Database, c.Appends = newName(), maps.Clone(s.Appends)
	if c.Appends == nil {
		c.Appends = map[uint64]int64{}
	}
	if s.number > 0 {
		err = c.takeOver(ctx, s)
	}
	if err == nil {
		err = c.openTable(ctx, s.number == 0)
	}
	if err != nil {
		next.Abandon()
		return nil, err
	}
	return c, nil
}

func newName() string {
	var random [6]byte
	_, _ = rand.Read(random[:]) // never fails
	return "db-" + hex.EncodeToString(random[:])
}

func (c *commit) takeOver(ctx context.Context, s *snapshot) error {
	return s.data.Walk(func(file string, alive bool) error {
		if !alive {
			return nil
		}
		inside := "/" + tableFolder + "/" + file
		return c.next.Take(ctx, s.Database+inside, c.Database+inside)
	})
}

func (c *commit) openTable(ctx context.Context, first bool) (err error) {
	if first {
		c.table, err = table.Create(ctx, c.database(), schemaOf(c.Dimension))
	} else {
		c.table, err = table.Open(ctx, c.database(), schemaOf(c.Dimension))
	}
	return err
}

// apply deletes and replaces, then appends.
func (c *commit) apply(ctx context.Context, changes []disk.Change) error {
	ids := make([]string, len(changes))
	var put []store.Record
	for i, change := range changes {
		ids[i] = change.ID
		if change.Record != nil {
			put = append(put, *change.Record)
		}
	}
	if len(c.data.Fragments) > 0 {
		for some := range slices.Chunk(ids, idsPerDelete) {
			if err := c.table.Delete(ctx, table.In("id", some)); err != nil {
				return err
			}
		}
	}
	return c.append(ctx, put)
}

// append also stores which fragments got the records.
func (c *commit) append(ctx context.Context, records []store.Record) error {
	for some := range slices.Chunk(records, rowsPerAppend) {
		c.Append++
		rows := make([]table.Row, len(some))
		for i, record := range some {
			rows[i] = table.Row{Record: record, Extra: map[string]any{appendColumn: c.Append, sumColumn: sumOf(record)}}
		}
		if err := c.table.Add(ctx, rows); err != nil {
			return err
		}
		if err := c.reread(); err != nil {
			return err
		}
		for _, f := range c.data.Fragments {
			if _, known := c.Appends[f.ID]; !known {
				c.Appends[f.ID] = c.Append
			}
		}
	}
	return c.reread()
}

// reread updates c.data.
func (c *commit) reread() (err error) {
	c.data, err = dataset.Read(filepath.Join(c.database(), tableFolder))
	return err
}

// finish completes the generation for publishing.
func (c *commit) finish(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := c.table.Close(); err != nil {
		return err
	}
	if err := c.prune(); err != nil {
		return err
	}
	if _, approximate := c.data.Index(vectorIndex); approximate {
		if err := c.data.WriteWithout(vectorIndex, filepath.Join(c.database(), exactFolder, tableFolder)); err != nil {
			return err
		}
	}
	present := map[uint64]bool{}
	for _, f := range c.data.Fragments {
		present[f.ID] = true
	}
	maps.DeleteFunc(c.Appends, func(id uint64, _ int64) bool { return !present[id] })
	text, err := format.Encode(c.next.Path(), c.manifest)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.next.Path(), store.ManifestFile), text, 0o600)
}

// prune removes files of versions between two commits.
func (c *commit) prune() error {
	if err := c.reread(); err != nil {
		return err
	}
	return c.data.Walk(func(file string, alive bool) error {
		if alive {
			return nil
		}
		return os.Remove(filepath.Join(c.database(), tableFolder, filepath.FromSlash(file)))
	})
}

func (c *commit) compacted() { c.Compacted = time.Now().UTC().Truncate(time.Second) }
