package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ranked makes a run in which the only answer of query i has rank ranks[i]; 0 means not found.
func ranked(ranks ...int) Report {
	var asked []Asked
	for i, rank := range ranks {
		a := Asked{Collection: "set", ID: fmt.Sprint("q", i), Text: fmt.Sprint("question ", i), Answerable: true, Relevant: map[string]int{"a": 1}}
		for place := 1; place <= rank; place++ {
			unit := fmt.Sprint("x", place)
			if place == rank {
				unit = "a"
			}
			a.Found = append(a.Found, unit)
		}
		asked = append(asked, a)
	}
	asked = append(asked, Asked{Collection: "set", ID: "none"})
	r := Report{K: []int{1, 5}}
	r.Add(Result{}, asked)
	return r
}

func repeated(rank, n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = rank
	}
	return all
}

func TestCompare(t *testing.T) {
	before := ranked(append(repeated(1, 40), 1, 2)...)
	after := ranked(append(append(repeated(3, 15), repeated(1, 25)...), 1, 1)...)
	c, err := Compare(before, after)
	require.NoError(t, err)
	if c.Queries != 42 || c.Missing != 0 {
		t.Errorf("%d queries, %d missing; want 42 and 0", c.Queries, c.Missing)
	}
	changes := map[string]Change{}
	for _, change := range c.Changes {
		changes[change.Score] = change
	}
	if r1 := changes["recall@1"]; !r1.Fell() || r1.Interval[1] >= 0 || r1.Before != 41.0/42 {
		t.Errorf("change of recall@1 = %+v, want it to have fallen from 41/42", r1)
	}
	if r5 := changes["recall@5"]; r5.Fell() || r5.P != 1 {
		t.Errorf("change of recall@5 = %+v, want none", r5)
	}
	if got := c.Fallen("recall@5"); len(got) != 0 {
		t.Errorf("Fallen(recall@5) = %+v, want none", got)
	}
	if got := c.Fallen("recall@1", "mrr"); len(got) != 2 {
		t.Errorf("Fallen(recall@1, mrr) = %+v, want both", got)
	}
	if len(c.Worse) != 10 || len(c.Better) != 1 || c.Better[0].ID != "q41" {
		t.Errorf("%d worse, better %+v; want 10, and q41", len(c.Worse), c.Better)
	}
	table := c.Table()
	for _, want := range []string{"recall@1", " *", "42 queries in both", "worse", "question 41"} {
		if !strings.Contains(table, want) {
			t.Errorf("table lacks %q:\n%s", want, table)
		}
	}
}

// One worse query does not fail a gate.
func TestCompareChance(t *testing.T) {
	c, err := Compare(ranked(repeated(1, 30)...), ranked(append(repeated(1, 29), 2)...))
	require.NoError(t, err)
	if fallen := c.Fallen(); len(fallen) != 0 {
		t.Errorf("one query of thirty got worse: fallen %+v, want none", fallen)
	}
}

func TestCompareOtherRuns(t *testing.T) {
	c, err := Compare(ranked(1, 1, 1), ranked(1, 1))
	require.NoError(t, err)
	if c.Queries != 2 || c.Missing != 1 {
		t.Errorf("%d in common, %d missing; want 2 and 1", c.Queries, c.Missing)
	}
	other := ranked(1)
	other.Queries[0].Collection = "another"
	if _, err := Compare(ranked(1), other); !errors.Is(err, ErrNothingInCommon) {
		t.Errorf("Compare of runs on other queries: %v, want ErrNothingInCommon", err)
	}
}

// A small baseline is enough to compare a run.
func TestBaseline(t *testing.T) {
	before := ranked(append(repeated(1, 20), 3, 7)...)
	slim := before.Baseline()
	c, err := Compare(slim, before)
	require.NoError(t, err)
	for _, change := range c.Changes {
		if change.After-change.Before > 1e-6 || change.Before-change.After > 1e-6 {
			t.Errorf("%s is %v in the baseline, %v in the run", change.Score, change.Before, change.After)
		}
	}
	whole, err := json.Marshal(before)
	require.NoError(t, err)
	small, err := json.Marshal(slim)
	require.NoError(t, err)
	if len(small) >= len(whole) || strings.Contains(string(small), "x1") {
		t.Errorf("baseline has %d bytes of %d, with hits", len(small), len(whole))
	}
}

// A report passes the gate of its own baseline; a significantly worse one does not.
func TestPassGate(t *testing.T) {
	good, bad := ranked(repeated(1, 20)...), ranked(repeated(0, 20)...)
	data, err := good.EncodeBaseline()
	require.NoError(t, err)
	require.Equal(t, 1+len(good.Queries), bytes.Count(data, []byte("\n")), "a line for each query")
	file := filepath.Join(t.TempDir(), "baseline.json")
	require.NoError(t, os.WriteFile(file, data, 0o600))

	comparison, err := good.PassGate(file)
	require.NoError(t, err)
	require.Equal(t, 20, comparison.Queries)
	_, err = bad.PassGate(file)
	require.ErrorContains(t, err, "mrr from 1.0000 to 0.0000")
	_, err = good.PassGate(file + "x")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// Reports in JSON can be compared later.
func TestReadReport(t *testing.T) {
	before := ranked(1, 2, 3)
	data, err := json.Marshal(before)
	require.NoError(t, err)
	read, err := parseReport(bytes.NewReader(data))
	require.NoError(t, err)
	c, err := Compare(before, read)
	require.NoError(t, err)
	for _, change := range c.Changes {
		if change.Before != change.After {
			t.Errorf("%s changed from %v to %v by being written and read", change.Score, change.Before, change.After)
		}
	}
	for _, bad := range []string{"", "{", "[]", "{}"} {
		if _, err := parseReport(strings.NewReader(bad)); err == nil {
			t.Errorf("parseReport(%q): no error", bad)
		}
	}
	for bad, want := range map[string]string{
		`{"queries":[{"collection":"c","id":"q"},{"collection":"d","id":"q"},{"collection":"c","id":"q"}]}`: `query "q" of collection "c" occurs twice`,
		`{"queries":[{"collection":"c","id":"q","scores":{"a":1,"mrr":1.5}}]}`:                              `query "q" of collection "c" has mrr 1.5, want 0 to 1`,
		`{"queries":[{"collection":"c","id":"q","scores":{"mrr":-1e308}}]}`:                                 `has mrr -1e+308, want 0 to 1`,
	} {
		_, err := parseReport(strings.NewReader(bad))
		require.ErrorContains(t, err, want)
	}
}
