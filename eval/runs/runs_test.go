package runs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/eval"
)

// reportOf makes a run of cases that each expect a.md. The place of each is that of the first right
// hit, 0 for none; a turn gets it at place 1 only.
func reportOf(places map[string]int) eval.Report {
	r := eval.Report{Level: "expectation", K: []int{10}, All: eval.Result{Queries: len(places), Scores: map[string]float64{"mrr": 0.5}, Intervals: map[string]eval.Interval{}, Thresholds: []eval.Threshold{{Score: 0.1}}}}
	for _, text := range []string{"one", "two", "three", "four"} {
		place, ok := places[text]
		if !ok {
			continue
		}
		a := eval.Asked{Collection: "cases", ID: fmt.Sprint(len(r.Queries) + 1), Text: text, Answerable: true, Relevant: map[string]int{"expected: a.md": 1}, Scores: map[string]float64{"mrr": 0, "any@1": 0}}
		if place > 0 {
			a.Scores["mrr"] = 1 / float64(place)
		}
		if place == 1 {
			a.Injected = []string{"expected: a.md"}
		}
		r.Queries = append(r.Queries, a)
	}
	return r
}

func add(t *testing.T, f Folder, at int, r eval.Report) Run {
	t.Helper()
	run, err := f.Add(time.Unix(int64(at), 0), "v1", "minilm", r)
	require.NoError(t, err)
	return run
}

func TestTheLastRunsAreKept(t *testing.T) {
	f := Folder(filepath.Join(t.TempDir(), "runs"))
	all, err := f.List()
	require.NoError(t, err, "without a run")
	require.Empty(t, all)
	for i := range most + 3 {
		add(t, f, i, reportOf(map[string]int{"one": 1}))
	}
	all, err = f.List()
	require.NoError(t, err)
	require.Len(t, all, most)
	require.Equal(t, int64(most+2), all[0].At.Unix(), "the latest first")
	require.Equal(t, int64(3), all[most-1].At.Unix())
	require.Equal(t, 0.5, all[0].All.Scores["mrr"])

	run, report, err := f.Get(all[0].ID)
	require.NoError(t, err)
	require.Equal(t, all[0], run)
	require.Equal(t, "one", report.Queries[0].Text)
	require.Equal(t, 0.5, report.All.Scores["mrr"])
}

// Only runs of the folder can be named, and damaged ones hide no others.
func TestOtherFilesAreNoRuns(t *testing.T) {
	f := Folder(t.TempDir())
	good := add(t, f, 2, reportOf(map[string]int{"one": 1}))
	require.NoError(t, os.WriteFile(filepath.Join(string(f), "notes.jsonl"), []byte("{}\n{}\n"), 0o600))
	damaged := time.Unix(3, 0).UTC().Format(layout)
	require.NoError(t, os.WriteFile(filepath.Join(string(f), damaged+extension), []byte("{\"id\":\n"), 0o600))
	linked := time.Unix(4, 0).UTC().Format(layout)
	require.NoError(t, os.Symlink(filepath.Join(string(f), good.ID+extension), filepath.Join(string(f), linked+extension)))
	all, err := f.List()
	require.NoError(t, err)
	require.Len(t, all, 1)
	for _, id := range []string{"", "notes", "../runs/" + good.ID, good.ID + "/..", time.Unix(9, 0).UTC().Format(layout)} {
		_, _, err := f.Get(id)
		require.ErrorIs(t, err, ErrNoRun, id)
	}
	for _, id := range []string{damaged, linked} {
		_, _, err = f.Get(id)
		require.Error(t, err)
	}
	require.NoError(t, f.Forget("a.md", "one"), "damaged ones hinder nothing")
}

