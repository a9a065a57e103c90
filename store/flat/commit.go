package flat

import (
	"context"
	"os"
	"path/filepath"

	"github.com/memcore/memcore/internal/generation"
	"github.com/memcore/memcore/internal/varint"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/internal/disk"
)

// maxDead is the share of dead rows above which files are rewritten.
const maxDead = 0.3

// A commit writes the generation that follows a snapshot.
type commit struct {
	ctx     context.Context
	last    *snapshot
	changes []disk.Change
	dead    []uint32 // rows that die with it
	added   int      // rows that come with it
}

func newCommit(ctx context.Context, s *snapshot, changes []disk.Change) *commit {
	c := &commit{ctx: ctx, last: s, changes: changes}
	keys := make([]key, len(changes))
	for i, change := range changes {
		keys[i] = keyOf(change.ID)
		if change.Record != nil {
			c.added++
		}
	}
	rows := s.find(keys)
	for _, k := range keys {
		if row, known := rows[k]; known {
			c.dead = append(c.dead, uint32(row))
		}
	}
	return c
}

// Commit implements disk.Snapshot. It appends, or writes new files if too many rows are dead.
func (s *snapshot) Commit(ctx context.Context, dir *generation.Dir, changes []disk.Change) error {
	c := newCommit(ctx, s, changes)
	if len(c.dead)+c.added == 0 {
		return nil
	}
	if c.compacts() {
		return c.rewrite(dir)
	}
	share := func(path string) bool { return path != store.ManifestFile }
	return dir.Write(ctx, s.number, share, func(next *generation.Next) error { return c.write(next, s, c.bury) })
}

// Purge implements disk.Snapshot.
func (s *snapshot) Purge(ctx context.Context, dir *generation.Dir) error {
	if s.number == 0 || s.Live == s.Rows && !s.hasMore() {
		return nil
	}
	return newCommit(ctx, s, nil).rewrite(dir)
}

// hasMore reports whether a writer that was killed has left records beyond those that count.
func (s *snapshot) hasMore() bool {
	info, err := os.Stat(filepath.Join(s.folder, recordsFile))
	return err == nil && info.Size() > s.Records
}

// rewrite writes new files.
func (c *commit) rewrite(dir *generation.Dir) error {
	return dir.Write(c.ctx, c.last.number, nil, func(next *generation.Next) error {
		return c.write(next, emptySnapshot(c.last.Dimension), c.copyLive)
	})
}

// compacts reports whether the commit writes new files.
func (c *commit) compacts() bool {
	dead := c.last.dead.count + len(c.dead)
	return float64(dead) > maxDead*float64(c.last.Rows+c.added)
}

// write appends what before writes, then the new rows.
func (c *commit) write(next *generation.Next, last *snapshot, before func(*output) error) error {
	out, err := newOutput(next, last)
	if err != nil {
		return err
	}
	if err = before(out); err == nil {
		err = c.add(out)
	}
	if err = out.close(err); err != nil {
		return err
	}
	text, err := format.Encode(next.Path(), out.manifest)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(next.Path(), store.ManifestFile), text, 0o600)
}

// bury writes the dead rows.
func (c *commit) bury(out *output) error {
	for _, row := range c.dead {
		if err := out.addDead(row); err != nil {
			return err
		}
	}
	return nil
}

// copyLive verifies live rows, so that damage does not get a new checksum.
func (c *commit) copyLive(out *output) error {
	s := c.last
	dead := s.dead.clone(s.Rows)
	for _, row := range c.dead {
		dead.add(int(row))
	}
	for row := range s.Rows {
		if dead.has(row) {
			continue
		}
		if err := c.ctx.Err(); err != nil {
			return err
		}
		if err := s.checkVector(row); err != nil {
			return err
		}
		e := s.row(row)
		record, err := s.readRecord(e)
		if err != nil {
			return err
		}
		if err := out.addRow(s.places[s.place[row]], newRowEntry(e.key(), e.day(), record, e.vectorSum()), record, s.vector(row)); err != nil {
			return err
		}
	}
	return nil
}

// add writes the new rows.
func (c *commit) add(out *output) error {
	for _, change := range c.changes {
		r := change.Record
		if r == nil {
			continue
		}
		if err := c.ctx.Err(); err != nil {
			return err
		}
		var record varint.Encoder
		disk.AppendRecord(&record, r)
		e := newRowEntry(keyOf(r.ID), disk.DayOf(r.Time), record, checksum(bytesOf(r.Vector)))
		if err := out.addRow(place{r.Scope, r.Kind, r.Path}, e, record, r.Vector); err != nil {
			return err
		}
	}
	return nil
}
