package fit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"text/tabwriter"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/lab/internal/sets"
)

// Questions that a model serves.
const (
	ForEmbedder = "embedder" // of the embedder it was fitted with
	ForOthers   = "others"   // of other embedders; the scale of their cosines is measured
	ForKeywords = "keywords" // without vectors
)

// For lists the questions that a model may serve.
var For = []string{ForEmbedder, ForOthers, ForKeywords}

// ReadSmallTalk reads a file of questions, one a line, that must get nothing.
func ReadSmallTalk(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("fit: %w", err)
	}
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' || r == '\r' }), nil
}

// Small memories of each size.
const (
	mixedEach = 14
	mixedSeed = 7
)

// WithMixed adds small memories of parts of collections, of about sizes chunks.
func WithMixed(collections []sets.Collection, sizes []int) ([]sets.Collection, error) {
	if len(sizes) == 0 || len(collections) < 2 {
		return collections, nil
	}
	small, err := sets.Mixed(collections, sets.MixedOptions{Sizes: sizes, Each: mixedEach, Seed: mixedSeed})
	return append(collections, small...), err
}

// Table returns the scores of a ranker by data set.
func (s Sample) Table(rank Ranker) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "cross-validated\tquestions\tR@1\tR@5\tR@10\tMRR\tnDCG@10\tsession R@5\t\n")
	sessions := s.Scores(rank, sets.LevelSession)
	for i, c := range s.Scores(rank, sets.LevelDocument).Collections {
		fmt.Fprintf(w, "%s\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t\n", c.Name, c.Queries, c.Scores["recall@1"], c.Scores["recall@5"],
			c.Scores["recall@10"], c.Scores["mrr"], c.Scores["ndcg@10"], sessions.Collections[i].Scores["recall@5"])
	}
	w.Flush()
	return b.String()
}

// ModelFor fits a whole model for the embedders with these fingerprints, or else for embedder,
// which is nil without vectors.
func ModelFor(ctx context.Context, s Sample, serves string, embedder embed.Embedder, embedders []string, o Options) (*relevance.Model, error) {
	model, err := Model(s, o)
	if err != nil {
		return nil, err
	}
	switch {
	case serves == ForOthers && embedder != nil:
		model.Scripts, model.Languages = nil, nil // other embedders may know more
		model.Cosines, err = core.MeasureScale(ctx, embedder)
	case serves == ForKeywords:
	case len(embedders) > 0:
		model.Embedders = embedders
	case embedder != nil:
		model.Embedders = []string{embedder.Fingerprint()}
	}
	if serves == ForEmbedder && embedder != nil {
		model.Near, err = nearOf(ctx, embedder)
	}
	return model, err
}

// nearOf returns 0 if all cosines are the same.
func nearOf(ctx context.Context, embedder embed.Embedder) (float64, error) {
	scale, err := core.MeasureScale(ctx, embedder)
	if errors.Is(err, relevance.ErrScale) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return scale.Near(), nil
}

// Encode returns a model as JSON, one point of the calibration a line.
func Encode(m *relevance.Model) ([]byte, error) {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	point := regexp.MustCompile(`\[\s+([0-9.]+),\s+([0-9.]+)\s+\]`)
	return append(point.ReplaceAll(text, []byte("[$1, $2]")), '\n'), nil
}
