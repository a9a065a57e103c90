package tenants

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/web/overload"
)

// An entry caches the record of a name.
type entry struct {
	name     string
	changing lock // held while this process changes the record

	mu      sync.Mutex // of what follows; not held while the storage is asked
	record  record
	tag     string // of the record's object; "" if there is none
	asked   time.Time
	changed time.Time     // when this process changed the record
	asking  chan struct{} // while the storage is asked; closed when it was
	failed  time.Time     // when it was last asked in vain
	failure error

	weight int // in the registry, of which the lock is
}

// entries are the cache of a registry.
type entries struct {
	mu        sync.Mutex // of what follows; not held while the storage is asked
	known     *lru.LRU[string, *entry]
	weight    int                      // of known
	strangers *lru.LRU[string, *entry] // of which no object is known
}

func newEntry(name string) *entry { return &entry{name: name, changing: make(lock, 1)} }

// copy returns a copy of the record, for a change, and its tag.
func (e *entry) copy() (record, string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	rec := e.record
	rec.Keys, rec.Former, rec.Changes = slices.Clone(rec.Keys), slices.Clone(rec.Former), slices.Clone(rec.Changes)
	if rec.Tenant != nil {
		t := *rec.Tenant
		rec.Tenant = &t
	}
	return rec, e.tag
}

// tenant returns the tenant if it has the ID, or for "" any. Each request asks: keys are not
// copied.
func (e *entry) tenant(id string) (t Tenant, exists bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if known := e.record.Tenant; known != nil && (id == "" || known.ID == id) {
		return *known, true
	}
	return t, false
}

// entryOf returns the entry of a name. isKnown says that the storage had its record.
func (r *entries) entryOf(name string) (e *entry, isKnown bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, ok := r.known.Get(name); ok {
		return e, true
	}
	e, ok := r.strangers.Get(name)
	if !ok {
		e = newEntry(name)
		r.strangers.Add(name, e)
	}
	return e, false
}

// keep makes an entry known, and drops the least used ones.
func (r *entries) keep(e *entry, weight int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.strangers.Remove(e.name)
	if other, ok := r.known.Peek(e.name); ok {
		r.weight -= other.weight
	}
	e.weight = weight
	r.weight += weight
	r.known.Add(e.name, e)
	for r.weight > mostWeight {
		_, oldest, _ := r.known.RemoveOldest()
		r.weight -= oldest.weight
	}
}

const (
	registryTimeout = 10 * time.Second
	// registryPause follows a failed question: not every request waits for a storage that is away.
	registryPause = time.Second
)

// fresh asks the storage if an entry is older than an age. Concurrent requests share a question,
// which outlives each of them.
func (r *Registry) fresh(ctx context.Context, e *entry, age time.Duration) error {
	for begun := time.Now(); ; {
		e.mu.Lock()
		isFresh, failure := !e.asked.Before(begun.Add(-age)), e.failure
		isAway := failure != nil && (!e.failed.Before(begun) || age > 0 && begun.Sub(e.failed) < registryPause)
		if !isFresh && !isAway && e.asking == nil {
			e.asking = make(chan struct{})
			go r.ask(e, e.asking)
		}
		asking := e.asking
		e.mu.Unlock()
		switch {
		case isFresh:
			return nil
		case isAway:
			return failure
		}
		select {
		case <-asking:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// freshOfStranger is fresh for names that may be guessed. It bounds the questions to the storage.
func (r *Registry) freshOfStranger(ctx context.Context, e *entry, age time.Duration) error {
	e.mu.Lock()
	isFresh := time.Since(e.asked) <= age
	e.mu.Unlock()
	if isFresh {
		return nil
	}
	waiting, stop := context.WithTimeout(ctx, guessWait)
	defer stop()
	err := r.guesses.Wait(waiting)
	if err != nil && ctx.Err() == nil {
		err = overload.ErrBusy
	}
	if err == nil {
		err = r.slots.Do(ctx, guessWait, func() error { return r.fresh(ctx, e, age) })
	}
	if errors.Is(err, overload.ErrBusy) {
		return kind.As(kind.Unavailable, fmt.Errorf("too many requests for tenants and with keys that this node does not know: %w", err))
	}
	return err
}

// ask reads the record of an entry.
func (r *Registry) ask(e *entry, done chan struct{}) {
	ctx, stop := context.WithTimeout(context.Background(), registryTimeout)
	defer stop()
	e.mu.Lock()
	known := e.tag
	e.mu.Unlock()
	asked := time.Now()
	rec, tag, err := r.fetch(ctx, e.name, known)
	e.mu.Lock()
	defer e.mu.Unlock()
	defer close(done)
	e.asking = nil
	if err != nil {
		e.failed, e.failure = time.Now(), kind.As(kind.Unavailable, fmt.Errorf("tenants and keys cannot be read: %w", err))
		return
	}
	if e.failure = nil; asked.Before(e.changed) {
		return // what is known is newer
	}
	if e.asked = asked; rec != nil {
		r.apply(e, *rec, tag)
	}
}

// changed notes a record that this process has changed since a time.
func (r *Registry) changed(e *entry, rec record, tag string, since time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked, e.changed = since, time.Now()
	r.apply(e, rec, tag)
}

// apply notes what the storage has. The entry is locked.
func (r *Registry) apply(e *entry, rec record, tag string) {
	former := e.record.Tenant
	e.record, e.tag = rec, tag
	if tag != "" {
		r.keep(e, 1+len(rec.Keys))
	}
	if former == nil || rec.Tenant != nil && rec.Tenant.ID == former.ID {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.removed != nil {
		go r.removed(*former)
	}
}

// answers asks whether the storage answers, at most once in newKeyAge.
func (r *Registry) answers(ctx context.Context) error {
	return r.fresh(ctx, r.storage, min(r.age, newKeyAge))
}
