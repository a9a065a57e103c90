package eval

import "math/rand/v2"

// A Draw is an even sample of questions. The zero Draw is all of them.
type Draw struct {
	Limit int    // questions at most; 0 means all
	Seed  uint64 // the same one draws the same questions
}

// From returns collections with the questions that are drawn, spread evenly over all of them in
// their order. Those left without one are left out. Questions that Run passes over do not count.
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

// Cases is From for cases.
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

// asked are the questions that Run asks.
func (c Collection) asked() []Query {
	var all []Query
	for _, q := range c.Queries {
		if len(c.Judgments[q.ID]) > 0 || q.Unanswerable() {
			all = append(all, q)
		}
	}
	return all
}

// of draws one of each of Limit equal parts of total numbers; some is false if all of them are
// wanted.
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
