package minilm

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// memberRows is how many rows are worth a member of a crew: with fewer, starting and waiting takes what
// company saves.
const memberRows = 16

// A crew computes a batch together. Each member has some of the rows, one for each token; only to
// attend, and at the end, does it look at rows of others.
type crew struct {
	texts []text
	rows  int
	x     []float32    // what the layers change, hidden a row
	qkv   [2][]float32 // query, key, value of each row: one layer's are written while others are still read
	meeting
}

// size gives the crew a batch.
func (c *crew) size(texts []text, members int) {
	c.texts, c.rows = texts, 0
	for _, t := range texts {
		c.rows += len(t.ids)
	}
	if c.opened == nil {
		c.opened = sync.NewCond(&c.mu)
	}
	c.members = max(1, min(members, c.rows/memberRows))
	grow(&c.x, c.rows*hidden)
	for i := range c.qkv[:min(c.members, 2)] {
		grow(&c.qkv[i], c.rows*qkv)
	}
}

// qkvOf is where the given layer puts query, key and value. Who works alone needs only one place.
func (c *crew) qkvOf(layer int) []float32 { return c.qkv[layer%min(c.members, 2)] }

// share is the rows of a member: from lo, less than hi.
func (c *crew) share(member int) (lo, hi int) {
	return member * c.rows / c.members, (member + 1) * c.rows / c.members
}

// A part is what of a text is among a member's rows: its tokens from, less than to; row is that of
// the text's first token.
type part struct {
	text
	row, from, to int
}

// parts calls do with each part of texts in the rows from lo, less than hi.
func (c *crew) parts(lo, hi int, do func(part)) {
	row := 0
	for _, t := range c.texts {
		from, to := max(lo-row, 0), min(hi-row, len(t.ids))
		if from < to {
			do(part{t, row, from, to})
		}
		row += len(t.ids)
	}
}

// work runs all members and returns when they are done.
func (c *crew) work(ctx context.Context, member func(ctx context.Context, lo, hi int)) {
	var wg sync.WaitGroup
	for i := 1; i < c.members; i++ {
		lo, hi := c.share(i)
		wg.Go(func() { member(ctx, lo, hi) })
	}
	lo, hi := c.share(0)
	member(ctx, lo, hi)
	wg.Wait()
}

// A meeting is where the members of a crew wait for each other, again and again.
type meeting struct {
	members int
	arrived atomic.Int32
	round   atomic.Uint32
	end     bool // decided by the last to arrive
	mu      sync.Mutex
	opened  *sync.Cond
}

// patience is how long a member looks whether the others are there before it goes to sleep. Shares are
// of nearly equal size, and waking up a thread can take a quarter of this.
const patience = 500 * time.Microsecond

// meet returns when all members have called it: true, or false to all of them if ctx has ended.
func (m *meeting) meet(ctx context.Context) bool {
	if m.members == 1 {
		return ctx.Err() == nil
	}
	round := m.round.Load()
	if m.arrived.Add(1) == int32(m.members) {
		m.open(ctx)
		return !m.end
	}
	for started := time.Now(); time.Since(started) < patience; runtime.Gosched() {
		for range 500 {
			if m.round.Load() != round {
				return !m.end
			}
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.round.Load() == round {
		m.opened.Wait()
	}
	return !m.end
}

// open lets all go on.
func (m *meeting) open(ctx context.Context) {
	m.end = ctx.Err() != nil
	m.arrived.Store(0)
	m.mu.Lock()
	m.round.Add(1)
	m.mu.Unlock()
	m.opened.Broadcast()
}
