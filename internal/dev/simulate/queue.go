package main

import "container/heap"

// A clock runs events in the order of their times. Times are seconds.
type clock struct {
	now       float64
	measuring bool // whether counts and latencies of now go into the report
	events    events
	made      int
}

type event struct {
	at  float64
	nth int // events of one time run in the order in which they were made
	do  func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].nth < e[j].nth
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	(*e)[last] = event{}
	*e = (*e)[:last]
	return x
}

func (c *clock) after(seconds float64, do func()) {
	c.made++
	heap.Push(&c.events, event{c.now + seconds, c.made, do})
}

// run runs events until a time, or until none is left.
func (c *clock) run(until float64) {
	for len(c.events) > 0 && c.events[0].at <= until {
		e := heap.Pop(&c.events).(event)
		c.now = e.at
		e.do()
	}
	c.now = until
}

// A fifo is a queue.
type fifo[T any] struct {
	all  []T
	head int
}

func (q *fifo[T]) push(x T) { q.all = append(q.all, x) }

func (q *fifo[T]) empty() bool { return q.head == len(q.all) }

func (q *fifo[T]) pop() T {
	x := q.all[q.head]
	q.head++
	if q.head > 1024 && q.head > len(q.all)/2 {
		q.all, q.head = append(q.all[:0], q.all[q.head:]...), 0
	}
	return x
}

// slice is how long a job keeps a core while others wait: Go preempts after 10 ms.
const slice = 0.010

// A processor works on jobs first come, first served, and puts long ones at the end of the queue
// after each slice.
type processor struct {
	clock       *clock
	cores, busy int
	waiting     fifo[job]
	used        float64 // seconds of cores while measuring
}

type job struct {
	left float64 // seconds of a core
	done func()
}

func (p *processor) do(seconds float64, done func()) {
	p.waiting.push(job{seconds, done})
	p.next()
}

func (p *processor) next() {
	for p.busy < p.cores && !p.waiting.empty() {
		j := p.waiting.pop()
		run := min(j.left, slice)
		p.busy++
		p.clock.after(run, func() {
			p.busy--
			if p.clock.measuring {
				p.used += run
			}
			j.left -= run
			if j.left > 1e-12 {
				p.waiting.push(j)
			} else {
				j.done()
			}
			p.next()
		})
	}
}

// Places are for work that only so many may do at a time.
type places struct {
	clock    *clock
	all      int
	occupied int
	waiting  fifo[func()]
	since    float64 // time of the last change
	used     float64 // seconds of places while measuring
}

// enter calls work as soon as there is a place. It is given back by leave.
func (p *places) enter(work func()) {
	p.waiting.push(work)
	p.next()
}

func (p *places) leave() {
	p.count()
	p.occupied--
	p.next()
}

func (p *places) next() {
	for p.occupied < p.all && !p.waiting.empty() {
		p.count()
		p.occupied++
		p.waiting.pop()()
	}
}

// count has to be called before each change, also of clock.measuring.
func (p *places) count() {
	if p.clock.measuring {
		p.used += float64(p.occupied) * (p.clock.now - p.since)
	}
	p.since = p.clock.now
}
