package sets

import "github.com/memcore/memcore/eval"

// Draw returns the non-empty collections of drawn questions.
func Draw(d eval.Draw, collections []Collection) []Collection {
	total := 0
	for _, c := range collections {
		total += len(c.asked())
	}
	drawn, some := d.Of(total)
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
