package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// pairs is the number of text pairs compared.
const pairs = 5000

// Limits on the cost of rounding.
const (
	leastCorrelation = 0.999
	mostRecall       = 0.003 // of difference, up or down
)

// quality compares the built-in embedder with the published weights in f32. Exceeding a limit is an
// error.
func quality(ctx context.Context) error {
	if *rivalsDir == "" {
		return errors.New("quality needs ONNX Runtime")
	}
	s, err := serve(ctx, *rivalsDir)
	if err != nil {
		return err
	}
	defer s.close()
	if err := checkRival(s, *reference); err != nil {
		return err
	}
	collections, err := readAll()
	if err != nil {
		return err
	}
	for i := range collections {
		if err := collections[i].embed(ctx, s); err != nil {
			return err
		}
	}
	return judge(collections)
}

// judge prints all figures; a missed limit is an error.
func judge(collections []collection) error {
	var exact, rounded [][]float32
	for _, c := range collections {
		exact = slices.Concat(exact, c.exact.texts, c.exact.questions)
		rounded = slices.Concat(rounded, c.rounded.texts, c.rounded.questions)
	}
	var missed []error
	if c := compare(exact, rounded); !(c >= leastCorrelation) {
		missed = append(missed, fmt.Errorf("goal missed: correlation %.6f, want %v at least", c, leastCorrelation))
	}
	for _, k := range []int{1, 5, 10, 20} {
		difference := compareRecall(collections, k)
		if (k == 5 || k == 10) && !(math.Abs(difference) <= mostRecall) {
			missed = append(missed, fmt.Errorf("goal missed: recall@%d differs by %+.4f, want %v at most", k, difference, mostRecall))
		}
	}
	return errors.Join(missed...)
}

// compare prints cosines between vectors and exact ones, and returns the rank correlation of pairs.
func compare(exact, rounded [][]float32) float64 {
	lowest, sum := 1.0, 0.0
	for i := range exact {
		c := dot(exact[i], rounded[i])
		lowest, sum = min(lowest, c), sum+c
	}
	fmt.Printf("%d texts: cosine with the published weights in f32: mean %.6f, lowest %.6f\n", len(exact), sum/float64(len(exact)), lowest)
	r := rand.New(rand.NewPCG(1, 2))
	var a, b []float64
	for range pairs {
		i, j := distinct(r, len(exact))
		a, b = append(a, dot(exact[i], exact[j])), append(b, dot(rounded[i], rounded[j]))
	}
	c := correlation(ranks(a), ranks(b))
	fmt.Printf("%d pairs: Spearman correlation of their cosines %.6f\n", pairs, c)
	return c
}

// distinct returns two numbers below n, at least 2.
func distinct(r *rand.Rand, n int) (i, j int) {
	i, j = r.IntN(n), r.IntN(n-1)
	if j >= i {
		j++
	}
	return i, j
}

// compareRecall prints the recall of questions by cosine, and returns its significance; 0 without
// questions.
func compareRecall(collections []collection, k int) float64 {
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
		return 0
	}
	mean := (rounded - exact) / float64(n)
	fmt.Printf("recall@%d of %d questions: f32 %.4f, built in %.4f, difference %+.4f ± %.4f (standard error)\n",
		k, n, exact/float64(n), rounded/float64(n), mean, math.Sqrt((square/float64(n)-mean*mean)/float64(n)))
	return mean
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

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// ranks returns the rank of each number; ties share the mean.
func ranks(x []float64) []float64 {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	rank := make([]float64, len(x))
	for lo := 0; lo < len(order); {
		hi := lo + 1
		for hi < len(order) && x[order[hi]] == x[order[lo]] {
			hi++
		}
		for _, i := range order[lo:hi] {
			rank[i] = float64(lo+hi-1) / 2
		}
		lo = hi
	}
	return rank
}

// correlation returns Pearson's coefficient, of ranks Spearman's; NaN for constant numbers.
func correlation(a, b []float64) float64 {
	n := float64(len(a))
	var sa, sb, saa, sbb, sab float64
	for i := range a {
		sa, sb = sa+a[i], sb+b[i]
		saa, sbb, sab = saa+a[i]*a[i], sbb+b[i]*b[i], sab+a[i]*b[i]
	}
	return (sab - sa*sb/n) / math.Sqrt((saa-sa*sa/n)*(sbb-sb*sb/n))
}
