package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/eval"
	"github.com/memcore/memcore/lab/internal/sets"
)

// mustNot counts the questions that get nothing, of those that must.
func (t *tables) mustNot(ctx context.Context, open eval.Opener, data string, m *relevance.Model) error {
	collections, err := sets.Collections(filepath.Join(data, "precision_membench"), "")
	if err != nil {
		return err
	}
	silent, all := 0, 0
	for _, c := range collections {
		var questions []sets.Query
		for _, q := range c.Queries {
			if len(c.Judgments[q.ID]) == 0 {
				questions = append(questions, q)
			}
		}
		found, err := sets.Evidence(ctx, open, c, questions)
		if err != nil {
			return err
		}
		for _, f := range found {
			all++
			if ranked := m.Rank(f.Query, f.Candidates); len(ranked) == 0 || ranked[0].Score < m.Threshold {
				silent++
			}
		}
	}
	fmt.Fprintf(t, "\nPrecisionMemBench: %d of %d questions that must get nothing get nothing.\n", silent, all)
	return nil
}
