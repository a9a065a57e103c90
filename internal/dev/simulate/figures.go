package main

import "math"

// A histogram keeps times in steps of 2 %, from 0.1 ms.
type histogram struct {
	counts []float64
	total  float64
}

const (
	shortest = 1e-4 // seconds
	step     = 0.02 // of the logarithm
)

func (h *histogram) add(seconds, times float64) {
	i := int(max(0, math.Log(seconds/shortest)/step))
	for len(h.counts) <= i {
		h.counts = append(h.counts, 0)
	}
	h.counts[i] += times
	h.total += times
}

// merge adds what another histogram has.
func (h *histogram) merge(other *histogram) {
	for i, n := range other.counts {
		if n > 0 {
			h.add(shortest*math.Exp((float64(i)+0.5)*step), n)
		}
	}
}

// quantile returns the time that a share q of all does not exceed, within 1 %; NaN without times.
func (h *histogram) quantile(q float64) float64 {
	if h.total == 0 {
		return math.NaN()
	}
	left := q * h.total
	for i, n := range h.counts {
		if left -= n; left <= 1e-9*h.total {
			return shortest * math.Exp((float64(i)+0.5)*step)
		}
	}
	return shortest * math.Exp(float64(len(h.counts))*step)
}

// A state of a tenant on its node, when a request comes.
type state int

const (
	warm   state = iota // open
	closed              // on the disk
	cold                // only in the log
	states
)

// A kind of request to storage. Lists cost as puts, and count as gets for the rate limit.
type kind int

const (
	gets kind = iota
	lists
	puts
	kinds
)

// A result is what a simulation measured. Rates are of all nodes and a second.
type result struct {
	retrieval   [states]histogram
	firstAnswer histogram // of a cold tenant, for the one who opens it; also in retrieval
	complete    histogram // of a cold tenant, until it has all vectors
	write       histogram
	unanswered  histogram       // retrievals that were not answered in the end
	found       [states]float64 // retrievals by the state of their tenant

	requests    [kinds]float64
	scanned     float64 // bytes from storage
	embedded    float64 // tokens
	cpu, cpuMax float64 // share of a node's cores: mean, highest
	builds      float64 // share of places for building, highest node
	diskUse     float64 // bytes, mean of nodes
	diskFull    float64 // share of the budget, highest node
	diskWrites  float64 // bytes a second, highest node
	memoryUse   float64 // bytes, mean
	open, kept  float64 // tenants, mean
	hottest     [kinds]float64
	hotShare    float64 // of the busiest node's requests, that its most used tenant gets
	nodes       int     // simulated
	events      int
}

func (r *result) retrievals() *histogram {
	all := &histogram{}
	for i := range r.retrieval {
		all.merge(&r.retrieval[i])
	}
	all.merge(&r.unanswered)
	return all
}

// hits is the share of retrievals that found their tenant in a state, or waited for it with others.
func (r *result) hits(s state) float64 {
	return r.found[s] / max(1, r.found[warm]+r.found[closed]+r.found[cold])
}

// Figures are what a real run can be compared in. Times are in seconds.
type Figures struct {
	Cores    float64 `json:"cores"`    // in use, of all nodes
	Requests float64 `json:"requests"` // to storage, a second
	Cold     float64 `json:"cold"`     // share of retrievals
	OpenP50  float64 `json:"openP50"`
	ColdP50  float64 `json:"coldP50"`
	WriteP50 float64 `json:"writeP50"`
}

func (r *result) figures(s Service) Figures {
	cores := r.cpu * float64(s.Cores)
	if !s.OneMachine {
		cores *= float64(s.Nodes)
	}
	return Figures{
		Cores: cores, Requests: r.requests[gets] + r.requests[lists] + r.requests[puts], Cold: r.hits(cold),
		OpenP50: r.retrieval[warm].quantile(0.5), ColdP50: r.firstAnswer.quantile(0.5), WriteP50: r.write.quantile(0.5),
	}
}
