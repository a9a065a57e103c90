package main

import "math/rand/v2"

// A Service is the nodes, and how they work.
type Service struct {
	Nodes       int
	Cores       int // of a node
	Builds      int // tenants that a node builds at a time, each on one core; 0 is half of the cores
	MemoryGB    float64
	DiskGB      float64
	DiskMB      float64 // that the disk writes in a second
	OneMachine  bool    // all nodes share Cores
	Freshness   float64 // seconds between polls of an open tenant
	InUse       float64 // seconds from the last request to the last poll; 0 polls for requests only
	Replaced    float64 // share of tenants that lose their node in an hour
	Partitions  float64 // of the bucket, by which storage limits rates
	Empty       bool    // starts without open tenants, and with compacted logs
	Warmup, For float64 // seconds that are simulated before measuring, and then
	Sample      float64 // requests a second that are simulated, at least those of two nodes
	Seed        uint64
}

// drain is how long requests may take, in seconds, after the last one has come.
const drain = 120

type simulation struct {
	clock
	Load
	Service
	Costs
	random     *rand.Rand
	result     *result
	end        float64 // of requests
	unanswered float64 // retrievals that were measured
	nodes      []*node
}

// simulate runs a load against a service.
func simulate(l Load, s Service, c Costs) *result {
	if s.Builds == 0 {
		s.Builds = max(1, s.Cores/2)
	}
	sim := &simulation{Load: l, Service: s, Costs: c, random: rand.New(rand.NewPCG(s.Seed, 1)), result: &result{}}
	sim.end = s.Warmup + s.For
	var cpu *processor
	for _, sh := range l.shares(s.Nodes, s.Sample, s.Seed) {
		if cpu == nil || !s.OneMachine {
			cpu = &processor{clock: &sim.clock, cores: s.Cores}
		}
		sim.nodes = append(sim.nodes, newNode(sim, sh, cpu))
	}
	for _, n := range sim.nodes {
		if !s.Empty {
			n.fill()
		}
		if len(n.tenants) > 0 {
			n.after(n.interval(), n.arrive)
		}
	}
	sim.run(s.Warmup)
	sim.measure(true)
	sim.run(sim.end)
	sim.measure(false)
	sim.summarise()
	for sim.now < sim.end+drain && sim.unanswered > 0.5 {
		sim.run(sim.now + 1)
	}
	if sim.unanswered > 0.5 {
		sim.result.unanswered.add(drain, sim.unanswered)
	}
	sim.result.events = sim.made
	return sim.result
}

func (s *simulation) measure(on bool) {
	for _, n := range s.nodes {
		n.builds.count()
	}
	s.measuring = on
}

// summarise takes the figures of the time that was measured.
func (s *simulation) summarise() {
	r := s.result
	r.nodes = len(s.nodes)
	for k := range r.requests {
		r.requests[k] /= s.For
	}
	r.scanned /= s.For
	r.embedded /= s.For
	all := 0.
	for _, n := range s.nodes {
		all += n.share.stands
	}
	for i, n := range s.nodes {
		part := n.share.stands / all
		used := n.cpu.used / s.For / float64(s.Cores)
		r.cpu += used * part
		r.cpuMax = max(r.cpuMax, used)
		r.builds = max(r.builds, n.builds.used/s.For/float64(s.Builds))
		r.diskUse += n.disk.used * part
		r.diskFull = max(r.diskFull, n.disk.used/n.disk.budget)
		r.diskWrites = max(r.diskWrites, n.written/s.For)
		r.memoryUse += n.open.used * part
		r.open += float64(n.open.order.Len()) * part
		r.kept += float64(n.disk.order.Len()) * part
		for t := range n.tenants {
			for k, count := range n.tenants[t].requests {
				r.hottest[k] = max(r.hottest[k], count/s.For)
			}
		}
		if i == 0 {
			r.hotShare = n.share.of(0) / n.share.total()
		}
	}
}
