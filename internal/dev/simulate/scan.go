package main

import (
	"fmt"
	"math"
	"strings"
	"sync"
)

// Limits of storage for a partition of a bucket, in requests a second, as AWS documents them.
const (
	mostGets = 5500 // and lists
	mostPuts = 3500
)

// A limit is one that a service may reach. use of 1 is the limit.
type limit struct {
	what string
	use  float64
}

func limits(s Service, r *result) []limit {
	rate := func(requests [kinds]float64, partitions float64) float64 {
		return max((requests[gets]+requests[lists])/mostGets, requests[puts]/mostPuts) / partitions
	}
	return []limit{
		{"p99 of retrievals is above 1 s", r.retrievals().quantile(0.99)},
		{fmt.Sprintf("cores of the busiest node (its most used tenant has %.0f%% of its requests)", 100*r.hotShare), r.cpuMax / 0.95},
		{fmt.Sprintf("places for building cold tenants (its disk is %.0f%% full)", 100*r.diskFull), r.builds / 0.95},
		{"writes of a node's disk", r.diskWrites / (s.DiskMB * 1e6) / 0.95},
		{"storage's limit for the most used tenant", rate(r.hottest, 1)},
		{fmt.Sprintf("storage's limit for %.0f partitions", s.Partitions), rate(r.requests, s.Partitions)},
	}
}

// broken returns the limits that are reached, the worst first; "" if none is.
func broken(s Service, r *result) string {
	var reached []string
	worst := 1.
	for _, l := range limits(s, r) {
		switch {
		case l.use <= 1 || math.IsNaN(l.use):
		case l.use > worst:
			worst, reached = l.use, append([]string{l.what}, reached...)
		default:
			reached = append(reached, l.what)
		}
	}
	return strings.Join(reached, "; ")
}

// A dimension is a parameter that scan changes. at returns the load and service at x, which
// starts at from and is multiplied by factor up to most times.
type dimension struct {
	name   string
	from   float64
	factor float64
	most   int
	at     func(l Load, s Service, x float64) (Load, Service)
}

func dimensions(l Load, s Service) []dimension {
	return []dimension{
		{"tenants", float64(l.Tenants), 2, 4, func(l Load, s Service, x float64) (Load, Service) {
			l.Tenants = int(x)
			return l, s
		}},
		{"requests/s", l.requests(), 2, 6, func(l Load, s Service, x float64) (Load, Service) {
			all := l.requests()
			l.Retrievals, l.Writes = l.Retrievals/all*x, l.Writes/all*x
			return l, s
		}},
		{"nodes", float64(s.Nodes), 0.5, int(math.Log2(float64(s.Nodes))), func(l Load, s Service, x float64) (Load, Service) {
			s.Nodes = int(x)
			return l, s
		}},
	}
}

// scan changes one parameter at a time until something breaks, and describes what it saw.
func scan(l Load, s Service, c Costs) string {
	s.Sample /= 2
	all := dimensions(l, s)
	found := make([]string, len(all))
	var running sync.WaitGroup
	for i, d := range all {
		running.Go(func() { found[i] = d.scan(l, s, c) })
	}
	running.Wait()
	return strings.Join(found, "")
}

func (d *dimension) scan(l Load, s Service, c Costs) string {
	var out strings.Builder
	try := func(x float64) string {
		load, service := d.at(l, s, x)
		r := simulate(load, service, c)
		fmt.Fprintf(&out, "%-11s %9.0f  p99 %8s  cold %6.2f%%  cores %3.0f%%  building %3.0f%%  disk %3.0f%%  storage %3.0f%%\n",
			d.name, x, duration(r.retrievals().quantile(0.99)), 100*r.hits(cold), 100*r.cpuMax, 100*r.builds,
			100*r.diskFull, 100*limits(service, r)[5].use)
		return broken(service, r)
	}
	good, bad := d.from, d.from
	why := try(bad)
	for i := 0; why == "" && i < d.most; i++ {
		good, bad = bad, math.Floor(bad*d.factor)
		why = try(bad)
	}
	if why == "" {
		return fmt.Sprintf("%sNothing breaks to %.0f %s.\n\n", &out, bad, d.name)
	}
	if bad == d.from {
		return fmt.Sprintf("%sBroken from the start: %s.\n\n", &out, why)
	}
	for range 3 {
		middle := math.Round(math.Sqrt(good * bad))
		if middle == good || middle == bad {
			break
		}
		if w := try(middle); w == "" {
			good = middle
		} else {
			bad, why = middle, w
		}
	}
	return fmt.Sprintf("%sHolds at %.0f %s. At %.0f it breaks: %s.\n\n", &out, good, d.name, bad, why)
}
