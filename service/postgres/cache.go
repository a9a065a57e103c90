package postgres

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime/debug"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/sync/singleflight"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/store/flat"
	"github.com/memcore/memcore/store/keyword"
)

// ErrMemory means that what a principal sees has more words and vectors than a node may hold.
var ErrMemory = errors.New("what you see here has more words and vectors than a node of this service holds in memory: its operator has to give nodes more (GOMEMLIMIT)")

// errMany means that so much has changed that one question reads it for all.
var errMany = errors.New("much has changed")

// A cache has what is held of scopes. That and what is being read has about maxBytes: of
// large scopes one is read at a time, and what a question that runs has got stays in memory until
// it is answered.
type cache struct {
	maxBytes int64
	shared   singleflight.Group // reads what all who ask need
	large    chan struct{}      // has the one that reads a large scope

	mu      sync.Mutex
	bytes   int64                  // of held and what is being read
	held    *lru.LRU[int64, *held] // by scope
	refused map[string]time.Time   // what was too large, by refusal
}

func newCache(maxBytes int64) *cache {
	c := &cache{maxBytes: maxBytes, large: make(chan struct{}, 1), refused: map[string]time.Time{}}
	c.held, _ = lru.NewLRU(math.MaxInt, func(_ int64, h *held) { c.bytes -= h.bytes }) // fails for sizes below 1
	return c
}

// isLarge reports whether a scope with some chunks is one that is read alone: all others that are
// read at a moment are not larger together.
func (c *cache) isLarge(chunks int64) bool {
	const aboutChunk, readers = 1 << 10, 16
	return chunks*aboutChunk > c.maxBytes/readers
}

// defaultCacheBytes leaves half of the memory that the process may have for what it does with the
// rest.
func defaultCacheBytes() int64 {
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return limit / 2
	}
	return 256 << 20
}

// removalsKept is how old what is held may be: what was removed before is no longer known.
const removalsKept = 23 * time.Hour

func (h *held) isNew() bool { return h.seen == "" }

// serves reports whether a question by a model can go on from what is held.
func (h *held) serves(model string) bool {
	return h.model == model && time.Since(h.looked) < removalsKept
}

// of returns what is held of scopes; what is new of those of which nothing is.
func (c *cache) of(scopes []int64, model string) []*held {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]*held, len(scopes))
	for i, scope := range scopes {
		if h, ok := c.held.Get(scope); ok && h.serves(model) {
			all[i] = h
		} else {
			all[i] = &held{model: model}
		}
	}
	return all
}

// forget drops what is held of scopes, unless it is another by now.
func (c *cache) forget(scopes []int64, before []*held) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, scope := range scopes {
		if now, ok := c.held.Peek(scope); ok && now == before[i] {
			c.held.Remove(scope)
		}
	}
}

// keep replaces what is held of a scope, unless another has.
func (c *cache) keep(scope int64, before, after *held) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now, ok := c.held.Peek(scope); ok {
		if now != before && now.serves(after.model) {
			return
		}
		c.bytes -= now.bytes
	}
	c.bytes += after.bytes
	c.held.Add(scope, after)
	c.evict()
}

// evict makes room by what was asked for the longest ago. c.mu is held.
func (c *cache) evict() {
	for c.bytes > c.maxBytes && c.held.Len() > 0 {
		c.held.RemoveOldest()
	}
}

// refusedFor is how long scopes that were too large are not read again, which would take the room
// of others for nothing.
const refusedFor = time.Minute

// refusal names scopes for a model: each may fit by itself, or without vectors.
func refusal(scopes []int64, model string) string { return fmt.Sprint(scopes, " ", model) }

// isRefused reports whether scopes were too large together a moment ago.
func (c *cache) isRefused(scopes []int64, model string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, known := c.refused[refusal(scopes, model)]
	return known && time.Since(at) < refusedFor
}

// note remembers scopes that are too large together, and returns the error.
func (c *cache) note(scopes []int64, model string, err error) error {
	if errors.Is(err, ErrMemory) {
		c.mu.Lock()
		defer c.mu.Unlock()
		maps.DeleteFunc(c.refused, func(_ string, at time.Time) bool { return time.Since(at) >= refusedFor })
		c.refused[refusal(scopes, model)] = time.Now()
	}
	return err
}

// A reading makes what is held of scopes anew. It adds records as they come, so that a large scope
// is not in memory twice.
type reading struct {
	cache *cache
	model string
	of    map[int64]*grown

	snapshot, server string
	number           int16 // of the model, 0 for none

	bytes, pending int64
	counted        int64 // in the cache
	room           int   // for chunks of changed documents
}

