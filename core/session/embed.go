package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/internal/text/secret"
)

const (
	pieceLength = 900 // bytes of text a vector stands for, about what a model reads at once
	maxPieces   = 32  // of one unit
	batch       = 8   // pieces a call, about what fits into RecallOptions.EmbedFor
)

// pieces cuts after a line or word if possible.
func (u *unit) pieces(text string) []string {
	head := strings.Join(u.extra, ". ")
	var all []string
	for rest := text; strings.TrimSpace(rest) != "" && len(all) < maxPieces; {
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

// cosine is the nearest piece's; nil without a vector.
func (u *unit) cosine(question []float32) *float64 {
	vectors := u.vectors.Load()
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

// embed returns the query's vector, or a reason, and the scale if no relevance model was fitted to
// the embedder. Embedding the scale's texts as documents lets an embed.Keeper keep them.
func (o RecallOptions) embed(ctx context.Context, query string) (vector []float32, scale relevance.Scale, degraded string) {
	if o.Embedder == nil {
		return nil, nil, ""
	}
	ctx, stop := context.WithTimeout(ctx, queryTimeout)
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

// embedMissing loads kept vectors and makes the newest units' until EmbedFor has passed. It returns
// how many are left.
func (o RecallOptions) embedMissing(ctx context.Context, units []*unit) (left int, err error) {
	todo := loadKept(o.Embedder, units)
	budget := cmp.Or(o.EmbedFor, defaultEmbedFor)
	if budget < 0 || len(todo) == 0 {
		return len(todo), nil
	}
	ctx, stop := context.WithTimeout(ctx, budget)
	defer stop()
	slices.SortStableFunc(todo, func(a, b *unit) int { return cmp.Or(cmp.Compare(b.modified, a.modified), cmp.Compare(b.line, a.line)) })
	done, err := embedUnits(ctx, o.Embedder, todo)
	if err != nil && ctx.Err() == nil {
		return len(todo) - done, fmt.Errorf("%d pieces of the session are found by words only: %w", len(todo)-done, err)
	}
	return len(todo) - done, nil
}

// loadKept returns the units whose vectors are not kept.
func loadKept(embedder embed.Embedder, units []*unit) []*unit {
	todo := slices.DeleteFunc(slices.Clone(units), func(u *unit) bool { return u.vectors.Load() != nil })
	keeper, ok := embedder.(embed.Keeper)
	if !ok || len(todo) == 0 {
		return todo
	}
	load := func(pieces func(*unit) []string) {
		var texts []string
		counts := make([]int, len(todo))
		for i, u := range todo {
			mine := pieces(u)
			counts[i] = len(mine)
			texts = append(texts, mine...)
		}
		kept := keeper.Kept(texts)
		todo = slices.DeleteFunc(todo, func(u *unit) bool {
			vectors := kept[:counts[0]:counts[0]]
			kept, counts = kept[counts[0]:], counts[1:]
			return u.setVectors(vectors)
		})
	}
	// Redacting is slow, and most texts have no secret.
	load(func(u *unit) []string { return u.pieces(u.text) })
	load((*unit).safePieces)
	return todo
}

// safePieces is for foreign servers. A part of a key is not recognised, so redact first.
func (u *unit) safePieces() []string {
	u.redact.Do(func() { u.redacted, _ = secret.Redact(u.text) })
	return u.pieces(u.redacted)
}

// setVectors reports whether no vector is missing.
func (u *unit) setVectors(vectors [][]float32) bool {
	if slices.ContainsFunc(vectors, func(v []float32) bool { return v == nil }) {
		return false
	}
	u.vectors.Store(&vectors)
	return true
}

// embedUnits works in order until ctx ends.
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
			units[done].setVectors(vectors[:n:n])
			vectors = vectors[n:]
			done++
		}
	}
	return done, nil
}

// Embed makes the missing vectors and returns how many. They last as long as the Session, or in an
// embed.Keeper.
func (s *Session) Embed(ctx context.Context, embedder embed.Embedder) (made int, err error) {
	if embedder == nil {
		return 0, errors.New("embed a session: there is no embedder")
	}
	units, _, err := s.units(ctx, "", "")
	if err != nil {
		return 0, err
	}
	made, err = embedUnits(ctx, embedder, loadKept(embedder, units))
	if err != nil {
		return made, fmt.Errorf("embed session %s: %w", s.ID, err)
	}
	return made, nil
}
