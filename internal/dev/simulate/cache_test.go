package main

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

func TestLRU(t *testing.T) {
	for _, tt := range []struct {
		name    string
		used    []int // tenants; each has as many bytes as its number
		want    []int // in the set
		dropped []int
	}{
		{"all fit", []int{1, 2, 3}, []int{1, 2, 3}, nil},
		{"the oldest go", []int{1, 4, 5, 3}, []int{3, 5}, []int{1, 4}},
		{"use makes young", []int{1, 5, 4, 1, 2}, []int{1, 2, 4}, []int{5}},
		{"the newest stays, however large", []int{1, 2, 30}, []int{30}, []int{1, 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLRU(10)
			var dropped []int
			for _, i := range tt.used {
				l.use(i, float64(i), func(i int) { dropped = append(dropped, i) })
			}
			sum := 0.
			for _, i := range tt.want {
				sum += float64(i)
				if !l.has(i) {
					t.Errorf("%d is not in the set", i)
				}
			}
			if l.used != sum || len(l.items) != len(tt.want) || l.order.Len() != len(tt.want) {
				t.Errorf("%d tenants with %g bytes, want %v", len(l.items), l.used, tt.want)
			}
			if !slices.Equal(dropped, tt.dropped) {
				t.Errorf("dropped %v, want %v", dropped, tt.dropped)
			}
		})
	}
}

// Che's approximation: a tenant with a share p of requests is in the set with probability
// 1-exp(-p*T), and T is such that the set is full.
func che(shares []float64, room float64) (hits float64) {
	low, high := 0., 1e12
	for range 200 {
		T, full := math.Sqrt(max(low, 1e-3)*high), 0.
		hits = 0
		for _, p := range shares {
			in := -math.Expm1(-p * T)
			full += in
			hits += p * in
		}
		if full < room {
			low = T
		} else {
			high = T
		}
	}
	return hits
}

func TestHitRateIsThatOfAnLRU(t *testing.T) {
	l := Load{Tenants: 2000, Chunks: 10, Zipf: 0.9, Retrievals: 200}
	c := assumedCosts()
	c.MemoryBytes, c.MemoryBytesPerChunk, c.DiskBytesPerChunk = 1e6, 0, 1e5
	// Requests that wait for a preparation are no hits, so let it be short.
	c.ReopenMS, c.BuildMS, c.BuildUSPerChunk, c.EmbedSecondsPerMTokens = 0, 0, 0, 0
	c.GetP50MS, c.GetP99MS = 0.01, 0.01
	s := Service{Nodes: 1, Cores: 8, MemoryGB: 0.1, DiskGB: 0.5, Freshness: 2, For: 100, Seed: 3, Partitions: 1}
	shares := make([]float64, l.Tenants)
	all := l.shares(1, 1, 3)[0]
	for i := range shares {
		shares[i] = all.of(i)
	}
	open, kept := che(shares, 100), che(shares, 500)
	for _, empty := range []bool{false, true} {
		if s.Empty = empty; empty {
			s.Warmup = 200
		}
		r := simulate(l, s, c)
		near(t, fmt.Sprint("share of open tenants, from an empty start: ", empty), r.hits(warm), open, 0.03)
		near(t, "share of tenants on the disk", r.hits(warm)+r.hits(closed), kept, 0.03)
	}
}
