package main

import (
	"math"
	"slices"
)

// A tenant is what its node knows about it. Whether it is open or on the disk say the node's sets.
type tenant struct {
	chunks     float64
	usedAt     float64
	checkedAt  float64 // when a request for the log's version was sent that has been answered
	appends    int     // since compaction
	polling    bool
	preparing  *preparation
	committing bool
	next       []func() // writes for the next commit
	requests   [kinds]float64
}

// A preparation makes a tenant ready for requests.
type preparation struct {
	from    state
	waiting []func(from state, first bool)
}

// A node serves the tenants of its share.
type node struct {
	*simulation
	share   share
	cpu     *processor
	builds  places
	open    *lru
	disk    *lru
	written float64 // bytes to its disk while measuring
	tenants []tenant
}

func newNode(s *simulation, sh share, cpu *processor) *node {
	n := &node{simulation: s, share: sh, cpu: cpu, open: newLRU(s.MemoryGB * 1e9), disk: newLRU(s.DiskGB * 1e9)}
	n.builds = places{clock: &s.clock, all: s.Builds}
	n.tenants = make([]tenant, len(sh.ranks))
	for i, rank := range sh.ranks {
		n.tenants[i] = tenant{chunks: s.chunksOf(rank, s.Seed), usedAt: math.Inf(-1), checkedAt: math.Inf(-1)}
		if !s.Empty {
			n.tenants[i].appends = int(unit(rank, logging+s.Seed) * s.CompactAfter)
		}
	}
	return n
}

// fill brings the sets to the state that the load leads to. When requests of tenants are
// independent Poisson processes, the time since the last one is exponential at any moment.
func (n *node) fill() {
	order := make([]int, len(n.tenants))
	for i := range n.tenants {
		order[i] = i
		n.tenants[i].usedAt = -n.random.ExpFloat64() / (n.share.of(i) * n.Load.requests())
	}
	slices.SortFunc(order, func(a, b int) int {
		if n.tenants[a].usedAt < n.tenants[b].usedAt {
			return -1
		}
		return 1
	})
	for _, i := range order {
		n.keep(i)
	}
	for _, i := range order {
		if t := &n.tenants[i]; n.open.has(i) && -t.usedAt < n.InUse {
			t.checkedAt, t.polling = 0, true
			n.after(n.random.Float64()*n.Freshness, func() { n.poll(i) })
		}
	}
}

// keep makes a tenant the most recent one on the disk and in memory.
func (n *node) keep(i int) {
	chunks := n.tenants[i].chunks
	n.disk.use(i, chunks*n.DiskBytesPerChunk, n.open.drop)
	n.open.use(i, n.MemoryBytes+chunks*n.MemoryBytesPerChunk, func(int) {})
}

// arrive makes a request, and the next one.
func (n *node) arrive() {
	if n.now >= n.end {
		return
	}
	i := n.share.pick(n.random.Float64())
	if n.random.Float64()*n.Load.requests() < n.Writes {
		n.writeTo(i)
	} else {
		n.retrieveFrom(i)
	}
	n.after(n.interval(), n.arrive)
}

// interval is the time between two requests.
func (n *node) interval() float64 {
	return n.random.ExpFloat64() / (n.share.total() * n.Load.requests())
}

// A moment is when something began that is to be measured.
type moment struct {
	at     float64
	counts float64 // 0 if it began outside of the time that is measured
}

func (n *node) start() moment {
	if !n.measuring {
		return moment{at: n.now}
	}
	return moment{n.now, n.share.stands}
}

func (n *node) stop(m moment, h *histogram) {
	if m.counts > 0 {
		h.add(n.now-m.at, m.counts)
	}
}

func (n *node) retrieveFrom(i int) {
	since := n.start()
	n.unanswered += since.counts
	from := n.prepare(i, func(from state, first bool) {
		seconds := n.Costs.retrieve(n.tenants[i].chunks) * math.Exp(n.RetrieveSpread*n.random.NormFloat64())
		n.cpu.do(seconds, func() {
			n.unanswered -= since.counts
			n.stop(since, &n.result.retrieval[from])
			if first && from == cold {
				n.stop(since, &n.result.firstAnswer)
			}
		})
	})
	n.result.found[from] += since.counts
}

// prepare calls ready when the tenant can answer, and with what its log had at most Freshness ago.
// first is for the request that all others waited for. It returns the state that the tenant is in,
// or was in when its preparation began.
func (n *node) prepare(i int, ready func(from state, first bool)) state {
	t := &n.tenants[i]
	gone := 1 - math.Exp(-n.Replaced/3600*(n.now-t.usedAt))
	t.usedAt = n.now
	if t.preparing != nil {
		t.preparing.waiting = append(t.preparing.waiting, ready)
		return t.preparing.from
	}
	if n.Replaced > 0 && n.random.Float64() < gone {
		n.disk.drop(i)
		n.open.drop(i)
	}
	from := n.stateOf(i)
	n.keep(i)
	if from == warm && (t.polling || n.now-t.checkedAt <= n.Freshness) {
		ready(warm, true)
		return warm
	}
	t.preparing = &preparation{from, []func(state, bool){ready}}
	done := func() {
		p := t.preparing
		t.preparing = nil
		if !t.polling && n.InUse > 0 {
			t.polling = true
			n.after(n.Freshness, func() { n.poll(i) })
		}
		for w, ready := range p.waiting {
			ready(p.from, w == 0)
		}
	}
	switch from {
	case warm:
		n.check(i, done)
	case closed:
		n.check(i, func() { n.cpu.do(n.Costs.reopen(t.chunks), done) })
	case cold:
		n.build(i, done)
	}
	return from
}

func (n *node) stateOf(i int) state {
	switch {
	case n.open.has(i):
		return warm
	case n.disk.has(i):
		return closed
	}
	return cold
}
