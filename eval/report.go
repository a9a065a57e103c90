package eval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// A Report is a measurement.
type Report struct {
	Level string `json:"level"`
	K     []int  `json:"k"`
	// Collections are in the order of running, Queries in that of asking.
	Collections []Result `json:"collections"`
	// All covers the queries of all collections.
	All     Result  `json:"all"`
	Queries []Asked `json:"queries"`
}

// A Result measures some queries.
type Result struct {
	Name      string        `json:"name,omitempty"`
	Documents int           `json:"documents"`
	Chunks    int           `json:"chunks"`
	Index     time.Duration `json:"index"` // time it took to index
	// Queries counts answerable queries, Unanswerable the others.
	Queries      int `json:"queries"`
	Unanswerable int `json:"unanswerable"`
	// Scores are the means over Queries.
	Scores map[string]float64 `json:"scores"`
	// Intervals are 95 % intervals of the means, by bootstrap over queries.
	Intervals map[string]Interval `json:"intervals"`
	// Injection measures turns at the default threshold.
	Injection Injection `json:"injection"`
	// P50 and P95 are of RetrieveRelevant, embedding included.
	P50 time.Duration `json:"p50"`
	P95 time.Duration `json:"p95"`

	asked []Asked
}

// Baseline returns what Compare needs, small enough to commit.
func (r Report) Baseline() Report {
	slim := Report{Level: r.Level, K: r.K, All: Result{Queries: r.All.Queries, Unanswerable: r.All.Unanswerable, Scores: r.All.Scores}}
	for _, a := range r.Queries {
		scores := map[string]float64{}
		for key, v := range a.Scores {
			scores[key] = math.Round(v*1e6) / 1e6
		}
		slim.Queries = append(slim.Queries, Asked{Collection: a.Collection, ID: a.ID, Text: a.Text, Answerable: a.Answerable, Scores: scores})
	}
	return slim
}

// EncodeBaseline returns the baseline as JSON, one query a line for readable diffs.
func (r Report) EncodeBaseline() ([]byte, error) {
	data, err := json.Marshal(r.Baseline())
	if err != nil {
		return nil, err
	}
	data = bytes.ReplaceAll(data, []byte(`{"collection"`), []byte("\n{\"collection\""))
	return append(data, '\n'), nil
}

// Add appends the result of some questions and computes all means.
func (r *Report) Add(c Result, asked []Asked) {
	c.asked = asked
	c.compute(r.K)
	r.Collections = append(r.Collections, c)
	r.All.Documents += c.Documents
	r.All.Chunks += c.Chunks
	r.All.Index += c.Index
	r.All.asked = append(slices.Clip(r.All.asked), c.asked...)
	r.All.compute(r.K)
	r.Queries = r.All.asked
}

func (c *Result) compute(ks []int) {
	c.Queries, c.Unanswerable = 0, 0
	var took []time.Duration
	var values []map[string]float64
	for i, a := range c.asked {
		took = append(took, a.Took)
		if !a.Answerable {
			c.Unanswerable++
			continue
		}
		c.Queries++
		c.asked[i].Scores = a.measure(ks)
		values = append(values, c.asked[i].Scores)
	}
	c.Scores, c.Intervals = means(values), intervals(values)
	c.Injection = injection(c.asked)
	slices.Sort(took)
	c.P50, c.P95 = quantile(took, 0.5), quantile(took, 0.95)
}

// quantile returns the smallest value at or above a share q of sorted values.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(int(math.Ceil(q*float64(len(sorted))))-1, 0)]
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// Table returns a line for each collection and for all.
func (r Report) Table() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "collection\tchunks\tqueries\t")
	for _, k := range r.K {
		fmt.Fprintf(w, "R@%d\t", k)
	}
	fmt.Fprint(w, "MRR\tnDCG@10\tcand.\tturn\tp50\tp95\t\n")
	for _, c := range append(slices.Clip(r.Collections), r.All) {
		if c.Name == "" {
			c.Name = "all"
		}
		r.line(w, c)
	}
	if len(r.K) > 0 {
		fmt.Fprintf(w, "\nR@k, MRR and nDCG are of a search %d chunks deep; cand. is the recall of a turn's candidates, turn that of its hits\n",
			chunksPerResult*r.K[len(r.K)-1])
	}
	fmt.Fprintf(w, "%s\n", r.All.Injection)
	w.Flush()
	return b.String()
}

func (r Report) line(w *tabwriter.Writer, c Result) {
	fmt.Fprintf(w, "%s\t%d\t%d\t", c.Name, c.Chunks, c.Queries)
	for _, k := range r.K {
		fmt.Fprintf(w, "%.3f\t", c.Scores[fmt.Sprintf("recall@%d", k)])
	}
	fmt.Fprintf(w, "%.3f\t%.3f\t%s\t%s\t%s\t%s\t\n", c.Scores["mrr"], c.Scores["ndcg@10"], scoreOrDash(c, recallCandidates), scoreOrDash(c, recallTurn),
		c.P50.Round(10*time.Microsecond), c.P95.Round(10*time.Microsecond))
}

// scoreOrDash formats a score that questions asked elsewhere may lack.
func scoreOrDash(c Result, name string) string {
	if score, ok := c.Scores[name]; ok {
		return fmt.Sprintf("%.3f", score)
	}
	return "–"
}
