package main

import "fmt"

// Prices are in dollars. The defaults are list prices of one region, without discounts.
type Prices struct {
	Node    float64 // an hour; its disk is part of it
	Gets    float64 // 1,000
	Puts    float64 // 1,000; lists too
	Storage float64 // a GB and month
	Egress  float64 // a GB of answers
	Reads   float64 // a GB from storage: 0 in the same region
}

const (
	hours  = 730 // of a month
	second = hours * 3600
)

// A bill is what a month costs, in dollars.
type bill struct {
	compute, requests, storage, egress float64
}

func (b bill) total() float64 { return b.compute + b.requests + b.storage + b.egress }

func (b bill) dividedBy(x float64) bill {
	return bill{b.compute / x, b.requests / x, b.storage / x, b.egress / x}
}

func (b bill) String() string {
	return fmt.Sprintf("$%.3g = compute %.3g + requests %.3g + storage %.3g + egress %.3g",
		b.total(), b.compute, b.requests, b.storage, b.egress)
}

// month returns the bill of a month that is all like the time that was measured.
func (p *Prices) month(l Load, s Service, c Costs, r *result) bill {
	logs := float64(l.Tenants) * l.Chunks * c.LogBytesPerChunk
	return bill{
		compute:  float64(s.Nodes) * p.Node * hours,
		requests: (r.requests[gets]*p.Gets + (r.requests[puts]+r.requests[lists])*p.Puts) / 1000 * second,
		storage:  logs / 1e9 * p.Storage,
		egress:   (l.Retrievals*c.AnswerBytes*p.Egress + r.scanned*p.Reads) / 1e9 * second,
	}
}
