package main

import (
	"math/rand/v2"
	"testing"
)

// erlangC is the mean time that a job waits in an M/M/c queue, in units of its mean service.
func erlangC(cores int, load float64) float64 {
	term, sum := 1., 0.
	for k := range cores {
		sum += term
		term *= load / float64(k+1)
	}
	term *= float64(cores) / (float64(cores) - load)
	return term / (sum + term) / (float64(cores) - load)
}

func TestWaitingIsThatOfQueueingTheory(t *testing.T) {
	const service = 0.0005 // seconds; below slice
	for _, tt := range []struct {
		name     string
		cores    int
		use      float64 // of the cores
		constant bool    // time of a job
		want     float64 // mean time to wait, in units of service
	}{
		{"M/M/1", 1, 0.5, false, 1},
		{"M/M/1, busy", 1, 0.8, false, 4},
		{"M/M/4", 4, 0.7, false, erlangC(4, 2.8)},
		{"M/M/8, busy", 8, 0.9, false, erlangC(8, 7.2)},
		{"M/D/1", 1, 0.6, true, 0.75},
		{"M/D/1, busy", 1, 0.8, true, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &clock{measuring: true}
			p := &processor{clock: c, cores: tt.cores}
			random := rand.New(rand.NewPCG(1, 1))
			var waited, jobs float64
			var arrive func()
			arrive = func() {
				need, at := service, c.now
				if !tt.constant {
					need *= random.ExpFloat64()
				}
				p.do(need, func() { waited += c.now - at - need; jobs++ })
				c.after(random.ExpFloat64()*service/(tt.use*float64(tt.cores)), arrive)
			}
			arrive()
			const until = 300
			c.run(until)
			near(t, "mean time to wait", waited/jobs/service, tt.want, 0.06)
			near(t, "use of the cores", p.used/until/float64(tt.cores), tt.use, 0.02)
		})
	}
}

func TestLongJobsLetOthersPass(t *testing.T) {
	c := &clock{}
	p := &processor{clock: c, cores: 1}
	var long, short float64
	p.do(1, func() { long = c.now })
	p.do(0.001, func() { short = c.now })
	c.run(10)
	near(t, "end of the short job", short, slice+0.001, 1e-9)
	near(t, "end of the long job", long, 1.001, 1e-9)
}

func TestPlaces(t *testing.T) {
	c := &clock{measuring: true}
	p := &places{clock: c, all: 2}
	inside, most, ended := 0, 0, 0
	for range 5 {
		p.enter(func() {
			inside++
			most = max(most, inside)
			c.after(1, func() { inside--; ended++; p.leave() })
		})
	}
	c.run(10)
	p.count()
	if most != 2 || ended != 5 {
		t.Errorf("%d at a time, %d ended, want 2 and 5", most, ended)
	}
	near(t, "seconds of places", p.used, 5, 1e-9)
}