// grown is what is held of a scope, with what has been read since.
type grown struct {
	held
	gone    []string
	more    map[string]core.Indexed
	members []keyword.Member
	vectors []flat.Member
	stale   []string // IDs of records whose words another release has analysed

	withoutGone, withoutVectors bool // of what is gone
}

// readAtOnce bounds the bytes of records that are read before they are added.
const readAtOnce = 16 << 20

// bytesOfRow is about what a record or vector takes beside its words or code while it is read.
const bytesOfRow = 256

func newReading(c *cache, model string, scopes []int64, before []*held, room int) *reading {
	r := &reading{cache: c, model: model, of: map[int64]*grown{}, room: room}
	for i, scope := range scopes {
		r.of[scope] = &grown{held: *before[i], more: map[string]core.Indexed{}}
	}
	return r
}

// count says how much the reading takes by now.
func (r *reading) count(bytes int64) error {
	c := r.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes += bytes - r.counted
	r.counted = bytes
	c.evict()
	if bytes > c.maxBytes {
		return ErrMemory
	}
	return nil
}

// end gives back what the reading took.
func (r *reading) end() {
	r.cache.mu.Lock()
	defer r.cache.mu.Unlock()
	r.cache.bytes -= r.counted
}

// add counts what has been read: bytes that are there for good, and those of records that wait to
// be added.
func (r *reading) add(bytes, waiting int) error {
	r.bytes += int64(bytes)
	if r.pending += int64(waiting); r.pending > readAtOnce {
		r.flush()
	}
	const countedAtOnce = readAtOnce / 8
	if now := r.bytes + r.pending; now > r.counted+countedAtOnce {
		return r.count(now)
	}
	return nil
}

// flush adds the records that wait.
func (r *reading) flush() {
	for _, g := range r.of {
		r.bytes -= g.part.Bytes() + g.codes.Bytes()
		if len(g.members) > 0 {
			g.part = g.part.With(keyword.PartChange{Paths: g.takeGone(&g.withoutGone), Members: g.members})
		}
		if len(g.vectors) > 0 {
			g.codes = g.codes.With(g.takeGone(&g.withoutVectors), g.vectors)
		}
		g.members, g.vectors = nil, nil
		r.bytes += g.part.Bytes() + g.codes.Bytes()
	}
	r.pending = 0
}

// takeGone returns what is gone, once.
func (g *grown) takeGone(taken *bool) []string {
	if *taken {
		return nil
	}
	*taken = true
	return g.gone
}

// document adds a change of a document; nil for one that is gone, or has no records.
func (r *reading) document(scope int64, path string, d *documentState) error {
	g := r.of[scope]
	g.gone = append(g.gone, path)
	bytes := bytesOfRow + len(path)
	if d != nil {
		waiting := d.waiting
		if d.model != r.number { // its vectors are another embedder's, or there are none
			waiting = d.chunks
		}
		if r.model == "" { // nobody asks for vectors
			waiting = 0
		}
		g.more[path] = d.indexed.WithPending(waiting)
		bytes += d.bytes
		if r.room -= d.chunks; r.room < 0 {
			return errMany
		}
	}
	return r.add(bytes, 0)
}

func (r *reading) record(scope int64, m keyword.Member, bytes int) error {
	g := r.of[scope]
	g.members = append(g.members, m)
	return r.add(0, bytesOfRow+bytes)
}

func (r *reading) vector(scope int64, m flat.Member) error {
	g := r.of[scope]
	g.vectors = append(g.vectors, m)
	return r.add(0, bytesOfRow+len(m.Code))
}

// finish returns what is held now.
func (r *reading) finish(scopes []int64) ([]*held, error) {
	r.flush()
	all := make([]*held, len(scopes))
	for i, scope := range scopes {
		g := r.of[scope]
		now := g.held
		now.seen, now.server, now.looked = r.snapshot, r.server, time.Now()
		if now.layer == nil {
			now.layer = core.NewLayer(nil)
		}
		if len(g.gone) > 0 {
			now.layer = now.layer.With(g.gone, g.more)
			now.part = now.part.With(keyword.PartChange{Paths: g.takeGone(&g.withoutGone)})
			now.codes = now.codes.With(g.takeGone(&g.withoutVectors), nil)
		}
		if len(g.gone) > 0 || now.bytes == 0 {
			now.bytes = bytesOfScope + now.part.Bytes() + now.codes.Bytes() + now.layer.Bytes()
		}
		if now.bytes > r.cache.maxBytes {
			return nil, ErrMemory
		}
		all[i] = &now
	}
	return all, nil
}

// bytesOfScope is about what a scope without documents takes.
const bytesOfScope = 1 << 10
