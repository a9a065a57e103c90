package flat

import (
	"context"
	"fmt"

	"github.com/memcore/memcore/internal/generation"
)

// Commit implements store.Index. It writes what has changed; when more than maxDead of the rows have
// died, it writes all that live anew.
func (ix *Index) Commit(ctx context.Context) error {
	ix.committing.Lock()
	defer ix.committing.Unlock()
	taken, err := ix.takeBatch()
	if err != nil {
		return ix.fail("commit", err)
	}
	if len(taken.changes) == 0 {
		return nil
	}
	return ix.read(ctx, "commit", func(s *snapshot) error {
		c := newCommit(ctx, s, taken)
		if len(c.dead)+c.added == 0 {
			return nil
		}
		return c.run(ix.root)
	})
}

// maxDead is the share of dead rows from which on all is written anew.
const maxDead = 0.3

// A commit is one at work.
type commit struct {
	ctx     context.Context
	last    *snapshot
	changes []change
	dead    []uint32 // rows that die with it
	added   int      // rows that come with it
}

func newCommit(ctx context.Context, s *snapshot, b batch) *commit {
	c := &commit{ctx: ctx, last: s, changes: b.changes}
	rows := s.find(b.keys())
	for _, change := range b.changes {
		if row, known := rows[change.key]; known {
			c.dead = append(c.dead, uint32(row))
		}
		if change.vector != nil {
			c.added++
		}
	}
	return c
}

// compacts tells whether it is time to write all anew.
func (c *commit) compacts() bool {
	dead := c.last.dead.count + len(c.dead)
	return float64(dead) > maxDead*float64(c.last.Rows+c.added)
}

func (c *commit) run(root *generation.Dir) error {
	var share func(string) bool // all anew
	if !c.compacts() {
		share = func(path string) bool { return path != metaFile }
	}
	next, err := root.Begin(c.ctx, share)
	if err != nil {
		return err
	}
	if next.Number() != c.last.number+1 {
		next.Abandon()
		return fmt.Errorf("generation %d was read, now it would be %d: another process commits, or the index was removed",
			c.last.number, next.Number())
	}
	if err := c.write(next); err != nil {
		next.Abandon()
		return err
	}
	return next.Publish()
}

func (c *commit) write(next *generation.Next) (err error) {
	last := c.last
	if c.compacts() {
		last = emptySnapshot(c.last.Dimension)
	}
	out, err := newOutput(next, last)
	if err != nil {
		return err
	}
	if c.compacts() {
		err = c.copyLive(out)
	} else {
		err = c.bury(out)
	}
	if err == nil {
		err = c.add(out)
	}
	if err = out.close(err); err != nil {
		return err
	}
	out.meta.Generation = next.Number()
	return out.meta.write(next.Path())
}

// bury writes which rows have died.
func (c *commit) bury(out *output) error {
	for _, row := range c.dead {
		if err := out.addDead(row); err != nil {
			return err
		}
	}
	return nil
}

// copyLive copies all rows that go on living. One that is damaged ends it: its code would be made anew, from what is not its vector.
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
		record := make([]byte, e.length())
		if err := s.readRecord(e, record); err != nil {
			return err
		}
		if err := out.addRow(s.places[s.place[row]], newRowEntry(e.key(), record, e.vectorSum()), record, s.vector(row)); err != nil {
			return err
		}
	}
	return nil
}

// add writes the new rows.
func (c *commit) add(out *output) error {
	for _, change := range c.changes {
		if change.vector == nil {
			continue
		}
		if err := c.ctx.Err(); err != nil {
			return err
		}
		e := newRowEntry(change.key, change.record, checksum(bytesOf(change.vector)))
		if err := out.addRow(change.place, e, change.record, change.vector); err != nil {
			return err
		}
	}
	return nil
}
