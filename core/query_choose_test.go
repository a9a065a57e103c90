package core

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/store"
)

func scored(score float64, r store.Record) *candidate {
	c := candidateOf(r)
	c.Score = score
	return c
}

func scoredText(score float64, text string, tokens int) *candidate {
	return scored(score, store.Record{ID: text, Path: text + ".md", StartLine: 1, EndLine: 1, Text: text, Tokens: tokens})
}

func TestChoose(t *testing.T) {
	ranked := []*candidate{
		scoredText(0.9, "alpha beta gamma", 100),
		scoredText(0.8, "Alpha, beta: gamma.", 100), // the same words
		scoredText(0.7, "delta epsilon", 300),
		scoredText(0.6, "zeta eta", 50),
		scoredText(0.2, "theta iota", 10),
	}
	for _, tt := range []struct {
		name string
		s    selection
		want []string
	}{
		{"duplicates fold, threshold cuts", selection{threshold: 0.5, limit: 10, budget: -1}, []string{"alpha beta gamma", "delta epsilon", "zeta eta"}},
		{"limit", selection{threshold: 0.5, limit: 1, budget: -1}, []string{"alpha beta gamma"}},
		{"what does not fit the budget makes room for what does", selection{threshold: 0.5, limit: 10, budget: 200}, []string{"alpha beta gamma", "zeta eta"}},
		{"the first hit may be over the budget", selection{threshold: 0.5, limit: 10, budget: 10}, []string{"alpha beta gamma"}},
		{"beside a sure hit the next adds less than it costs", selection{threshold: 0.1, sparing: true, limit: 10, budget: -1}, []string{"alpha beta gamma"}},
		{"no threshold", selection{threshold: -1, limit: 10, budget: -1}, []string{"alpha beta gamma", "delta epsilon", "zeta eta", "theta iota"}},
		{"nothing reaches it", selection{threshold: 0.95, limit: 10, budget: -1}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.s.explain = true
			chosen := choose(ranked, 10, tt.s)
			hits, rejected := chosen.hits, chosen.rejected
			var got []string
			for _, hit := range hits {
				got = append(got, hit.Text)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("choose = %q, want %q", got, tt.want)
			}
			if len(hits)+len(rejected) != len(ranked) {
				t.Errorf("%d hits and %d rejected of %d candidates", len(hits), len(rejected), len(ranked))
			}
		})
	}
	chosen := choose(ranked, 10, selection{threshold: 0.5, limit: 10, budget: -1})
	hits := chosen.hits
	if want := []string{"Alpha, beta%3A gamma..md#L1"}; !slices.Equal(hits[0].Also, want) {
		t.Errorf("the folded duplicate is cited as %q, want %q", hits[0].Also, want)
	}
}

// One or two sure hits suffice. If none is sure, a turn gets more, even below the first one's
// threshold.
func TestHowMuch(t *testing.T) {
	for _, tt := range []struct {
		name   string
		chunks int
		scores []float64
		want   int
	}{
		{"sure", 10, []float64{0.9, 0.3, 0.3, 0.3}, 1},
		{"two sure ones", 10, []float64{0.9, 0.85, 0.3, 0.3}, 2},
		{"none is sure", 10, []float64{0.4, 0.35, 0.3, 0.05}, 3},
		{"none is sure in much", 5000, []float64{0.3, 0.2, 0.15, 0.1, 0.1, 0.05}, 6},
		{"the first is below the threshold", 5000, []float64{0.19, 0.19}, 0},
	} {
		var ranked []*candidate
		for i, score := range tt.scores {
			ranked = append(ranked, scoredText(score, fmt.Sprintf("says %d thing%d", i, i), 10))
		}
		chosen := choose(ranked, tt.chunks, selection{threshold: 0.2, sparing: true, limit: 8, budget: 600})
		hits := chosen.hits
		require.Len(t, hits, tt.want, tt.name)
	}
}

