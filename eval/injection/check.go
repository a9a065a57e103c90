package injection

import (
	"context"
	"io"
	"maps"
	"slices"

	"github.com/memcore/memcore/internal/suspicion"
)

// A Count is how many texts of a kind and source were flagged.
type Count struct {
	Kind, Source string
	Flagged, Of  int
}

// Check measures the model that comes with memcore as it is, with the built-in embedding model or, if embed is nil, without, writes
// a report and returns the counts by kind and source, in their order. Of what the model was fitted to, this says only that it was.
func Check(ctx context.Context, texts []*Text, out io.Writer, embed Embedder) ([]Count, error) {
	var ask suspicion.Embedder
	if embed != nil {
		ask = suspicion.Embedder(embed)
	}
	d := suspicion.New(nil, ask)
	var all []judgment
	counts := map[[2]string]*Count{}
	for _, t := range texts {
		v := d.Judge(ctx, t.Text)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		score := v.Score
		if t.Kind == Buried && !slices.ContainsFunc(t.Spans, func(s [2]int) bool { return v.Touches(s[0], s[1]) }) {
			score = 0 // that its host is flagged is no merit
		}
		all = append(all, judgment{t, score})
		key := [2]string{t.Kind, t.Source}
		if counts[key] == nil {
			counts[key] = &Count{Kind: t.Kind, Source: t.Source}
		}
		counts[key].Of++
		if score >= 0.5 {
			counts[key].Flagged++
		}
	}
	table(out, all, 0.5)
	var list []Count
	for _, key := range slices.SortedFunc(maps.Keys(counts), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		list = append(list, *counts[key])
	}
	return list, nil
}
