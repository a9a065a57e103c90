package core

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/memcore/memcore/internal/secret"
)

// A Reranker tells how probably texts answer a question, in [0, 1] and in the order of texts. It is asked about the best
// candidates of each question; package core/rerank has implementations. Safe for concurrent use; it returns soon
// after ctx ends.
type Reranker interface {
	Rerank(ctx context.Context, query string, texts []string) ([]float64, error)
}

const (
	defaultRerankBudget     = 500 * time.Millisecond
	defaultRerankCandidates = 16
)

// rerank lets Options.Reranker have a second look at the best candidates. Its probability and the score are taken for two
// opinions of the same weight: the mean of their log-odds. One that is late or fails is left out; the note says so.
func (m *Manager) rerank(ctx context.Context, text string, ranked []scored, took map[string]time.Duration) (note string) {
	if m.options.Reranker == nil || len(ranked) == 0 {
		return ""
	}
	started := time.Now()
	defer func() { took["rerank"] = time.Since(started) }()
	budget := or(m.options.RerankBudget, defaultRerankBudget)
	inTime, stop := context.WithTimeoutCause(ctx, budget, fmt.Errorf("took longer than %v", budget))
	defer stop()
	first := ranked[:min(or(m.options.RerankCandidates, defaultRerankCandidates), len(ranked))]
	texts := make([]string, len(first))
	for i, c := range first {
		texts[i] = c.record.Text
	}
	if !m.options.KeepSecrets {
		text, _ = secret.Redact(text) // it goes to a server, as what was asked may: a log that somebody pasted
	}
	type answer struct {
		scores []float64
		err    error
	}
	done := make(chan answer, 1)
	go func() {
		scores, err := m.options.Reranker.Rerank(inTime, text, texts)
		done <- answer{scores, err}
	}()
	var a answer
	select {
	case a = <-done:
	case <-inTime.Done():
		a.err = context.Cause(inTime)
	}
	if a.err == nil && len(a.scores) != len(first) {
		a.err = fmt.Errorf("%d scores for %d texts", len(a.scores), len(first))
	}
	if a.err != nil {
		if inTime.Err() != nil {
			a.err = context.Cause(inTime)
		}
		return fmt.Sprintf("not reranked: %v", a.err)
	}
	// What is not looked at stays behind what is, so its scores are no more than the least of these before.
	for i := range first {
		first[i].reranked = &a.scores[i]
		first[i].Score = logistic((logit(first[i].Score) + logit(a.scores[i])) / 2)
	}
	slices.SortStableFunc(first, func(a, b scored) int { return cmp.Compare(b.Score, a.Score) })
	least := first[len(first)-1].Score
	for i := range ranked[len(first):] {
		c := &ranked[len(first)+i]
		c.Score = min(c.Score, least)
	}
	return ""
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// logit is the log-odds of a probability, of one that is not quite sure.
func logit(p float64) float64 {
	p = min(max(p, 1e-4), 1-1e-4)
	return math.Log(p / (1 - p))
}
