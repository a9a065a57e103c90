package postgres

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// ErrBusy means that the statements of a tenant took all connections that it may have, for long.
var ErrBusy = errors.New("the tenant's other requests take all connections that it may have: try again")

// busyWait is how long a statement waits for a connection that its tenant may have.
const busyWait = 5 * time.Second

// shares keep tenants whose statements take long, or wait for each other, from holding all
// connections of the pool: the others would not even be let in. A tenant may hold as many as are
// free: one has half of them at most, two have a third each, and so on, so that some are left for
// the next.
type shares struct {
	most int // connections of all tenants

	mu      sync.Mutex
	held    map[int64]int // by tenant
	total   int
	waiting []*waiter // who came first is first
}

// A waiter gets a connection once granted is closed.
type waiter struct {
	tenant  int64
	granted chan struct{}
}

// within calls do once a tenant may hold one more connection.
func (s *shares) within(ctx context.Context, tenant int64, do func() error) error {
	w := &waiter{tenant, make(chan struct{})}
	s.mu.Lock()
	s.waiting = append(s.waiting, w)
	s.grant()
	s.mu.Unlock()
	late := time.NewTimer(busyWait)
	defer late.Stop()
	var err error
	select {
	case <-w.granted:
	case <-ctx.Done():
		err = ctx.Err()
	case <-late.C:
		err = ErrBusy
	}
	if s.leave(w, err) {
		return err
	}
	defer s.release(tenant)
	return do()
}

// grant gives free connections to those who wait and may have one. s.mu is held.
func (s *shares) grant() {
	s.waiting = slices.DeleteFunc(s.waiting, func(w *waiter) bool {
		free := s.most - s.total
		if free == 0 || s.held[w.tenant] >= free {
			return false
		}
		s.held[w.tenant]++
		s.total++
		close(w.granted)
		return true
	})
}

// leave takes out who waits no longer, after an error, unless they have just been granted one.
func (s *shares) leave(w *waiter, err error) bool {
	if err == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.waiting, w)
	if i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
	}
	return i >= 0
}

func (s *shares) release(tenant int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[tenant]--; s.held[tenant] == 0 {
		delete(s.held, tenant)
	}
	s.total--
	s.grant()
}