func TestDifference(t *testing.T) {
	record := func(id, text string, line int) store.Record {
		return store.Record{ID: id, Hash: text, StartLine: line, EndLine: line}
	}
	old := []store.Record{record("a", "A", 1), record("b", "B", 2), record("c", "C", 3)}
	now := []store.Record{record("a", "A", 1), record("b", "B", 5), record("d", "D", 6)}
	put, gone := difference(old, now)
	if got, want := fmt.Sprintf("%d %s %s %v", len(put), put[0].ID, put[1].ID, gone), "2 b d [c]"; got != want {
		t.Errorf("difference = %s, want %s", got, want)
	}
}

// An earlier question is no answer to the same question.
func TestTheQuestionItself(t *testing.T) {
	ask := "which port does the staging database use?"
	of := func(id, kind, text string, score float64) *candidate {
		return scored(score, store.Record{ID: id, Kind: kind, Path: id, StartLine: 1, Text: text, Tokens: 5})
	}
	ranked := []*candidate{of("asked", "conversation", "Which port does the staging database use?", 0.9), of("same", "markdown", ask, 0.8), of("answer", "conversation", "The staging database uses port 5433.", 0.5)}
	chosen := choose(ranked, 10, selection{limit: 8, budget: -1, explain: true, asked: wordsOf(ask)})
	hits, rejected := chosen.hits, chosen.rejected
	require.Len(t, hits, 2)
	require.Equal(t, "same", hits[0].ID, "a note may be headed by its question")
	require.Equal(t, verdictQuestion, rejected[0].Explain.Verdict)
	chosen = choose(ranked, 10, selection{limit: 8, budget: -1})
	hits = chosen.hits
	require.Equal(t, "asked", hits[0].ID, "who searches wants to see it")
}

// A later conversation on the same words is given beside a sure hit, which may be out of date.
func TestLaterConversationsAreGiven(t *testing.T) {
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	turn := func(score float64, path string, days int, holds uint64) *candidate {
		c := scored(score, store.Record{ID: fmt.Sprint(path, days, holds), Path: path, Kind: source.KindConversation, Time: day.AddDate(0, 0, days), Text: fmt.Sprint("said in ", path, " on day ", days), Tokens: 20})
		c.Holds = holds
		return c
	}
	note := scoredText(0.5, "a note", 20)
	for _, tt := range []struct {
		name  string
		other *candidate
		want  int
	}{
		{"a later one", turn(0.5, "b", 9, 7), 2},
		{"one that holds more", turn(0.5, "b", 9, 15), 2},
		{"an earlier one", turn(0.5, "b", -9, 7), 1},
		{"the same conversation", turn(0.5, "a", 9, 7), 1},
		{"without a word of the question", turn(0.5, "b", 9, 3), 1},
		{"much weaker", turn(0.3, "b", 9, 7), 1},
		{"a note", note, 1},
	} {
		chosen := choose([]*candidate{turn(0.99, "a", 0, 7), tt.other}, 100, selection{threshold: 0.1, sparing: true, limit: 10, budget: -1})
		hits := chosen.hits
		require.Len(t, hits, tt.want, tt.name)
	}
}

// The newer of near duplicates takes the place of the better.
func TestNewerStandsForBoth(t *testing.T) {
	old, now := scoredText(0.9, "the port is 5433 here", 5), scoredText(0.6, "The port is 5433 here!", 5)
	old.record.Time, now.record.Time = time.Unix(100, 0), time.Unix(200, 0)
	chosen := choose([]*candidate{old, now}, 10, selection{threshold: 0.5, limit: 5, budget: -1, explain: true})
	hits, rejected := chosen.hits, chosen.rejected
	if len(hits) != 1 || hits[0].Text != now.record.Text || hits[0].Score != 0.9 || !slices.Equal(hits[0].Also, []string{paths.Citation(old.record.Path, 1, 1)}) {
		t.Errorf("hits are %+v, want the newer text with the better score, and the older one cited", hits)
	}
	if len(rejected) != 1 || rejected[0].Text != old.record.Text || hits[0].Explain.Verdict != verdictKept || rejected[0].Explain.Verdict == verdictKept {
		t.Errorf("rejected are %+v", rejected)
	}
	chosen = choose([]*candidate{now, old}, 10, selection{threshold: 0.5, limit: 5, budget: -1})
	hits = chosen.hits
	if hits[0].Text != now.record.Text {
		t.Errorf("%q is given, want the newer one that was better anyway", hits[0].Text)
	}
}
