package eval

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// A Comparison is of two runs on the same queries.
type Comparison struct {
	Queries int      `json:"queries"` // that both runs have
	Missing int      `json:"missing"` // that only one has
	Changes []Change `json:"changes"` // by score, in the order of their names
	// Worse and Better are the queries that changed most.
	Worse  []Moved `json:"worse,omitempty"`
	Better []Moved `json:"better,omitempty"`
}

// A Change is that of a mean score.
type Change struct {
	Score    string   `json:"score"`
	Before   float64  `json:"before"`
	After    float64  `json:"after"`
	Interval Interval `json:"interval"` // of After less Before, 95 %, by bootstrap
	// P is the probability by chance (two-sided randomisation test).
	P float64 `json:"p"`
}

// significance is the P below which a change counts as real.
const significance = 0.05

// Significant reports whether the change is hardly by chance.
func (c Change) Significant() bool { return c.P < significance }

// Fell reports whether the score is significantly lower.
func (c Change) Fell() bool { return c.After < c.Before && c.Significant() }

// A Moved is a query with its reciprocal ranks.
type Moved struct {
	Collection string  `json:"collection"`
	ID         string  `json:"id"`
	Text       string  `json:"text"`
	Before     float64 `json:"before"`
	After      float64 `json:"after"`
}

// maxMoved limits Worse and Better.
const maxMoved = 10

// ErrNothingInCommon is returned for runs that share no query.
var ErrNothingInCommon = errors.New("the runs have no answerable query in common")

// readReport refuses duplicate queries and invalid scores.
func readReport(path string) (Report, error) {
	file, err := os.Open(path)
	if err != nil {
		return Report{}, err
	}
	defer file.Close()
	report, err := parseReport(file)
	if err != nil {
		return Report{}, fmt.Errorf("%s: %w", path, err)
	}
	return report, nil
}

func parseReport(r io.Reader) (Report, error) {
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
			return Report{}, fmt.Errorf("read report: query %q of collection %q occurs twice; want different names of collections", a.ID, a.Collection)
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

// Compare compares two runs by query, in the scores of both.
func Compare(before, after Report) (Comparison, error) {
	var c Comparison
	pairs := pair(before, after, &c)
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

// keyOf names a query in both runs. The numbers of cases change with their file, so these are known
// by their questions.
func (r Report) keyOf(a Asked) queryKey {
	if r.Level == levelExpectation {
		return queryKey{a.Collection, a.Text}
	}
	return queryKey{a.Collection, a.ID}
}

// Same returns the queries that both runs have, those of before first. A case that expects
// something else now is another one.
func Same(before, after Report) (pairs [][2]Asked) {
	known := map[queryKey]Asked{}
	for _, a := range before.Queries {
		known[before.keyOf(a)] = a
	}
	for _, a := range after.Queries {
		b, ok := known[after.keyOf(a)]
		if !ok || b.Answerable != a.Answerable {
			continue
		}
		if after.Level == levelExpectation && b.Relevant != nil && !maps.Equal(a.Relevant, b.Relevant) {
			continue
		}
		pairs = append(pairs, [2]Asked{b, a})
		delete(known, after.keyOf(a))
	}
	return pairs
}

// pair joins the answerable queries of two runs.
func pair(before, after Report, c *Comparison) [][2]Asked {
	pairs := slices.DeleteFunc(Same(before, after), func(p [2]Asked) bool { return !p[1].Answerable })
	c.Queries = len(pairs)
	for _, r := range []Report{before, after} {
		for _, a := range r.Queries {
			c.Missing += int(one(a.Answerable))
		}
	}
	c.Missing -= 2 * len(pairs)
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
	for _, m := range all[:min(maxMoved, len(all))] {
		if m.After < m.Before {
			worse = append(worse, m)
		}
	}
	slices.Reverse(all)
	for _, m := range all[:min(maxMoved, len(all))] {
		if m.After > m.Before {
			better = append(better, m)
		}
	}
	return worse, better
}

// Fallen returns which of these scores fell significantly; without names, of all.
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
		if change.Significant() {
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
