package flat

import (
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/internal/disk"
)

// A selection chooses the rows of a search.
type selection struct {
	*snapshot
	places []bool // by number of the place; nil if all pass
	timed  []bool // by row; nil if all pass
}

// selectRows checks each place once, not each row.
func (s *snapshot) selectRows(f store.Filter) (selection, error) {
	rows := selection{snapshot: s}
	if f.Scope != "" || f.Kind != "" || f.NotKind != "" || f.Path != "" || len(f.Not) > 0 {
		rows.places = make([]bool, len(s.places))
		for i, p := range s.places {
			rows.places[i] = f.Passes(p.scope, p.kind, p.path)
		}
	}
	if !f.Timed() {
		return rows, nil
	}
	timed, err := rows.within(f)
	rows.timed = timed
	return rows, err
}

// within reports by row which selected rows pass Since and Until. Entries have days: it reads only
// records of the first and last one.
func (s selection) within(f store.Filter) ([]bool, error) {
	first, last := disk.Days(f)
	timed := make([]bool, s.Rows)
	for row := range timed {
		d := s.row(row).day()
		if !s.has(row) || d < first || d > last || d == disk.NoDay {
			continue
		}
		timed[row] = d > first && d < last
		if timed[row] {
			continue
		}
		rec, err := s.record(row)
		if err != nil {
			return nil, err
		}
		timed[row] = f.PassesAt(rec.Time)
	}
	return timed, nil
}

func (s selection) has(row int) bool {
	return !s.dead.has(row) && (s.places == nil || s.places[s.place[row]]) && (s.timed == nil || s.timed[row])
}

// run returns the first run of selected rows in [lo, hi).
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
