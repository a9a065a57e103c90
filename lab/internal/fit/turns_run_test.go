package fit

import (
	"context"
	"hash/fnv"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/eval"
	"github.com/memcore/memcore/lab/internal/memories"
)

// wordy embeds a text as the bag of its words.
type wordy struct{}

func (wordy) Embed(_ context.Context, _ embed.Kind, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		v := make([]float32, 256)
		v[0] = 0.01
		for _, word := range strings.Fields(strings.ToLower(text)) {
			h := fnv.New32a()
			h.Write([]byte(strings.Trim(word, ".,?:")))
			v[h.Sum32()%256]++
		}
		norm := 0.0
		for _, x := range v {
			norm += float64(x) * float64(x)
		}
		for j := range v {
			v[j] /= float32(math.Sqrt(norm))
		}
		vectors[i] = v
	}
	return vectors, nil
}
func (wordy) Dimension() int           { return 256 }
func (wordy) Fingerprint() string      { return "wordy/1" }
func (wordy) MaxTokens() int           { return 200 }
func (wordy) CountTokens(s string) int { return len(strings.Fields(s)) }

// Each set is measured with a model fitted to the others.
func TestRunTurns(t *testing.T) {
	var sets []eval.TurnSet
	for _, folder := range []string{"../../../testdata/eval/turns/parcels", "../../../testdata/eval/turns/klima"} {
		some, err := eval.ReadTurns(folder)
		require.NoError(t, err)
		sets = append(sets, some...)
	}
	var opened []*relevance.Turn
	open := func(m *relevance.Turn) (eval.Opener, error) {
		opened = append(opened, m)
		return memories.Opener(wordy{}, func(o *core.Options) { o.Turns = m }), nil
	}
	o := eval.TurnsOptions{Folder: t.TempDir()}
	model, report, err := RunTurns(t.Context(), open, sets, 0.5, o)
	require.NoError(t, err)
	require.Len(t, report.Turns, len(sets[0].Turns)+len(sets[1].Turns))
	require.Contains(t, model.Fitted, "of 2 repositories, lab/fit -turns -silence 0.5, 20")
	require.Len(t, opened, 3)
	require.Nil(t, opened[0], "evidence comes from the shipped model")
	for _, held := range opened[1:] {
		require.NotEqual(t, model.Weights, held.Weights)
	}

	_, _, err = RunTurns(t.Context(), open, sets[:1], 0.5, o)
	require.ErrorContains(t, err, "without parcels")
}

func TestTurnsEvidence(t *testing.T) {
	sets, err := eval.ReadTurns("../../../testdata/eval/turns", "parcels")
	require.NoError(t, err)
	o := eval.TurnsOptions{Folder: t.TempDir(), MadeBy: "test"}
	found, err := TurnsEvidence(t.Context(), memories.Opener(wordy{}), sets, o)
	require.NoError(t, err)
	require.NotEmpty(t, found)
	wanted := 0
	for _, f := range found {
		require.Equal(t, "parcels", f.Set)
		for _, c := range f.Candidates {
			require.Len(t, c.Terms, len(relevance.TurnNames))
			if c.Grade == eval.GradeWanted {
				wanted++
			}
		}
	}
	require.Positive(t, wanted)

	// A model decides only about candidates that are not sure.
	for _, step := range []struct {
		model *relevance.Turn
		given func(FoundTurn) bool
	}{
		{&relevance.Turn{Least: 0.01}, func(f FoundTurn) bool { return f.Given || len(f.Candidates) > 0 }},
		{&relevance.Turn{Least: 0.99}, func(f FoundTurn) bool { return f.Given }},
	} {
		open := memories.Opener(wordy{}, func(options *core.Options) {
			options.Turns = step.model
			options.Turns.Earlier = relevance.ForTurns().Earlier // it judges questions
		})
		report, err := eval.RunTurns(t.Context(), open, sets, o)
		require.NoError(t, err)
		require.Len(t, report.Turns, len(found))
		for i, asked := range report.Turns {
			require.Equal(t, found[i].ID, asked.ID)
			require.Equal(t, found[i].Nothing, asked.Nothing)
			require.Equal(t, step.given(found[i]), len(asked.Given) > 0, "least %g: %s %+v", step.model.Least, asked.Prompt, found[i])
		}
	}
}
