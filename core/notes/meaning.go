package notes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/internal/secret"
)

// pieceLength is how much of a text, in bytes, one vector stands for: about what an embedding model reads at once. mostPieces bounds what one unit costs.
const (
	pieceLength = 900
	mostPieces  = 32
	batch       = 8 // pieces, about what is made within RecallOptions.EmbedFor
)

// pieces are the parts of a text of the unit that have a vector each, cut between lines where there are any.
func (u *unit) pieces(text string) []string {
	head := strings.Join(u.extra, ". ")
	var all []string
	for rest := text; strings.TrimSpace(rest) != "" && len(all) < mostPieces; {
		end := min(len(rest), pieceLength)
		if end < len(rest) {
			end = cmp.Or(max(strings.LastIndexByte(rest[:end], '\n'), 0), max(strings.LastIndexByte(rest[:end], ' '), 0), end)
		}
		if piece := strings.TrimSpace(strings.ToValidUTF8(rest[:end], "")); piece != "" { // some servers refuse blank ones
			all = append(all, strings.TrimSpace(head+"\n"+piece))
		}
		rest = rest[end:]
	}
	return all
}

// cosine is that of a question and the nearest piece; nil if there is nothing to compare.
func (u *unit) cosine(question []float32) *float64 {
	vectors := u.meaning.Load()
	if question == nil || vectors == nil {
		return nil
	}
	best := -1.0
	for _, v := range *vectors {
		if len(v) != len(question) {
			return nil
		}
		var dot float32
		for i, x := range v {
			dot += x * question[i]
		}
		best = max(best, float64(dot))
	}
	return &best
}

// embed returns the vector of the query, or why there is none, and the scale of cosines, where no relevance model was fitted to the embedder. All of a
// scale is embedded as documents, which are kept: each recall asks for it.
func (o RecallOptions) embed(ctx context.Context, query string) (vector []float32, scale relevance.Scale, degraded string) {
	if o.Embedder == nil {
		return nil, nil, ""
	}
	ctx, stop := context.WithTimeout(ctx, cmp.Or(o.EmbedTimeout, defaultEmbedTimeout))
	defer stop()
	vectors, err := o.Embedder.Embed(ctx, embed.Query, []string{query})
	if err != nil {
		return nil, nil, fmt.Sprintf("no search by meaning: %v", err)
	}
	if len(relevance.For(o.Embedder.Fingerprint()).Cosines) > 0 {
		documents := func(ctx context.Context, texts []string) ([][]float32, error) {
			return o.Embedder.Embed(ctx, embed.Document, texts)
		}
		if scale, err = relevance.Measure(ctx, documents, documents); err != nil {
			return nil, nil, fmt.Sprintf("no search by meaning: %v", err)
		}
	}
	return vectors[0], scale, ""
}

// fill gives units their vectors: those that are kept, and in the time there is those that can be made. It returns how many units have none.
func (o RecallOptions) fill(ctx context.Context, units []*unit) (left int, err error) {
	todo := withoutMeaning(o.Embedder, units)
	budget := cmp.Or(o.EmbedFor, defaultEmbedFor)
	if budget < 0 || len(todo) == 0 {
		return len(todo), nil
	}
	ctx, stop := context.WithTimeout(ctx, budget)
	defer stop()
	slices.SortStableFunc(todo, func(a, b *unit) int { return cmp.Or(cmp.Compare(b.newer, a.newer), cmp.Compare(b.line, a.line)) })
	done, err := embedUnits(ctx, o.Embedder, todo)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%d pieces of working memory are found by words only: %w", len(todo)-done, err)
	} else {
		err = nil // there was no more time
	}
	return len(todo) - done, err
}

// withoutMeaning gives units the vectors that are kept, and returns those that still have none.
func withoutMeaning(embedder embed.Embedder, units []*unit) []*unit {
	var todo []*unit
	for _, u := range units {
		if u.meaning.Load() == nil {
			todo = append(todo, u)
		}
	}
	keeper, ok := embedder.(embed.Keeper)
	if !ok || len(todo) == 0 {
		return todo
	}
	// Looking for secrets takes longer than looking up. A text without one is kept as it is.
	todo = withoutKept(keeper, todo, func(u *unit) []string { return u.pieces(u.text) })
	return withoutKept(keeper, todo, (*unit).safePieces)
}

// withoutKept gives units the vectors that are kept of their pieces, and returns those that still have none.
func withoutKept(keeper embed.Keeper, todo []*unit, pieces func(*unit) []string) []*unit {
	var texts []string
	counts := make([]int, len(todo))
	for i, u := range todo {
		mine := pieces(u)
		counts[i] = len(mine)
		texts = append(texts, mine...)
	}
	kept := keeper.Kept(texts)
	return slices.DeleteFunc(todo, func(u *unit) bool {
		vectors := kept[:counts[0]:counts[0]]
		kept, counts = kept[counts[0]:], counts[1:]
		return u.know(vectors)
	})
}

// safePieces are the pieces without secrets, which are taken out before a text is cut: a part of a key is not known as one. An agent may have written it
// itself, and the model may be another's server.
func (u *unit) safePieces() []string {
	u.clean.Do(func() {
		if text, found := secret.Redact(u.text); len(found) > 0 {
			u.redacted = &text
		}
	})
	if u.redacted != nil {
		return u.pieces(*u.redacted)
	}
	return u.pieces(u.text)
}

// know keeps the vectors of a unit, if there is one of each piece.
func (u *unit) know(vectors [][]float32) bool {
	if slices.ContainsFunc(vectors, func(v []float32) bool { return v == nil }) {
		return false
	}
	u.meaning.Store(&vectors)
	return true
}

// embedUnits makes the vectors of units, in order, until ctx ends.
func embedUnits(ctx context.Context, embedder embed.Embedder, units []*unit) (done int, err error) {
	for done < len(units) {
		end, texts := done, []string(nil)
		var counts []int
		for end < len(units) && (len(texts) < batch || end == done) {
			pieces := units[end].safePieces()
			texts, counts = append(texts, pieces...), append(counts, len(pieces))
			end++
		}
		vectors, err := embedder.Embed(ctx, embed.Document, texts)
		if err != nil {
			return done, err
		}
		for _, n := range counts {
			units[done].know(vectors[:n:n])
			vectors = vectors[n:]
			done++
		}
	}
	return done, nil
}

// Embed makes the vectors of all that a session holds, so that recall finds it by meaning, and returns of how many pieces it made them. It is for an
// embed.Keeper, or a Session that is kept.
func (s *Session) Embed(ctx context.Context, embedder embed.Embedder) (made int, err error) {
	if embedder == nil {
		return 0, errors.New("embed a session: there is no embedder")
	}
	units, _, err := s.units(ctx, "", "")
	if err != nil {
		return 0, err
	}
	made, err = embedUnits(ctx, embedder, withoutMeaning(embedder, units))
	if err != nil {
		return made, fmt.Errorf("embed session %s: %w", s.ID, err)
	}
	return made, nil
}
