//go:build lancedb

package lancedb

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/memcore/memcore/internal/generation"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/lancedb/internal/dataset"
	"github.com/memcore/memcore/store/lancedb/internal/table"
)

const (
	idsPerDelete  = 1000
	rowsPerAppend = 50_000 // bounds memory: an append is held twice, as rows and as Arrow
)

// Commit implements store.Index.
func (ix *Index) Commit(ctx context.Context) error {
	taken, err := ix.takeBatch()
	if err != nil {
		return ix.fail("commit", err)
	}
	if len(taken.order) == 0 {
		return nil
	}
	return ix.rewrite(ctx, "commit", func(c *commit) error {
		if err := c.apply(ctx, taken); err != nil {
			return err
		}
		return c.merge(ctx, ix.limits.small(c.data.Fragments))
	})
}

// rewrite lets do work in the next generation, then publishes that.
func (ix *Index) rewrite(ctx context.Context, op string, do func(*commit) error) error {
	select {
	case ix.committing <- struct{}{}:
	case <-ctx.Done():
		return ix.fail(op, ctx.Err())
	}
	ended := func() { <-ix.committing }
	_, err := ix.readOnce(ctx, func(s *snapshot) error {
		c, err := ix.begin(ctx, s)
		if err != nil {
			return err
		}
		if err = do(c); err == nil {
			err = c.finish(ctx)
		}
		if err == nil {
			return c.next.Publish()
		}
		c.next.Abandon()
		ended = func() { ix.behind.Go(func() { ix.clear(c) }) }
		return err
	})
	ended()
	return ix.fail(op, err)
}

// clear removes what an abandoned commit has made, when the native call that was cancelled has ended:
// it may still be writing, into a folder whose name no other commit has.
func (ix *Index) clear(c *commit) {
	_ = c.table.Close() // nobody needs what it has done
	_ = os.RemoveAll(c.database())
	<-ix.committing
}

// A commit is the next generation at work.
type commit struct {
	meta
	next  *generation.Next
	table *table.Table
	data  *dataset.Dataset // what is there now
}

func (c *commit) database() string { return filepath.Join(c.next.Path(), c.Database) }

// begin takes over what is alive in s.
func (ix *Index) begin(ctx context.Context, s *snapshot) (*commit, error) {
	next, err := ix.root.Begin(ctx, nil)
	if err != nil {
		return nil, err
	}
	c := &commit{meta: s.meta, next: next, data: s.data}
	c.Database, c.Appends = newName(), maps.Clone(s.Appends)
	if c.Appends == nil {
		c.Appends = map[uint64]int64{}
	}
	if next.Number() != s.number+1 {
		err = fmt.Errorf("generation %d was read, now it would be %d: another process commits, or the index was removed",
			s.number, next.Number())
	} else if s.number > 0 {
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
	alive, err := s.data.Alive()
	if err != nil {
		return err
	}
	folder := filepath.Join(s.database(), tableFolder)
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		rel, err := filepath.Rel(folder, path)
		if err != nil || !alive(filepath.ToSlash(rel)) {
			return err
		}
		inside := "/" + tableFolder + "/" + filepath.ToSlash(rel)
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

// apply deletes what the batch deletes or replaces, and appends what it puts.
func (c *commit) apply(ctx context.Context, b batch) error {
	if len(c.data.Fragments) > 0 {
		for ids := range slices.Chunk(b.order, idsPerDelete) {
			if err := c.table.Delete(ctx, table.In("id", ids)); err != nil {
				return err
			}
		}
	}
	return c.append(ctx, b.put())
}

// append adds records and notes which fragments they are in.
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

// reread brings c.data up to date.
func (c *commit) reread() (err error) {
	c.data, err = dataset.Read(filepath.Join(c.database(), tableFolder))
	return err
}

// finish makes the generation ready to be published.
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
	return c.meta.write(c.next.Path())
}

// prune removes what only the versions between the last commit and this one consist of.
func (c *commit) prune() error {
	if err := c.reread(); err != nil {
		return err
	}
	alive, err := c.data.Alive()
	if err != nil {
		return err
	}
	folder := filepath.Join(c.database(), tableFolder)
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		rel, err := filepath.Rel(folder, path)
		if err != nil || alive(filepath.ToSlash(rel)) {
			return err
		}
		return os.Remove(path)
	})
}

// compacted notes the time.
func (c *commit) compacted() { c.Compacted = time.Now().UTC().Truncate(time.Second) }
