package flat

import "github.com/memcore/memcore/store"

// A selection says which rows of a snapshot a search looks at.
type selection struct {
	*snapshot
	places []bool // by number of the place; nil if all pass
}

// selectRows looks at each place once, however many rows it has.
func (s *snapshot) selectRows(f store.Filter) selection {
	if f.Scope == "" && f.Kind == "" && f.Path == "" && len(f.Not) == 0 {
		return selection{s, nil}
	}
	passing := make([]bool, len(s.places))
	for i, p := range s.places {
		passing[i] = f.Passes(p.scope, p.kind, p.path)
	}
	return selection{s, passing}
}

func (s selection) has(row int) bool {
	return !s.dead.has(row) && (s.places == nil || s.places[s.place[row]])
}

// run returns the first run of selected rows from lo up to hi: all from from up to to; from is hi if
// there is none.
func (s selection) run(lo, hi int) (from, to int) {
	for lo < hi && !s.has(lo) {
		lo++
	}
	to = lo
	for to < hi && s.has(to) {
		to++
	}
	return lo, to
}
