package eval

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
)

// The recall of a turn is its own, not that of the deeper search.
func TestRecallOfTurn(t *testing.T) {
	a := Asked{Answerable: true, Relevant: map[string]int{"a": 1, "b": 1, "c": 1, "d": 1},
		Found: []string{"a", "b", "c", "d"}, Candidates: []string{"a", "x", "b", "c"}, Injected: []string{"a", "x"}}
	scores := a.measure([]int{10})
	require.Equal(t, 1.0, scores["recall@10"])
	require.Equal(t, 0.75, scores["recall@candidates"])
	require.Equal(t, 0.25, scores["recall@turn"])
	a.Candidates = nil
	require.NotContains(t, a.measure([]int{10}), "recall@turn", "unknown for questions asked elsewhere")
}

func TestParseCitation(t *testing.T) {
	for citation, want := range map[string]struct {
		path  string
		lines [2]int
		ok    bool
	}{
		"notes/a.md#L10-L20": {"notes/a.md", [2]int{10, 20}, true},
		"notes/a.md#L7":      {"notes/a.md", [2]int{7, 7}, true},
		"a%23L1.md#L2-L3":    {"a%23L1.md", [2]int{2, 3}, true},
		"notes/a.md":         {},
	} {
		path, lines, ok := ParseCitation(citation)
		require.Equal(t, want.ok, ok, citation)
		if ok {
			require.Equal(t, want.path, path)
			require.Equal(t, want.lines, lines)
		}
	}
	_, _, ok := ParseCitation("notes/a.md#Lx-L3")
	require.False(t, ok)
}

// A limited number of badly answered questions is listed.
func TestFailing(t *testing.T) {
	report := Report{Queries: []Asked{
		{Collection: "c", ID: "good", Answerable: true, Relevant: map[string]int{"a": 1}, Injected: []string{"a"}},
		{Collection: "c", ID: "1", Text: "where is it", Answerable: true, Relevant: map[string]int{"a": 1}, Found: []string{"b", "a"},
			Top: []Top{{Name: "b", Score: 0.25, Text: "behind the mirror"}}},
		{Collection: "c", ID: "2", Text: "thanks", Injected: []string{"a", "b", "c", "d"}, Top: []Top{{Name: "a", Score: 0.5, Text: "some text"}}},
		{Collection: "c", ID: "3", Text: "who", Answerable: true, Relevant: map[string]int{"z": 1}, Injected: []string{"a"}},
		{Collection: "c", ID: "quiet"},
	}}
	require.Equal(t, `failing: 3 of 5 questions
  c 1: where is it
    want   a
    given  nothing
    first  b, score 0.250: behind the mirror (the answer is at place 2)
  c 2: thanks
    want   nothing
    given  a; b; c and 1 more
    first  a, score 0.500: some text
  and 1 more; --json has all
`, report.Failing(2))
	require.Contains(t, report.Failing(3), "c 3: who\n    want   z\n    given  a\n    first  no hit\n")
	require.Empty(t, report.Failing(0))
	require.Empty(t, Report{Queries: report.Queries[:1]}.Failing(5))
}

// A hit counts as every document folded into it.
func TestFoldedMeet(t *testing.T) {
	said := "The boiler is serviced every October by Nordheat and by nobody else."
	folded := core.MemoryHit{Path: "notes/new.md", Text: said, Also: []string{"notes/old.md#L3-L4"}}
	require.True(t, Expectation{Path: "notes/old.md", Text: "October"}.met(folded))
	require.False(t, Expectation{Path: "notes/older.md"}.met(folded))
}
