package page

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/memcore/memcore/eval"
)

func report(n int) eval.Report {
	r := eval.Report{K: []int{1, 5, 10}, Level: "document"}
	scores := map[string]float64{"recall@1": 0.5, "recall@5": 0.75, "recall@10": 1, "any@1": 0.5, "any@5": 1, "any@10": 1, "mrr": 0.6, "ndcg@10": 0.7}
	for i := range n {
		cosine := 0.4
		r.Queries = append(r.Queries, eval.Asked{Collection: "set", ID: fmt.Sprint(i), Text: fmt.Sprintf("<script>alert(%d)</script>", i), Answerable: i%3 > 0,
			Relevant: map[string]int{"a": 1, "far": 1}, Found: []string{"x", "a", "y"}, FoundScores: []float64{0.8, 0.3, 0.1},
			Top:    []eval.Top{{Name: "x", Score: 0.8, Cosine: &cosine, Text: "</code><b>bold"}, {Name: "a", Score: 0.3}},
			Scores: map[string]float64{"mrr": 0.5}, Took: time.Duration(i) * time.Millisecond})
	}
	r.All = eval.Result{Queries: n, Scores: scores, Intervals: map[string]eval.Interval{"recall@5": {0.7, 0.8}}}
	r.Collections = []eval.Result{{Name: "set", Queries: n, Scores: scores}}
	return r
}

// The page escapes text, fetches nothing, and has all charts.
func TestWrite(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, Write(&out, "a & b", report(30)))
	page := out.String()
	root, err := html.Parse(strings.NewReader(page))
	require.NoError(t, err)
	count := map[string]int{}
	for node := range root.Descendants() {
		if node.Type == html.ElementNode {
			count[node.Data]++
			for _, a := range node.Attr {
				if a.Key == "src" || a.Key == "href" || strings.HasPrefix(a.Key, "on") {
					t.Errorf("<%s %s=%q>: the page refers to something else, or runs something", node.Data, a.Key, a.Val)
				}
			}
		}
	}
	if count["svg"] != 4 || count["script"] != 0 || count["article"] != 20 {
		t.Errorf("page has %d charts, %d scripts, %d questions; want 4, 0, 20", count["svg"], count["script"], count["article"])
	}
	require.Equal(t, 0, strings.Count(page, "style="), "a page with a strict policy would not draw the charts")
	for _, want := range []string{"a &amp; b", "0.700 … 0.800", "far (not found)", "cosine 0.40", "&lt;script&gt;"} {
		if !strings.Contains(page, want) {
			t.Errorf("page lacks %q", want)
		}
	}
}

// Small reports make a page.
func TestWriteLittle(t *testing.T) {
	for n := range 3 {
		var out bytes.Buffer
		if err := Write(&out, "little", report(n)); err != nil {
			t.Errorf("Write of a report of %d questions: %v", n, err)
		}
	}
	var out bytes.Buffer
	if err := Write(&out, "nothing", eval.Report{K: []int{1}}); err != nil {
		t.Errorf("Write of an empty report: %v", err)
	}
}
