package cache

import (
	"context"
	"time"

	"github.com/gofrs/flock"
)

// patience is how long one process waits for another that is embedding, before it embeds too: long
// enough for a batch of the built-in model, short enough for a person who waits.
var patience = 2 * time.Second

// A turn is held while this process embeds, by however many calls, so that another process waits
// and then finds the vectors stored. It is a courtesy, not a promise: nobody waits longer than
// patience, and where there are no file locks nobody waits at all.
type turn struct {
	sem   chan struct{} // guards the rest; a channel, since waiting for it must end with ctx
	calls *int
	lock  *flock.Flock
}

func newTurn(path string) turn {
	return turn{sem: make(chan struct{}, 1), calls: new(int), lock: flock.New(path)}
}

func (t turn) enter(ctx context.Context) (leave func()) {
	select {
	case t.sem <- struct{}{}:
	case <-ctx.Done():
		return func() {}
	}
	defer func() { <-t.sem }()
	if *t.calls == 0 {
		limited, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		t.lock.TryLockContext(limited, lockPoll)
	}
	*t.calls++
	return t.leave
}

func (t turn) leave() {
	t.sem <- struct{}{}
	defer func() { <-t.sem }()
	if *t.calls--; *t.calls == 0 {
		t.lock.Unlock()
	}
}
