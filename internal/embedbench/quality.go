package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/minilm"
)

// pairs is of how many pairs of texts the cosines are compared.
const pairs = 5000

// A collection is texts and questions about them, with the places of the answers.
type collection struct {
	texts, questions []string
	relevant         [][]int // by question
	// vectors by the published weights and by the built-in embedder
	exact, rounded vectors
}

type vectors struct{ texts, questions [][]float32 }

// quality compares the built-in embedder with the published weights in f32.
func quality(ctx context.Context) error {
	if *rivalsDir == "" {
		return errors.New("quality needs ONNX Runtime")
	}
	s, err := serve(ctx, *rivalsDir)
	if err != nil {
		return err
	}
	defer s.close()
	collections, err := readAll()
	if err != nil {
		return err
	}
	var exact, rounded [][]float32
	for i := range collections {
		c := &collections[i]
		if err := c.embed(ctx, s); err != nil {
			return err
		}
		exact = slices.Concat(exact, c.exact.texts, c.exact.questions)
		rounded = slices.Concat(rounded, c.rounded.texts, c.rounded.questions)
	}
	compare(exact, rounded)
	for _, k := range []int{1, 5, 10, 20} {
		compareRecall(collections, k)
	}
	return nil
}

// compare prints how near vectors are to the exact ones, and the order of cosines of pairs.
func compare(exact, rounded [][]float32) {
	lowest, sum := 1.0, 0.0
	for i := range exact {
		c := dot(exact[i], rounded[i])
		lowest, sum = min(lowest, c), sum+c
	}
	fmt.Printf("%d texts: cosine with the published weights in f32: mean %.6f, lowest %.6f\n", len(exact), sum/float64(len(exact)), lowest)
	r := rand.New(rand.NewPCG(1, 2))
	var a, b []float64
	for range pairs {
		i, j := r.IntN(len(exact)), r.IntN(len(exact))
		a, b = append(a, dot(exact[i], exact[j])), append(b, dot(rounded[i], rounded[j]))
	}
	fmt.Printf("%d pairs: Spearman correlation of their cosines %.6f\n", pairs, correlation(ranks(a), ranks(b)))
}

// compareRecall prints the recall of questions by plain cosine, and how sure its difference is.
func compareRecall(collections []collection, k int) {
	var exact, rounded, square float64
	n := 0
	for _, c := range collections {
		for q, relevant := range c.relevant {
			if len(relevant) == 0 {
				continue
			}
			e, r := recall(c.exact, q, relevant, k), recall(c.rounded, q, relevant, k)
			exact, rounded, square, n = exact+e, rounded+r, square+(r-e)*(r-e), n+1
		}
	}
	if n == 0 {
		return
	}
	mean := (rounded - exact) / float64(n)
	fmt.Printf("recall@%d of %d questions: f32 %.4f, built in %.4f, difference %+.4f ± %.4f (standard error)\n",
		k, n, exact/float64(n), rounded/float64(n), mean, math.Sqrt((square/float64(n)-mean*mean)/float64(n)))
}

func recall(v vectors, question int, relevant []int, k int) float64 {
	order := make([]int, len(v.texts))
	scores := make([]float64, len(v.texts))
	for i, text := range v.texts {
		order[i], scores[i] = i, dot(v.questions[question], text)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	found := 0
	for _, i := range order[:min(k, len(order))] {
		if slices.Contains(relevant, i) {
			found++
		}
	}
	return float64(found) / float64(len(relevant))
}

func (c *collection) embed(ctx context.Context, s *server) error {
	all := slices.Concat(c.texts, c.questions)
	rounded, err := minilm.New().Embed(ctx, embed.Document, all)
	if err != nil {
		return err
	}
	var exact [][]float32
	for some := range slices.Chunk(all, 500) {
		var answer struct{ Vectors [][]float32 }
		if err := s.ask(map[string]any{"do": "embed", "texts": some}, &answer); err != nil {
			return err
		}
		exact = append(exact, answer.Vectors...)
	}
	n := len(c.texts)
	c.exact, c.rounded = vectors{exact[:n], exact[n:]}, vectors{rounded[:n], rounded[n:]}
	return nil
}

// readAll reads the collections of -data, or else generated prose without questions.
func readAll() ([]collection, error) {
	if *data == "" {
		var c collection
		r := rand.New(rand.NewPCG(3, 4))
		for range 3000 {
			c.texts = append(c.texts, prose(r, 5+r.IntN(60)))
		}
		return []collection{c}, nil
	}
	dirs, err := filepath.Glob(filepath.Join(*data, "locomo", "*", "corpus.jsonl"))
	if err != nil || len(dirs) == 0 {
		return nil, fmt.Errorf("no collection in %s: want locomo/*/corpus.jsonl, queries.jsonl, qrels.tsv", *data)
	}
	var all []collection
	for _, name := range dirs {
		c, err := readCollection(filepath.Dir(name))
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

func readCollection(dir string) (c collection, err error) {
	ids, texts, err := readLines(filepath.Join(dir, "corpus.jsonl"))
	if err != nil {
		return c, err
	}
	asked, questions, err := readLines(filepath.Join(dir, "queries.jsonl"))
	if err != nil {
		return c, err
	}
	c.texts, c.questions, c.relevant = texts, questions, make([][]int, len(questions))
	judged, err := os.ReadFile(filepath.Join(dir, "qrels.tsv"))
	if err != nil {
		return c, err
	}
	for line := range strings.Lines(string(judged)) {
		parts := strings.Split(strings.TrimSpace(line), "\t")
		if len(parts) < 3 {
			continue
		}
		q, text := slices.Index(asked, parts[0]), slices.Index(ids, parts[1])
		if q >= 0 && text >= 0 {
			c.relevant[q] = append(c.relevant[q], text)
		}
	}
	return c, nil
}

func readLines(name string) (ids, texts []string, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var line struct{ ID, Text string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		ids, texts = append(ids, line.ID), append(texts, line.Text)
	}
	return ids, texts, lines.Err()
}

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// ranks of equal numbers are those of their order.
func ranks(x []float64) []float64 {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	rank := make([]float64, len(x))
	for place, i := range order {
		rank[i] = float64(place)
	}
	return rank
}

func correlation(a, b []float64) float64 {
	n := float64(len(a))
	var sa, sb, saa, sbb, sab float64
	for i := range a {
		sa, sb = sa+a[i], sb+b[i]
		saa, sbb, sab = saa+a[i]*a[i], sbb+b[i]*b[i], sab+a[i]*b[i]
	}
	return (sab - sa*sb/n) / math.Sqrt((saa-sa*sa/n)*(sbb-sb*sb/n))
}
