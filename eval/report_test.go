package eval

import (
	"math"
	"testing"
	"time"
)

func TestScores(t *testing.T) {
	judged := map[string]int{"a": 1, "b": 2}
	tests := []struct {
		name                     string
		found                    []string
		recall2, any2, mrr, gain float64
	}{
		{"nothing", nil, 0, 0, 0, 0},
		{"one at third", []string{"x", "y", "a"}, 0, 0, 1.0 / 3, 0.5 / (2 + 1/math.Log2(3))},
		{"one of two", []string{"x", "b"}, 0.5, 1, 0.5, 2 / math.Log2(3) / (2 + 1/math.Log2(3))},
		{"both, worse first", []string{"a", "b"}, 1, 1, 1, (1 + 2/math.Log2(3)) / (2 + 1/math.Log2(3))},
		{"best", []string{"b", "a"}, 1, 1, 1, 1},
	}
	for _, test := range tests {
		a := Asked{Answerable: true, Relevant: judged, Found: test.found}
		scores := a.measure([]int{2, 10})
		for what, pair := range map[string][2]float64{
			"recall@2": {scores["recall@2"], test.recall2}, "any@2": {scores["any@2"], test.any2},
			"all@2": {scores["all@2"], math.Floor(test.recall2)}, "precision@2": {scores["precision@2"], test.recall2},
			"mrr": {scores["mrr"], test.mrr}, "ndcg@10": {scores["ndcg@10"], test.gain},
		} {
			if math.Abs(pair[0]-pair[1]) > 1e-12 {
				t.Errorf("%s: %s = %v, want %v", test.name, what, pair[0], pair[1])
			}
		}
	}
}

func TestMeansAreOverQueries(t *testing.T) {
	hit := Asked{Answerable: true, Relevant: map[string]int{"a": 1}, Found: []string{"a"}, Took: time.Second}
	miss := Asked{Answerable: true, Relevant: map[string]int{"a": 1}, Took: 3 * time.Second}
	all := Report{K: []int{1}}
	for _, c := range [][]Asked{{hit}, {miss, miss, hit}} {
		all.Add(Result{}, c)
	}
	if got := all.All.Scores["recall@1"]; got != 0.5 {
		t.Errorf("recall@1 over all = %v, want 0.5: two of four queries", got)
	}
	if got := all.Collections[1].Scores["mrr"]; math.Abs(got-1.0/3) > 1e-12 {
		t.Errorf("mrr of the second = %v, want 1/3", got)
	}
	if all.All.P50 != time.Second || all.All.P95 != 3*time.Second {
		t.Errorf("p50, p95 = %v, %v, want 1s, 3s", all.All.P50, all.All.P95)
	}
}
