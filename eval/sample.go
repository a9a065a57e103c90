package eval

import "math/rand/v2"

// A Draw samples questions evenly. The zero Draw takes all.
type Draw struct {
	Limit int    // questions at most; 0 means all
	Seed  uint64 // the same one draws the same questions
}

// Cases draws cases.
func (d Draw) Cases(cases []Case) []Case {
	drawn, some := d.Of(len(cases))
	if !some {
		return cases
	}
	var all []Case
	for i, c := range cases {
		if drawn[i] {
			all = append(all, c)
		}
	}
	return all
}

// Of draws a number from each of Limit equal parts of total. some is false if all are drawn.
func (d Draw) Of(total int) (drawn map[int]bool, some bool) {
	if d.Limit <= 0 || d.Limit >= total {
		return nil, false
	}
	random := rand.New(rand.NewPCG(d.Seed, uint64(total)))
	drawn = map[int]bool{}
	for i := range d.Limit {
		from, to := i*total/d.Limit, (i+1)*total/d.Limit
		drawn[from+random.IntN(to-from)] = true
	}
	return drawn, true
}
