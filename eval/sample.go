package eval

import "math/rand/v2"

// A Draw samples questions evenly. The zero Draw takes all.
type Draw struct {
	Limit int    // questions at most; 0 means all
	Seed  uint64 // the same one draws the same questions
}

// From returns the non-empty collections of drawn questions.
func (d Draw) From(collections []Collection) []Collection {
	total := 0
	for _, c := range collections {
		total += len(c.asked())
	}
	drawn, some := d.of(total)
	if !some {
		return collections
	}
	var all []Collection
	n := 0
	for _, c := range collections {
		questions := c.asked()
		c.Queries = nil
		for _, q := range questions {
			if drawn[n] {
				c.Queries = append(c.Queries, q)
			}
			n++
		}
		if len(c.Queries) > 0 {
			all = append(all, c)
		}
	}
	return all
}

// Cases draws cases.
func (d Draw) Cases(cases []Case) []Case {
	drawn, some := d.of(len(cases))
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

// asked returns the questions that Run asks.
func (c Collection) asked() []Query {
	var all []Query
	for _, q := range c.Queries {
		if len(c.Judgments[q.ID]) > 0 || q.Unanswerable() {
			all = append(all, q)
		}
	}
	return all
}

// of draws a number from each of Limit equal parts of total. some is false if all are drawn.
func (d Draw) of(total int) (drawn map[int]bool, some bool) {
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
