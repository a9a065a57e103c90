package main

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// A Load is what clients do, and to how many tenants.
type Load struct {
	Tenants    int
	Chunks     float64 // mean of a tenant
	Spread     float64 // sigma of the log-normal sizes
	Zipf       float64 // exponent: the tenant of rank r gets a share of 1/r^Zipf
	Retrievals float64 // a second
	Writes     float64 // a second
}

// requests is the rate of all of them.
func (l *Load) requests() float64 { return l.Retrievals + l.Writes }

// hash mixes a tenant's rank and a purpose. It is the finaliser of SplitMix64.
func hash(rank int, purpose uint64) uint64 {
	x := uint64(rank)*0x9e3779b97f4a7c15 + purpose*0xd1342543de82ef95
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// unit is a hash in the open interval from 0 to 1.
func unit(rank int, purpose uint64) float64 {
	return (float64(hash(rank, purpose)>>11) + 0.5) / (1 << 53)
}

// Purposes of hashes; the seed is added to them.
const (
	placing = 1 << 32 * iota
	sizing
	logging
)

// chunksOf returns the size of a tenant. Its mean over all tenants is l.Chunks.
func (l *Load) chunksOf(rank int, seed uint64) float64 {
	normal := math.Sqrt2 * math.Erfinv(2*unit(rank, sizing+seed)-1)
	return l.Chunks * math.Exp(l.Spread*normal-l.Spread*l.Spread/2)
}

func (l *Load) weight(rank int) float64 { return math.Pow(float64(rank), -l.Zipf) }

func nodeOf(rank, nodes int, seed uint64) int {
	return int(hash(rank, placing+seed) % uint64(nodes))
}

// A share is what one node gets of a load.
type share struct {
	ranks      []int     // of its tenants, most used first
	cumulative []float64 // of the share of all requests, for each of ranks
	stands     float64   // for how many nodes
}

func (s *share) total() float64 {
	if len(s.ranks) == 0 {
		return 0
	}
	return s.cumulative[len(s.cumulative)-1]
}

// of returns the share of all requests that the node's tenant i gets.
func (s *share) of(i int) float64 {
	if i == 0 {
		return s.cumulative[0]
	}
	return s.cumulative[i] - s.cumulative[i-1]
}

// pick returns a tenant for a number from 0 to 1.
func (s *share) pick(u float64) int {
	return min(sort.SearchFloat64s(s.cumulative, u*s.total()), len(s.ranks)-1)
}

// shares returns what the nodes get that are simulated: the busiest, and others until they have
// about so many requests a second. The others stand for all that are not simulated.
func (l *Load) shares(nodes int, mostRequests float64, seed uint64) []share {
	loads, all := make([]float64, nodes), 0.
	for rank := 1; rank <= l.Tenants; rank++ {
		w := l.weight(rank)
		loads[nodeOf(rank, nodes, seed)] += w
		all += w
	}
	order := make([]int, nodes) // busiest first, then as they are: that is random, since ranks are hashed
	for i := range order {
		order[i] = i
	}
	busiest := slices.Index(loads, slices.Max(loads))
	order[0], order[busiest] = busiest, 0
	slices.SortStableFunc(order[1:], cmp.Compare[int])

	chosen, requests := map[int]int{}, 0.
	for i, node := range order {
		requests += loads[node] / all * l.requests()
		if i > 1 && requests > mostRequests {
			break
		}
		chosen[node] = i
	}
	found := make([]share, len(chosen))
	for rank := 1; rank <= l.Tenants; rank++ {
		if i, ok := chosen[nodeOf(rank, nodes, seed)]; ok {
			s := &found[i]
			s.cumulative = append(s.cumulative, s.total()+l.weight(rank)/all)
			s.ranks = append(s.ranks, rank)
		}
	}
	// Rest of the load over rest of the sample, so that requests add up.
	sampled := 0.
	for i := range found {
		found[i].stands = 1
		if i > 0 {
			sampled += found[i].total()
		}
	}
	for i := 1; i < len(found); i++ {
		found[i].stands = (1 - found[0].total()) / sampled
	}
	return found
}
