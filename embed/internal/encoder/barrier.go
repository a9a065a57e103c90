package encoder

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A barrier lets workers wait for each other, repeatedly.
type barrier struct {
	workers int
	arrived atomic.Int32
	round   atomic.Uint32
	ended   bool // set by the last worker to arrive
	mu      sync.Mutex
	opened  *sync.Cond
}

// spinTime is how long a worker polls before it sleeps. Waking takes up to a quarter of it.
const spinTime = 500 * time.Microsecond

// wait returns after all workers called it: false if ctx has ended.
func (b *barrier) wait(ctx context.Context) bool {
	if b.workers == 1 {
		return ctx.Err() == nil
	}
	round := b.round.Load()
	if b.arrived.Add(1) == int32(b.workers) {
		b.open(ctx)
		return !b.ended
	}
	for started := time.Now(); time.Since(started) < spinTime; runtime.Gosched() {
		for range 500 {
			if b.round.Load() != round {
				return !b.ended
			}
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.round.Load() == round {
		b.opened.Wait()
	}
	return !b.ended
}

// open lets all workers continue.
func (b *barrier) open(ctx context.Context) {
	b.ended = ctx.Err() != nil
	b.arrived.Store(0)
	b.mu.Lock()
	b.round.Add(1)
	b.mu.Unlock()
	b.opened.Broadcast()
}
