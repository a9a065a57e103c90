package cache

import (
	"context"
	"time"

	"github.com/gofrs/flock"
)

// turnTimeout bounds the wait for another process: long enough for a built-in batch, short enough
// for a person.
var turnTimeout = 2 * time.Second

// A turn is held while any call of this process embeds. Another process waits and finds the
// vectors. Without file locks, none waits.
type turn struct {
	sem   chan struct{} // guards the rest; a channel, so that waiting ends with ctx
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
		limited, cancel := context.WithTimeout(ctx, turnTimeout)
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
