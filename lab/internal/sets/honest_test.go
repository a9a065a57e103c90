package sets

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/embedtest"
	"github.com/memcore/memcore/eval"
)

// collectionIn writes the files of a collection.
func collectionIn(t *testing.T, corpus, queries, judgments string) string {
	folder := filepath.Join(t.TempDir(), "set")
	require.NoError(t, os.Mkdir(folder, 0o700))
	for name, text := range map[string]string{corpusFile: corpus, queriesFile: queries, judgmentsFile: judgments} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	return folder
}

// Unreadable dates are listed with their line, and counted.
func TestUndated(t *testing.T) {
	folder := collectionIn(t, `{"id":"a","text":"one","date":"2024-01-02"}

{"id":"b","text":"two","date":"31/12/23"}
{"id":"c","text":"three"}
`, `{"id":"q","text":"one","meta":{"question_date":"2024/03/05 (Tue) 16:40"}}
{"id":"r","text":"two","meta":{"question_date":"soon"}}
`, "q\ta\t1\nr\tb\t1\n")
	c, err := ReadBEIR(folder)
	require.NoError(t, err)
	require.Equal(t, []string{
		filepath.Join(folder, corpusFile) + `:3: date "31/12/23"`,
		filepath.Join(folder, queriesFile) + `:2: date "soon"`,
	}, c.Undated)
	require.Equal(t, time.Date(2024, 3, 5, 16, 40, 0, 0, time.UTC), c.Queries[0].Now, "from question_date")
	require.Zero(t, c.Queries[1].Now)
	require.Empty(t, UndatedNotes(nil))
	notes := UndatedNotes([]Collection{c, {Undated: []string{"1", "2", "3", "4"}}})
	require.Len(t, notes, undatedNamed+1)
	require.Contains(t, notes[0], `31/12/23" is not understood`)
	require.Contains(t, notes[undatedNamed], "6 dates")
}

// A hit counts as every document folded into it.
func TestFoldedCounts(t *testing.T) {
	said := "The boiler is serviced every October by Nordheat and by nobody else."
	c := Collection{
		Name:      "house/twice",
		Documents: []Document{{ID: "a", Text: said}, {ID: "b", Text: said}, {ID: "c", Text: "The spare key hangs behind the mirror."}},
		Queries:   []Query{{ID: "both", Text: "when is the boiler serviced"}, {ID: "first", Text: "who serviced the boiler"}, {ID: "second", Text: "boiler October"}},
		Judgments: map[string]map[string]int{"both": {"a": 1, "b": 1}, "first": {"a": 1}, "second": {"b": 1}},
	}
	for _, level := range Levels {
		report, err := Run(t.Context(), openWordy, c, Options{Level: level})
		require.NoError(t, err)
		for _, q := range report.Queries {
			require.Equal(t, 1.0, q.Scores["recall@5"], "level %s, query %s: %v", level, q.ID, q.Found)
			require.Equal(t, 1.0, q.Scores["mrr"], "level %s, query %s: %v", level, q.ID, q.Found)
		}
	}
}

// A run that is cut off keeps earlier results.
func TestCutOff(t *testing.T) {
	collections, err := Collections("testdata/house")
	require.NoError(t, err)
	c := collections[0]
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	second := c
	second.Name = "house/second"
	report, err := RunAll(ctx, openWordy, []Collection{c, second}, Options{Options: eval.Options{Progress: func(string, int, int) { cancel() }}})
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, report.Collections, 1)
	require.Equal(t, 4, report.All.Queries)

	var asked []Query // those neither judged nor unanswerable are not
	for _, q := range c.Queries {
		if len(c.Judgments[q.ID]) > 0 || q.Unanswerable() {
			asked = append(asked, q)
		}
	}
	late, stop := context.WithCancel(t.Context())
	defer stop()
	report, err = Run(late, func(ctx context.Context, sources []source.Source, folder string) (*core.Manager, error) {
		options := wordyOptions(sources, folder)
		options.Embedder = stopping{BagOfWords: embedtest.BagOfWords{Dim: 64}, at: asked[2].Text, stop: stop}
		return core.Open(ctx, options)
	}, c, Options{})
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, report.Queries, 2)
	require.Len(t, report.Collections, 1)
}

// stopping is an embedder that calls stop at a text.
type stopping struct {
	embedtest.BagOfWords
	at   string
	stop func()
}

func (s stopping) Embed(ctx context.Context, kind embed.Kind, texts []string) ([][]float32, error) {
	if slices.Contains(texts, s.at) {
		s.stop()
	}
	return s.BagOfWords.Embed(ctx, kind, texts)
}

// "yesterday" counts from the time of the question.
func TestNowOfQuestion(t *testing.T) {
	c := Collection{Name: "house/days", Judgments: map[string]map[string]int{"q": {"b": 1}}}
	for id, day := range map[string]string{"a": "2024-03-03", "b": "2024-03-04", "c": "2024-03-05", "d": "2023-11-20"} {
		c.Documents = append(c.Documents, Document{ID: id, Speaker: "Ann", Session: Label(id), Date: day, Text: "Ann: We painted the hall and fixed the lamp, part " + id + "."})
	}
	c.Queries = []Query{{ID: "q", Text: "what did we do yesterday", Now: time.Date(2024, 3, 5, 18, 0, 0, 0, time.UTC)}}
	report, err := Run(t.Context(), openWordy, c, Options{})
	require.NoError(t, err)
	require.Equal(t, "b", report.Queries[0].Found[0])
	require.Contains(t, report.Queries[0].Injected, "b")
	c.Queries[0].Now = time.Date(2024, 3, 4, 18, 0, 0, 0, time.UTC)
	report, err = Run(t.Context(), openWordy, c, Options{})
	require.NoError(t, err)
	require.Equal(t, "a", report.Queries[0].Found[0])
}

func TestTurnsScores(t *testing.T) {
	collections, err := Collections("testdata/house")
	require.NoError(t, err)
	report, err := RunAll(t.Context(), openWordy, collections, Options{})
	require.NoError(t, err)
	for _, q := range report.Queries {
		require.NotEmpty(t, q.Candidates, q.ID)
		require.Subset(t, q.Candidates, q.Injected, q.ID)
	}
	require.Contains(t, report.All.Scores, "recall@turn")
	require.Contains(t, report.Table(), "R@k, MRR and nDCG are of a search 150 chunks deep")
	require.Regexp(t, `MRR +nDCG@10 +cand\. +turn +p50`, report.Table())
}
