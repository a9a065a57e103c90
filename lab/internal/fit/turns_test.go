package fit

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/eval"
)

// foundTurns makes prompts. Every third wants its nearest candidate, which is far ahead of the
// others and no document.
func foundTurns(n int) []FoundTurn {
	r := rand.New(rand.NewPCG(3, 4))
	var all []FoundTurn
	for i := range n {
		f := FoundTurn{Set: fmt.Sprint("set", i%3), ID: fmt.Sprint(i), Nothing: i%3 != 0}
		for k := range 12 {
			terms := make([]float64, len(relevance.TurnNames))
			terms[at("cosine")] = 0.2 + 0.1*r.Float64()
			terms[at("keywords")] = r.Float64()
			terms[at("document")] = yes(r.IntN(2) == 0)
			c := FoundCandidate{TurnCandidate: core.TurnCandidate{Terms: terms, Held: 2 * r.Float64()}}
			if k == i%8 && !f.Nothing {
				c.Grade = eval.GradeWanted
				c.Held += 1.5
				terms[at("cosine")] += 0.3
				terms[at("document")] = 0
			}
			f.Candidates = append(f.Candidates, c)
		}
		all = append(all, f)
	}
	return all
}

func at(name string) int { return slices.Index(relevance.TurnNames, name) }

// worths returns the worth of each candidate that a model may give.
func worths(m *relevance.Turn, f FoundTurn) (all []float64) {
	for _, c := range ordered(m, []FoundTurn{f})[0].ranked {
		all = append(all, m.Worth(c.value, c.lead))
	}
	return all
}

func TestTurns(t *testing.T) {
	found := foundTurns(120)
	for _, silence := range []float64{0.5, 0.7, 0.9} {
		m, err := Turns(found, silence)
		require.NoError(t, err)
		require.Positive(t, m.Weights["cosine"])
		require.Negative(t, m.Weights["document"])
		require.Positive(t, m.Lead)
		require.Positive(t, m.Words.Held)
		require.Zero(t, m.Earlier, "no prompt has earlier ones")

		quiet, quietByWords, hit, wanting := 0.0, 0.0, 0.0, 0.0
		for _, f := range found {
			given := slices.Max(worths(m, f)) >= m.Least
			byWords := slices.ContainsFunc(f.Candidates, func(c FoundCandidate) bool { return m.WorthOfWords(c.Held) >= m.Least })
			wanting += yes(!f.Nothing)
			quiet += yes(f.Nothing && !given)
			quietByWords += yes(f.Nothing && !byWords)
			first := slices.MaxFunc(f.Candidates, func(a, b FoundCandidate) int { return cmp.Compare(m.Value(a.Terms), m.Value(b.Terms)) })
			hit += yes(given && first.Grade == eval.GradeWanted)
		}
		for _, share := range []float64{quiet / (120 - wanting), quietByWords / (120 - wanting)} {
			require.GreaterOrEqual(t, share, silence-0.02)
			require.Less(t, share, silence+0.05, "too much silence")
		}
		require.Greater(t, hit/wanting, 0.9)
	}
}

// Candidates that the model does not decide about change neither its order nor its silence.
func TestTurnsSureAndRefused(t *testing.T) {
	found := foundTurns(60)
	plain, err := Turns(found, 0.6)
	require.NoError(t, err)
	for i, f := range found {
		if !f.Nothing {
			continue
		}
		terms := make([]float64, len(relevance.TurnNames))
		terms[at("cosine")] = 0.9
		out := core.TurnCandidate{Terms: terms, Sure: i%2 == 0, Refused: i%2 == 1}
		found[i].Candidates = append(slices.Clone(f.Candidates), FoundCandidate{TurnCandidate: out})
	}
	with, err := Turns(found, 0.6)
	require.NoError(t, err)
	require.InDelta(t, plain.Weights["cosine"], with.Weights["cosine"], 1e-3)
	require.Less(t, with.Least, 0.9)
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
	worth := worths(m, found[0])[0]
	require.Less(t, m.Now(relevance.Query{Earlier: 20}, worth), 2*worth/3)
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
	wanting := slices.DeleteFunc(foundTurns(9), func(f FoundTurn) bool { return f.Nothing })
	_, err = Turns(wanting, 0.7)
	require.ErrorContains(t, err, "no prompt wants nothing")
}
