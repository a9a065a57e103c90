package injection

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/memcore/memcore/internal/text/injection"
)

// scored is a text with its score, and whether it is flagged, by origin.
type scored struct {
	*Text
	score   float64
	flagged [injection.Origins]bool
}

// limits are the lowest flagged scores by origin.
type limits [injection.Origins]float64

// limitsOf returns the limits that flag at most some shares of notes.
func limitsOf(all []scored, alarms [injection.Origins]float64) (l limits) {
	for from, most := range alarms {
		l[from] = threshold(all, most)
	}
	return l
}

// flag flags the texts with scores above the limits.
func (l limits) flag(all []scored) []scored {
	for i := range all {
		for from, limit := range l {
			all[i].flagged[from] = all[i].score >= limit
		}
	}
	return all
}

// thresholds returns the limits as probabilities.
func (l limits) thresholds() (t injection.Thresholds) {
	for from, limit := range l {
		t[from] = logistic(limit)
	}
	return t
}

// threshold returns the lowest score that flags at most a share of notes. Sources count by the root
// of their size.
func threshold(all []scored, alarms float64) float64 {
	counts, emphasis := map[string]float64{}, map[string]float64{}
	var notes []scored
	for _, s := range all {
		if s.Kind == Note {
			counts[s.Source]++
			emphasis[s.Source] = s.weight()
			notes = append(notes, s)
		}
	}
	total := 0.0
	for _, source := range slices.Sorted(maps.Keys(counts)) {
		total += math.Sqrt(counts[source]) * emphasis[source]
	}
	slices.SortFunc(notes, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	flagged, last := 0.0, 0.0
	for _, n := range notes {
		flagged += emphasis[n.Source] / math.Sqrt(counts[n.Source]) / total
		if flagged > alarms {
			return n.score + 1e-6
		}
		last = n.score
	}
	return last
}

// A tally counts texts, and those flagged at the threshold of each origin.
type tally struct {
	flagged [injection.Origins]int
	of      int
}

func (t *tally) add(s scored) {
	t.of++
	for from, is := range s.flagged {
		if is {
			t.flagged[from]++
		}
	}
}

func (t *tally) String() string {
	text := fmt.Sprint(t.of)
	for _, n := range t.flagged {
		text += fmt.Sprintf("\t%.1f %%", 100*float64(n)/float64(t.of))
	}
	return text
}

// table writes the flagged texts by kind, source and language.
func table(out io.Writer, all []scored) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	defer w.Flush()
	for _, by := range []struct {
		title string
		key   func(*Text) string
	}{
		{"all", func(t *Text) string { return t.Kind }},
		{"by source", func(t *Text) string { return t.Kind + " " + t.Source }},
		{"by language", func(t *Text) string { return t.Kind + " " + t.Lang }},
	} {
		tallies := map[string]*tally{}
		for _, s := range all {
			k := by.key(s.Text)
			if tallies[k] == nil {
				tallies[k] = &tally{}
			}
			tallies[k].add(s)
		}
		fmt.Fprintf(w, "%s\ttexts\tif %s\tif %s\n", by.title, injection.Own, injection.Foreign)
		for _, k := range slices.Sorted(maps.Keys(tallies)) {
			fmt.Fprintf(w, "%s\t%s\n", k, tallies[k])
		}
		fmt.Fprintln(w, "\t\t\t")
	}
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
