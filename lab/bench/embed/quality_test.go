package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestRanks(t *testing.T) {
	for _, tt := range []struct {
		name     string
		in, want []float64
	}{
		{"none", nil, []float64{}},
		{"all different", []float64{3, 1, 2}, []float64{2, 0, 1}},
		{"equal ones share the mean", []float64{5, 1, 5, 5}, []float64{2, 0, 2, 2}},
	} {
		if got := ranks(tt.in); !slices.Equal(got, tt.want) {
			t.Errorf("%s: ranks(%v) = %v, want %v", tt.name, tt.in, got, tt.want)
		}
	}
}

func TestCorrelation(t *testing.T) {
	for _, tt := range []struct {
		a, b []float64
		want float64
	}{
		{[]float64{1, 2, 3}, []float64{2, 4, 6}, 1},
		{[]float64{1, 2, 3}, []float64{3, 2, 1}, -1},
		{[]float64{0, 1, 2, 3, 4}, []float64{1, 0, 2, 4, 3}, 0.8}, // 1 - 6·4/(5·24)
	} {
		if got := correlation(tt.a, tt.b); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("correlation(%v, %v) = %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
	if got := correlation([]float64{1, 1}, []float64{1, 2}); !math.IsNaN(got) {
		t.Errorf("correlation of numbers that are all alike = %v, want NaN", got)
	}
}

// axes returns unit vectors at angles in degrees.
func axes(degrees ...float64) (all [][]float32) {
	for _, d := range degrees {
		sin, cos := math.Sincos(d * math.Pi / 180)
		all = append(all, []float32{float32(cos), float32(sin)})
	}
	return all
}

func TestRecall(t *testing.T) {
	v := vectors{texts: axes(80, 10, 40, 20), questions: axes(0)}
	for _, tt := range []struct {
		relevant []int
		k        int
		want     float64
	}{
		{[]int{1}, 1, 1},
		{[]int{3}, 1, 0},
		{[]int{1, 0}, 2, 0.5},
		{[]int{1, 0}, 99, 1},
	} {
		if got := recall(v, 0, tt.relevant, tt.k); got != tt.want {
			t.Errorf("recall(%v, %d) = %v, want %v", tt.relevant, tt.k, got, tt.want)
		}
	}
}

// A limit is missed in both directions.
func TestJudge(t *testing.T) {
	many := func(v vectors, n int) (all vectors) {
		for range n {
			all.texts = append(all.texts, v.texts...)
		}
		all.questions = v.questions
		return all
	}
	near := many(vectors{axes(1, 2, 3, 4, 30, 40), axes(0)}, 2)
	far := many(vectors{axes(80, 70, 60, 50, 30, 40), axes(0)}, 2)
	for _, tt := range []struct {
		name           string
		exact, rounded vectors
		want           string // in the error
	}{
		{"alike", near, near, ""},
		{"recall goes down", near, far, "recall@5 differs by -"},
		{"the order changes", near, far, "goal missed: correlation"},
		{"recall goes up", far, near, "recall@5 differs by +"},
	} {
		err := judge([]collection{{exact: tt.exact, rounded: tt.rounded, relevant: [][]int{{0, 1, 2, 3}}}})
		if tt.want == "" && err != nil || tt.want != "" && !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%s: judge = %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestReadCollection(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"corpus.jsonl":  `{"id":"a","text":"one"}` + "\n" + `{"id":"b","text":"two"}` + "\n",
		"queries.jsonl": `{"id":"q","text":"?"}` + "\n" + `{"id":"r","text":"??","meta":{"answerable":false}}` + "\n" + `{"id":"s","text":"???","meta":{"answerable":true}}` + "\n",
		"qrels.tsv":     "q\tb\t1\nq\ta\t0\nr\ta\t1\ns\ta\t1\ns\tunknown\t1\nunknown\ta\t1\nno judgment\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c, err := readCollection(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.texts, []string{"one", "two"}) || !slices.Equal(c.questions, []string{"?", "??", "???"}) {
		t.Errorf("readCollection: texts %q, questions %q", c.texts, c.questions)
	}
	want := [][]int{{1}, nil, {0}} // the second cannot be answered
	if !slices.EqualFunc(c.relevant, want, slices.Equal) {
		t.Errorf("readCollection: relevant %v, want %v", c.relevant, want)
	}
	if _, err := readCollection(t.TempDir()); err == nil {
		t.Error("readCollection of an empty folder: no error")
	}
}

func TestReadTexts(t *testing.T) {
	dir := t.TempDir()
	if _, err := readTexts(dir); err == nil {
		t.Error("readTexts of a folder without Markdown: no error")
	}
	if err := os.WriteFile(filepath.Join(dir, "a.md"), []byte("# Head\n\nOne thing. Another\nline? One thing. \n\n\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	texts, err := readTexts(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"# Head", "Another\nline", "One thing"}
	if got := texts[:len(texts)-generated]; !slices.Equal(got, want) {
		t.Errorf("readTexts = %q, want %q", got, want)
	}
}
