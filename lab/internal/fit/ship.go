package fit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
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

// Table returns the figures of sources, each by the model that serves it.
func (s Sample) Table(title string, serving func(source string) *relevance.Model, o Options) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%s\tquestions\tR@1\tR@5\tR@10\tMRR\tnDCG@10\tsession R@5\tempty\tright\tsilent\tsisters\town\toff\t\n", title)
	served := Sample{whole(s.served(o))}
	rank := func(q Question) []int { return modelled(serving(q.Set))(q) }
	sessions := served.Scores(rank, sets.LevelSession)
	decided := served.decided(serving)
	for i, c := range served.Scores(rank, sets.LevelDocument).Collections {
		fmt.Fprintf(w, "%s\t%d", c.Name, c.Queries)
		for _, name := range []string{"recall@1", "recall@5", "recall@10", "mrr", "ndcg@10"} {
			fmt.Fprintf(w, "\t%.3f", c.Scores[name])
		}
		fmt.Fprintf(w, "\t%.3f", sessions.Collections[i].Scores["recall@5"])
		for _, x := range decided[c.Name].figures() {
			if math.IsNaN(x) {
				fmt.Fprint(w, "\t")
				continue
			}
			fmt.Fprintf(w, "\t%.3f", x)
		}
		fmt.Fprint(w, "\t\n")
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
