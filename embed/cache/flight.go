package cache

import (
	"slices"
	"sync"
)

// A flight is a vector on its way. Others may read vec once done is closed; it is nil if the vector
// could not be made.
type flight struct {
	done chan struct{}
	vec  []float32
}

// flights are the vectors being made in this process, so that each is made by one call only.
type flights struct {
	mu  sync.Mutex
	now map[key]*flight
}

// claim divides items into those that the caller now has to make and settle, and those being made.
func (f *flights) claim(items []item) (mine []item, theirs map[key]*flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now == nil {
		f.now = make(map[key]*flight)
	}
	theirs = make(map[key]*flight)
	for _, it := range items {
		if other := f.now[it.key]; other != nil {
			theirs[it.key] = other
			continue
		}
		it.flight = &flight{done: make(chan struct{})}
		f.now[it.key] = it.flight
		mine = append(mine, it)
	}
	return mine, theirs
}

// settle gives back the claims on items, with their vectors where found has them. What was settled
// before is left alone: by then another call may have a claim on that key.
func (f *flights) settle(items []item, found map[key][]float32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, it := range items {
		if f.now[it.key] != it.flight {
			continue
		}
		it.flight.vec = slices.Clone(found[it.key]) // found's own goes to a caller, who may change it
		delete(f.now, it.key)
		close(it.flight.done)
	}
}
