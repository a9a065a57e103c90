package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
)

// An options is everything that flags set.
type options struct {
	load       Load
	service    Service
	prices     Prices
	costs      string
	printCosts bool
	small      bool
	scan       bool
	json       bool
}

// small is a service that fits on one machine, for a run that can be compared.
var small = map[string]string{
	"tenants": "200", "chunks": "200", "retrievals": "20", "writes": "2", "nodes": "3",
	"cores": "2", "one-machine": "true", "memory": "1", "disk": "10", "replaced": "0", "partitions": "1",
	"empty": "true", "warmup": "0", "for": "120", "scan": "false", "node-price": "0",
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("simulate: ")
	if err := run(os.Args[1:], os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(args []string, out io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	c := assumedCosts()
	if o.costs != "" {
		if err := readCosts(o.costs, &c); err != nil {
			return err
		}
	}
	if o.printCosts {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(c)
	}
	r := simulate(o.load, o.service, c)
	if o.json {
		return json.NewEncoder(out).Encode(r.figures(o.service))
	}
	o.report(out, c, r)
	if o.scan {
		fmt.Fprintf(out, "\nWhat breaks first\n%s", scan(o.load, o.service, c))
	}
	return nil
}

func parse(args []string) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("simulate", flag.ContinueOnError)
	o.flags(f)
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if o.small {
		given := map[string]bool{}
		f.Visit(func(f *flag.Flag) { given[f.Name] = true })
		for name, value := range small {
			if given[name] {
				continue
			}
			if err := f.Set(name, value); err != nil {
				return nil, err
			}
		}
	}
	l, s := o.load, o.service
	if f.NArg() > 0 || l.Tenants < 1 || l.Chunks <= 0 || l.Spread < 0 || l.Retrievals <= 0 || l.Writes < 0 ||
		s.Nodes < 1 || s.Cores < 1 || s.Freshness <= 0 || s.For <= 0 || s.Partitions <= 0 {
		return nil, fmt.Errorf("rates, sizes and times have to be positive, and there are no arguments")
	}
	return o, nil
}

func (o *options) flags(f *flag.FlagSet) {
	f.BoolVar(&o.small, "small", false, "3 nodes and 200 tenants on one machine, to be compared with a real run")
	f.StringVar(&o.costs, "costs", "", "JSON file of costs that were measured")
	f.BoolVar(&o.printCosts, "print-costs", false, "print the costs of single steps as JSON, and end")
	f.BoolVar(&o.scan, "scan", true, "look for what breaks first")
	f.BoolVar(&o.json, "json", false, "print the figures that a real run can be compared in, as JSON")

	f.IntVar(&o.load.Tenants, "tenants", 1e6, "tenants")
	f.Float64Var(&o.load.Chunks, "chunks", 1e4, "mean of a tenant's chunks")
	f.Float64Var(&o.load.Spread, "spread", 1, "sigma of the log-normal sizes of tenants")
	f.Float64Var(&o.load.Zipf, "zipf", 1, "exponent of the tenants' shares of requests")
	f.Float64Var(&o.load.Retrievals, "retrievals", 5000, "retrievals a second")
	f.Float64Var(&o.load.Writes, "writes", 500, "writes a second")

	f.IntVar(&o.service.Nodes, "nodes", 40, "nodes")
	f.IntVar(&o.service.Cores, "cores", 8, "cores of a node")
	f.IntVar(&o.service.Builds, "builds", 0, "tenants that a node builds at a time; 0 is half of its cores")
	f.Float64Var(&o.service.MemoryGB, "memory", 48, "GB of a node's memory for open tenants")
	f.Float64Var(&o.service.DiskGB, "disk", 1700, "GB of a node's disk for tenants")
	f.Float64Var(&o.service.DiskMB, "disk-rate", 500, "MB that a node's disk writes in a second")
	f.BoolVar(&o.service.OneMachine, "one-machine", false, "all nodes share the cores of one")
	f.Float64Var(&o.service.Freshness, "freshness", 2, "seconds between polls of a tenant in use")
	f.Float64Var(&o.service.InUse, "in-use", 10, "seconds from a tenant's last request to its last poll; 0: poll for requests only")
	f.Float64Var(&o.service.Replaced, "replaced", 0.01, "share of tenants that lose their node in an hour")
	f.Float64Var(&o.service.Partitions, "partitions", 16, "partitions of the bucket, which bound its rate")
	f.BoolVar(&o.service.Empty, "empty", false, "start without open tenants")
	f.Float64Var(&o.service.Warmup, "warmup", 20, "seconds to simulate before measuring")
	f.Float64Var(&o.service.For, "for", 60, "seconds to measure")
	f.Float64Var(&o.service.Sample, "sample", 2000, "requests a second to simulate, at least those of two nodes")
	f.Uint64Var(&o.service.Seed, "seed", 1, "of random numbers")

	f.Float64Var(&o.prices.Node, "node-price", 0.686, "dollars for an hour of a node with its disk")
	f.Float64Var(&o.prices.Gets, "get-price", 0.0004, "dollars for 1,000 gets")
	f.Float64Var(&o.prices.Puts, "put-price", 0.005, "dollars for 1,000 puts or lists")
	f.Float64Var(&o.prices.Storage, "storage-price", 0.023, "dollars for a GB and month")
	f.Float64Var(&o.prices.Egress, "egress-price", 0.09, "dollars for a GB of answers")
	f.Float64Var(&o.prices.Reads, "read-price", 0, "dollars for a GB from storage")
}

func (o *options) report(out io.Writer, c Costs, r *result) {
	l, s := o.load, o.service
	line := func(name, format string, args ...any) {
		fmt.Fprintf(out, "%-22s "+format+"\n", append([]any{name}, args...)...)
	}
	line("load", "%d tenants, mean %.0f chunks, %g retrievals/s, %g writes/s, Zipf %g", l.Tenants, l.Chunks, l.Retrievals, l.Writes, l.Zipf)
	line("service", "%d nodes of %d cores, %g GB memory, %g GB disk", s.Nodes, s.Cores, s.MemoryGB, s.DiskGB)
	line("costs of steps", "%s", c.Source)
	line("simulated", "%d nodes, %.0f s, %d events", r.nodes, s.For, r.events)
	fmt.Fprintln(out)
	line("tenant was", "open %.2f%%, on disk %.2f%%, cold %.3f%% of retrievals", 100*r.hits(warm), 100*r.hits(closed), 100*r.hits(cold))
	line("requests to storage/s", "%.0f: get %.0f, list %.0f, put %.0f; %.3g MB/s read", r.requests[gets]+r.requests[lists]+r.requests[puts],
		r.requests[gets], r.requests[lists], r.requests[puts], r.scanned/1e6)
	line("cores in use", "%.1f%% mean, %.1f%% busiest node; places for building %.1f%%", 100*r.cpu, 100*r.cpuMax, 100*r.builds)
	line("node keeps", "%.0f open (%.3g GB), %.0f on disk (%.4g GB)", r.open, r.memoryUse/1e9, r.kept, r.diskUse/1e9)
	for _, h := range []struct {
		name string
		h    *histogram
	}{
		{"retrieval, all", r.retrievals()}, {"  open", &r.retrieval[warm]}, {"  on disk", &r.retrieval[closed]},
		{"  cold", &r.retrieval[cold]}, {"first answer, cold", &r.firstAnswer}, {"all vectors, cold", &r.complete},
		{"write", &r.write},
	} {
		if h.h.total == 0 {
			line(h.name, "none")
			continue
		}
		line(h.name, "p50 %s  p95 %s  p99 %s", duration(h.h.quantile(0.5)), duration(h.h.quantile(0.95)), duration(h.h.quantile(0.99)))
	}
	if r.unanswered.total > 0 {
		line("not answered", "%.2f%% of retrievals", 100*r.unanswered.total/r.retrievals().total)
	}
	month := o.prices.month(l, s, c, r)
	line("a month", "%s", month)
	line("1,000 retrievals", "%s", month.dividedBy(l.Retrievals*second/1000))
	line("a tenant's month", "%s", month.dividedBy(float64(l.Tenants)))
	if why := broken(s, r); why != "" && !s.Empty {
		line("BROKEN", "%s", why)
	}
}

func duration(seconds float64) string {
	switch {
	case math.IsNaN(seconds):
		return "none"
	case seconds > 0.98*drain:
		return "> 2 min" // see drain
	case seconds < 1:
		return fmt.Sprintf("%.3g ms", seconds*1000)
	}
	return fmt.Sprintf("%.3g s", seconds)
}
