package core

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/memcore/memcore/internal/text/secret"
)

// A Reranker returns the probability that each text answers a question, in order. It is safe for
// concurrent use and heeds ctx.
type Reranker interface {
	Rerank(ctx context.Context, query string, texts []string) ([]float64, error)
}

const (
	defaultRerankBudget = 500 * time.Millisecond
	rerankCandidates    = 16
)

// rerank averages the log-odds of score and Reranker for the best. If that is late or fails, scores
// stay.
func (q *query) rerank(ctx context.Context, text string, ranked []*candidate) (note string) {
	o := q.m.options
	if o.Reranker == nil || len(ranked) == 0 {
		return ""
	}
	started := time.Now()
	defer func() { q.took["rerank"] = time.Since(started) }()
	first := ranked[:min(rerankCandidates, len(ranked))]
	texts := make([]string, len(first))
	for i, c := range first {
		texts[i] = c.Text
	}
	if !o.KeepSecrets {
		text = secret.RedactQuestion(text, strings.Join(texts, "\n"))
	}
	scores, err := rerankInTime(ctx, o.Reranker, cmp.Or(o.RerankBudget, defaultRerankBudget), text, texts)
	if err != nil {
		return fmt.Sprintf("not reranked: %v", err)
	}
	for i, c := range first {
		c.reranked = &scores[i]
		c.Score = logistic((logit(c.Score) + logit(scores[i])) / 2)
	}
	sortByScore(first)
	least := first[len(first)-1].Score
	for _, c := range ranked[len(first):] { // the others stay behind
		c.Score = min(c.Score, least)
	}
	return ""
}

// rerankInTime returns after the budget even if the Reranker does not.
func rerankInTime(ctx context.Context, r Reranker, budget time.Duration, text string, texts []string) (scores []float64, err error) {
	ctx, stop := context.WithTimeoutCause(ctx, budget, fmt.Errorf("took longer than %v", budget))
	defer stop()
	type answer struct {
		scores []float64
		err    error
	}
	done := make(chan answer, 1)
	go func() {
		scores, err := r.Rerank(ctx, text, texts)
		done <- answer{scores, err}
	}()
	select {
	case a := <-done:
		scores, err = a.scores, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err == nil && len(scores) != len(texts):
		return nil, fmt.Errorf("%d scores for %d texts", len(scores), len(texts))
	}
	return scores, err
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// logit is the log-odds, kept finite.
func logit(p float64) float64 {
	p = min(max(p, 1e-4), 1-1e-4)
	return math.Log(p / (1 - p))
}
