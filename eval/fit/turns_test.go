package fit

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/eval"
)

// foundTurns makes prompts. Every third wants the candidate with most of its words, without
// findings.
func foundTurns(n int) []eval.FoundTurn {
	r := rand.New(rand.NewPCG(3, 4))
	var all []eval.FoundTurn
	for i := range n {
		f := eval.FoundTurn{Set: fmt.Sprint("set", i%3), ID: fmt.Sprint(i), Nothing: i%3 != 0}
		for k := range 12 {
			c := eval.FoundCandidate{Terms: make([]float64, len(relevance.TurnNames))}
			c.Terms[at("held")] = 2 * r.Float64()
			c.Terms[at("finding")] = yes(r.IntN(2) == 0)
			if k == i%8 && !f.Nothing {
				c.Grade = eval.GradeWanted
				c.Terms[at("held")] += 1.5
				c.Terms[at("finding")] = 0
			}
			f.Candidates = append(f.Candidates, c)
		}
		all = append(all, f)
	}
	return all
}

func at(name string) int { return slices.Index(relevance.TurnNames, name) }

func TestTurns(t *testing.T) {
	found := foundTurns(120)
	for _, silence := range []float64{0.5, 0.7, 0.9} {
		m, err := Turns(found, silence)
		require.NoError(t, err)
		require.Greater(t, m.Weights["held"], 0.5)
		require.Zero(t, m.Earlier, "no prompt has earlier ones")
		require.NotContains(t, m.Weights, "finding", "its sign is fixed")

		quiet, hit, wanting := 0.0, 0.0, 0.0
		for _, f := range found {
			given := slices.ContainsFunc(f.Candidates, func(c eval.FoundCandidate) bool { return m.Worth(c.Terms) >= m.Least })
			wanting += yes(!f.Nothing)
			quiet += yes(f.Nothing && !given)
			hit += yes(slices.ContainsFunc(f.Candidates, func(c eval.FoundCandidate) bool { return c.Grade == eval.GradeWanted && m.Worth(c.Terms) >= m.Least }))
		}
		quiet /= float64(len(found)) - wanting
		require.GreaterOrEqual(t, quiet, silence)
		require.Less(t, quiet, silence+0.05, "too much silence")
		require.Greater(t, hit/wanting, 0.5)
	}
}

// The model decides neither what rules and scores give nor questions of teammates.
func TestTurnsLeavesOut(t *testing.T) {
	found := foundTurns(60)
	plain, err := Turns(found, 0.6)
	require.NoError(t, err)
	question := found[1]
	question.Kind = eval.KindTeamQuestion
	with, err := Turns(append(slices.Clone(found), question), 0.6)
	require.NoError(t, err)
	require.Equal(t, plain, with)

	spoken := slices.Clone(found)
	for i := range spoken[:30] {
		spoken[i].Given = true
	}
	stricter, err := Turns(spoken, 0.45)
	require.NoError(t, err)
	looser, err := Turns(found, 0.45)
	require.NoError(t, err)
	require.Greater(t, stricter.Least, looser.Least, "fewer prompts must provide the silence")
	_, err = Turns(spoken, 0.6)
	require.ErrorContains(t, err, "silence 0.6 is out of reach: of 40 prompts that want nothing, rules and scores give 20 something")
}

// What later prompts want less often, they get less often, and never what they want more often.
func TestEarlier(t *testing.T) {
	found := foundTurns(120)
	for i, f := range found {
		found[i].Earlier = 20 * int(yes(f.Nothing && i%2 == 0))
	}
	m, err := Turns(found, 0.7)
	require.NoError(t, err)
	require.Less(t, m.Earlier, -0.1)
	worth := m.Worth(found[0].Candidates[0].Terms)
	require.Less(t, m.Now(relevance.Query{Earlier: 20}, worth), worth/2)
	require.InDelta(t, worth, m.Now(relevance.Query{}, worth), 1e-9)
	for i, f := range found {
		found[i].Earlier = 20 * int(yes(!f.Nothing))
	}
	m, err = Turns(found, 0.7)
	require.NoError(t, err)
	require.Zero(t, m.Earlier)
}

func TestTurnsRefuses(t *testing.T) {
	_, err := Turns(foundTurns(9), 1)
	require.ErrorContains(t, err, "silence is 1, want it between 0 and 1")
	_, err = Turns(nil, 0.7)
	require.ErrorContains(t, err, "want prompts with wanted and with other candidates")
	wanting := slices.DeleteFunc(foundTurns(9), func(f eval.FoundTurn) bool { return f.Nothing })
	_, err = Turns(wanting, 0.7)
	require.ErrorContains(t, err, "no prompt wants nothing")
}
