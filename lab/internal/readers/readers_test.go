package readers

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/eval"
)

func asked(id, kind string, nothing bool, listed ...eval.GradedHit) eval.AskedTurn {
	return eval.AskedTurn{Set: "parcels", ID: id, Kind: kind, Prompt: "prompt of " + id, Nothing: nothing, Listed: listed}
}

func line(text string, grade int) eval.GradedHit { return eval.GradedHit{Text: text, Grade: grade} }

// A reader sees two earlier prompts and lines under hashed names, and nothing of what was judged.
func TestMake(t *testing.T) {
	sets, err := eval.ReadTurns("../../../testdata/eval/turns", "parcels")
	require.NoError(t, err)
	first, second := line("where the index is", eval.GradeWanted), line("another", eval.GradeNoise)
	variant := asked("par-p01", "question", true, first)
	variant.Variant = "please"
	report := eval.TurnsReport{Turns: []eval.AskedTurn{
		asked("par-p03", "bug report", false, first, second), asked("par-p01", "question", true), variant, asked("par-p02", "follow-up", true, second)}}
	items, keys, err := Make(t.Context(), sets, report)
	require.NoError(t, err)
	require.Len(t, keys, 3)
	require.Len(t, items, 2)
	require.Less(t, items[0].ID, items[1].ID)

	item := items[0]
	if item.Prompt != "prompt of par-p03" {
		item = items[1]
	}
	require.Equal(t, []string{"Why is GET /v1/parcels so slow for big tenants? p95 is 1.8 s since yesterday.", "do it"}, item.Before)
	require.Equal(t, item.ID, keys[0].ID)
	require.Len(t, item.Lines, 2)
	require.Less(t, item.Lines[0].Name, item.Lines[1].Name)
	for _, l := range item.Lines {
		require.Equal(t, l.Text == first.Text, keys[0].Grades[l.Name] == eval.GradeWanted)
	}
	text, err := json.Marshal(items)
	require.NoError(t, err)
	for _, hidden := range []string{"par-p0", "grade", "parcels\""} {
		require.NotContains(t, strings.ReplaceAll(string(text), "prompt of par-p0", ""), hidden)
	}

	report.Turns[0].Listed[1], report.Turns[0].Listed[0] = first, second
	again, _, err := Make(t.Context(), sets, report)
	require.NoError(t, err)
	require.Equal(t, items, again, "the order of a list does not show")
	report.Turns[0].ID = "unknown"
	_, _, err = Make(t.Context(), sets, report)
	require.ErrorContains(t, err, "parcels/unknown")
}

func TestScore(t *testing.T) {
	keys := []Key{
		{ID: "1", Grades: map[string]int{"a": eval.GradeWanted, "b": eval.GradeRelated}},
		{ID: "2", Grades: map[string]int{"c": eval.GradeNoise}, Hit: true, Given: true},
		{ID: "3", Grades: map[string]int{"d": eval.GradeNoise}, Nothing: true},
		{Nothing: true},
		{Nothing: true, Given: true},
		{ID: "4", Grades: map[string]int{"e": eval.GradeWanted}},
	}
	answers := []Answer{
		{Reader: "x", Instruction: "selective", ID: "1", Open: []string{"a", "b", "no such line"}},
		{Reader: "x", Instruction: "selective", ID: "2"},
		{Reader: "x", Instruction: "selective", ID: "3", Open: []string{"d"}},
		{Reader: "x", Instruction: "selective", ID: "of another list", Open: []string{"z"}},
		{Reader: "y", Instruction: "selective", ID: "1", Open: []string{"b"}},
	}
	scores := ScoreAll(keys, answers)
	require.Len(t, scores, 2)
	x, y := scores[0], scores[1]
	require.Equal(t, Score{Reader: "x", Instruction: "selective", Answered: 3, Items: 4, Wanted: 1, Quiet: 1.0 / 3, Right: 1, Opened: 3,
		Precision: 1.0 / 3, Related: 2.0 / 3}, x)
	require.Equal(t, Score{Reader: "y", Instruction: "selective", Answered: 1, Items: 4, Wanted: 0, Quiet: .5, Right: 0, Opened: 1, Related: 1}, y)

	items := []Item{{ID: "1", Lines: []Line{{Name: "a"}, {Name: "b"}}}, {ID: "2", Lines: []Line{{Name: "c"}}}}
	agreements := Agreements(items, answers)
	require.Len(t, agreements, 1)
	require.Equal(t, 2, agreements[0].Lines)
	require.Equal(t, .5, agreements[0].Same)
	require.InDelta(t, 0, agreements[0].Kappa, 1e-9)
	require.Contains(t, Table(scores, agreements), "x and y")
}
