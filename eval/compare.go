package eval

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// A Comparison says what changed between two runs on the same queries.
type Comparison struct {
	Queries int      `json:"queries"` // that both runs have
	Missing int      `json:"missing"` // that only one has
	Changes []Change `json:"changes"` // by score, in the order of their names
	// Worse and Better are the queries whose reciprocal rank changed most, worst and best first.
	Worse  []Moved `json:"worse,omitempty"`
	Better []Moved `json:"better,omitempty"`
}

// A Change is that of the mean of a score.
type Change struct {
	Score    string   `json:"score"`
	Before   float64  `json:"before"`
	After    float64  `json:"after"`
	Interval Interval `json:"interval"` // of After less Before, 95 %, by bootstrap
	// P is how likely a difference this large is by chance (two-sided randomisation test).
	P float64 `json:"p"`
}

// significance is the P below which a change is taken for real.
const significance = 0.05

// Fell tells whether the score is lower, and not by chance.
func (c Change) Fell() bool { return c.After < c.Before && c.P < significance }

// A Moved is a query with its reciprocal ranks.
type Moved struct {
	Collection string  `json:"collection"`
	ID         string  `json:"id"`
	Text       string  `json:"text"`
	Before     float64 `json:"before"`
	After      float64 `json:"after"`
}

// mostMoved is how many queries of each kind a Comparison has.
const mostMoved = 10

// ErrNothingInCommon is returned for runs without a query of the same collection and ID.
var ErrNothingInCommon = errors.New("the runs have no answerable query in common")

// ReadReport reads a report that was written as JSON. One that cannot be compared query by query is refused: a query of it is there twice, or has
// a score that is none.
func ReadReport(r io.Reader) (Report, error) {
	var report Report
	if err := json.NewDecoder(r).Decode(&report); err != nil {
		return Report{}, fmt.Errorf("read report: %w", err)
	}
	if len(report.Queries) == 0 {
		return Report{}, errors.New("read report: it has no queries; want one that 'eval run --json' has written")
	}
	seen := map[queryKey]bool{}
	for _, a := range report.Queries {
		key := queryKey{a.Collection, a.ID}
		if seen[key] {
			return Report{}, fmt.Errorf("read report: query %q of collection %q is there twice; want each once, and another name for each collection", a.ID, a.Collection)
		}
		seen[key] = true
		for _, name := range slices.Sorted(maps.Keys(a.Scores)) {
			if score := a.Scores[name]; score < 0 || score > 1 {
				return Report{}, fmt.Errorf("read report: query %q of collection %q has %s %g, want 0 to 1", a.ID, a.Collection, name, score)
			}
		}
	}
	return report, nil
}

// Compare compares two runs, query by query. Scores that only one of them has are left out.
func Compare(before, after Report) (Comparison, error) {
	var c Comparison
	pairs := pair(before.Queries, after.Queries, &c)
	if c.Queries == 0 {
		return c, ErrNothingInCommon
	}
	drawn := draws(len(pairs))
	for _, key := range slices.Sorted(maps.Keys(pairs[0][0].Scores)) {
		if _, both := pairs[0][1].Scores[key]; both {
			c.Changes = append(c.Changes, changeOf(key, pairs, drawn))
		}
	}
	c.Worse, c.Better = moved(pairs)
	return c, nil
}

type queryKey struct{ collection, id string }

// pair joins the answerable queries of two runs.
func pair(before, after []Asked, c *Comparison) [][2]Asked {
	known := map[queryKey]Asked{}
	for _, a := range before {
		if a.Answerable {
			known[queryKey{a.Collection, a.ID}] = a
		}
	}
	var pairs [][2]Asked
	for _, a := range after {
		if !a.Answerable {
			continue
		}
		key := queryKey{a.Collection, a.ID}
		if b, ok := known[key]; ok {
			pairs = append(pairs, [2]Asked{b, a})
			delete(known, key)
			continue
		}
		c.Missing++
	}
	c.Queries, c.Missing = len(pairs), c.Missing+len(known)
	return pairs
}

func changeOf(key string, pairs [][2]Asked, drawn [][]int32) Change {
	change := Change{Score: key}
	differences := make([]float64, len(pairs))
	for i, p := range pairs {
		b, a := p[0].Scores[key], p[1].Scores[key]
		change.Before, change.After = change.Before+b, change.After+a
		differences[i] = a - b
	}
	change.Before /= float64(len(pairs))
	change.After /= float64(len(pairs))
	change.Interval, change.P = intervalOf(differences, drawn), signTest(differences)
	return change
}

func moved(pairs [][2]Asked) (worse, better []Moved) {
	var all []Moved
	for _, p := range pairs {
		m := Moved{p[1].Collection, p[1].ID, p[1].Text, p[0].Scores["mrr"], p[1].Scores["mrr"]}
		if m.Before != m.After {
			all = append(all, m)
		}
	}
	slices.SortStableFunc(all, func(a, b Moved) int { return cmp.Compare(a.After-a.Before, b.After-b.Before) })
	for _, m := range all[:min(mostMoved, len(all))] {
		if m.After < m.Before {
			worse = append(worse, m)
		}
	}
	slices.Reverse(all)
	for _, m := range all[:min(mostMoved, len(all))] {
		if m.After > m.Before {
			better = append(better, m)
		}
	}
	return worse, better
}

// Fallen are the changes of the scores named that fell; of all of them if none is named.
func (c Comparison) Fallen(scores ...string) []Change {
	var fallen []Change
	for _, change := range c.Changes {
		if change.Fell() && (len(scores) == 0 || slices.Contains(scores, change.Score)) {
			fallen = append(fallen, change)
		}
	}
	return fallen
}

// Table returns the comparison as text.
func (c Comparison) Table() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "score\tbefore\tafter\tchange\t95 % interval\tp\t\n")
	for _, change := range c.Changes {
		mark := ""
		if change.P < significance {
			mark = " *"
		}
		fmt.Fprintf(w, "%s\t%.4f\t%.4f\t%+.4f\t%+.4f … %+.4f\t%.3f%s\t\n", change.Score, change.Before, change.After,
			change.After-change.Before, change.Interval[0], change.Interval[1], change.P, mark)
	}
	w.Flush()
	fmt.Fprintf(&b, "%d queries in both runs, %d in one only; * is p < %.2f\n", c.Queries, c.Missing, significance)
	listMoved(&b, "worse", c.Worse)
	listMoved(&b, "better", c.Better)
	return b.String()
}

func listMoved(b *strings.Builder, title string, all []Moved) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s (reciprocal rank of the first true hit)\n", title)
	for _, m := range all {
		fmt.Fprintf(b, "  %.2f → %.2f  %s %s: %s\n", m.Before, m.After, m.Collection, m.ID, m.Text)
	}
}