// A run keeps neither passages nor secrets.
func TestRunsKeepNoPassages(t *testing.T) {
	f := Folder(t.TempDir())
	r := reportOf(map[string]int{"one": 1})
	token := "glpat-" + "0123456789abcdefghij"
	q := &r.Queries[0]
	q.Text, q.Relevant, q.Injected = "is it "+token+"?", map[string]int{"expected: " + token: 1}, []string{"expected: " + token}
	q.Unwanted = []string{"unwanted: " + token}
	q.Top = []eval.Top{{Name: "a.md", Text: "the passage"}}
	q.Found, q.FoundScores, q.Candidates = make([]string, 200), make([]float64, 200), []string{"the candidate"}
	run := add(t, f, 1, r)
	data, err := os.ReadFile(filepath.Join(string(f), run.ID+extension))
	require.NoError(t, err)
	for _, gone := range []string{token, "the passage", "the candidate", "any@1"} {
		require.NotContains(t, string(data), gone)
	}
	_, kept, err := f.Get(run.ID)
	require.NoError(t, err)
	require.Len(t, kept.Queries[0].Found, keptHits)
	require.False(t, kept.Queries[0].Fails(), "the given hit is still the expected one")
	require.Equal(t, token, strings.Fields(r.Queries[0].Text)[2][:len(token)], "the caller's report is as before")
}

func TestForget(t *testing.T) {
	f := Folder(t.TempDir())
	r := reportOf(map[string]int{"one": 1, "two": 1, "three": 1})
	r.Queries[1].Found, r.Queries[1].FoundScores = []string{"notes/b.md#L1-L2"}, []float64{0.5}
	run := add(t, f, 1, r)
	require.NoError(t, f.Forget("a.m", "")) // of another name
	require.NoError(t, f.Forget("notes/b.md", "hre"))
	_, kept, err := f.Get(run.ID)
	require.NoError(t, err)
	require.Len(t, kept.Queries, 1)
	require.Equal(t, "one", kept.Queries[0].Text)
	require.NoError(t, f.Forget("a.md"))
	_, kept, err = f.Get(run.ID)
	require.NoError(t, err)
	require.Empty(t, kept.Queries, "its case names the document")

	r = reportOf(map[string]int{"one": 1, "two": 1})
	r.Queries[0].Unwanted = []string{"unwanted: c.md #Heading"}
	run = add(t, f, 2, r)
	require.NoError(t, f.Forget("c.md"))
	_, kept, err = f.Get(run.ID)
	require.NoError(t, err)
	require.Len(t, kept.Queries, 1, "what must not come is named, too")
}

// Cases are known by their questions: one that is gone moves no other.
func TestCompare(t *testing.T) {
	f := Folder(t.TempDir())
	before := add(t, f, 1, reportOf(map[string]int{"one": 1, "two": 1, "three": 3, "four": 2}))
	after := add(t, f, 2, reportOf(map[string]int{"two": 4, "three": 1, "four": 2}))
	c, err := f.Compare(before.ID, after.ID)
	require.NoError(t, err)
	require.Equal(t, before, c.Before)
	require.Equal(t, after, c.After)
	require.Equal(t, 3, c.Queries)
	require.Equal(t, 1, c.Missing)
	require.Equal(t, "two", c.Broken[0].Text)
	require.Equal(t, "three", c.Fixed[0].Text)
	require.Equal(t, []eval.Moved{{Collection: "cases", ID: "1", Text: "two", Before: 1, After: 0.25}}, c.Worse)
	require.False(t, c.Changes[0].Significant(), "three questions prove nothing")

	// A case that expects something else is another one; a needless hit breaks a case.
	other, silent := reportOf(map[string]int{"one": 1}), reportOf(map[string]int{"two": 0})
	other.Queries[0].Relevant = map[string]int{"expected: b.md": 1}
	silent.Queries[0].Answerable, silent.Queries[0].Relevant = false, nil
	changed := add(t, f, 3, other)
	c, err = f.Compare(before.ID, changed.ID)
	require.NoError(t, err)
	require.Zero(t, c.Queries)
	require.Empty(t, c.Changes)
	first := add(t, f, 4, silent)
	silent.Queries[0].Injected = []string{"noise.md"}
	second := add(t, f, 5, silent)
	c, err = f.Compare(first.ID, second.ID)
	require.NoError(t, err)
	require.Len(t, c.Broken, 1)

	_, err = f.Compare(before.ID, "none")
	require.ErrorIs(t, err, ErrNoRun)
}
