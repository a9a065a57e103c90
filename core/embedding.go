package core

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/store"
)

// An embedder checks the vectors that it gets, and embeds queries of any length.
type embedder struct{ embed.Embedder }

func (e embedder) embed(ctx context.Context, kind embed.Kind, texts []string) ([][]float32, error) {
	vectors, err := e.Embed(ctx, kind, texts)
	if err != nil {
		return nil, err
	}
	if len(vectors) != len(texts) {
		return nil, fmt.Errorf("embedder %s answered %d texts with %d vectors: %w", e.Fingerprint(), len(texts), len(vectors), embed.ErrUnavailable)
	}
	for _, v := range vectors {
		if len(v) == 0 || len(v) != len(vectors[0]) {
			return nil, fmt.Errorf("embedder %s answered with vectors of length %d and %d: %w", e.Fingerprint(), len(vectors[0]), len(v), embed.ErrDimension)
		}
		if norm := normOf(v); !(math.Abs(norm-1) <= normTolerance) { // also NaN
			return nil, fmt.Errorf("embedder %s answered with a vector of norm %v, want 1: %w", e.Fingerprint(), norm, embed.ErrUnavailable)
		}
	}
	return vectors, nil
}

// normTolerance is how far the length of a vector may be from 1, as embed.Embedder and store.Record
// allow it.
const normTolerance = 1e-3

func normOf(v []float32) float64 {
	square := 0.0
	for _, x := range v {
		square += float64(x) * float64(x)
	}
	return math.Sqrt(square)
}

// query also says what it left out of a long query.
func (e embedder) query(ctx context.Context, text string) (vector []float32, note string, err error) {
	long := e.cut(text)
	vectors, err := e.embed(ctx, embed.Query, long.texts())
	if err != nil {
		return nil, "", err
	}
	return long.mean(vectors), long.note, nil
}

func (e embedder) readsWhole(text string) bool { return e.CountTokens(text) <= e.MaxTokens() }

// windows cuts a text preferably between sentences.
func (e embedder) windows(text string) (all []string) {
	options := chunker.Options{Target: e.MaxTokens(), Max: e.MaxTokens(), Overlap: -1, Count: e.CountTokens}
	for _, c := range chunker.Markdown("", []byte("\n"+text), options).Chunks { // the newline: no frontmatter
		all = append(all, chunker.EmbeddingText(c.Headings, "", time.Time{}, c.Text))
	}
	return all
}

// meanOf returns the normalised mean.
func meanOf(vectors [][]float32) []float32 {
	if len(vectors) == 1 {
		return vectors[0]
	}
	sum := slices.Clone(vectors[0])
	for _, v := range vectors[1:] {
		for i, x := range v {
			sum[i] += x
		}
	}
	norm := normOf(sum)
	if norm == 0 {
		return vectors[0] // opposites: no direction is better than another
	}
	for i := range sum {
		sum[i] /= float32(norm)
	}
	return sum
}

const (
	// Only windows at both ends are embedded: people paste logs between.
	maxQueryWindows = 8
	// maxQueryBytes of a query are cut, half at either end.
	maxQueryBytes = 1 << 17
)

// QueryCut begins Result.Degraded for an overlong query.
const QueryCut = "query is long"

// A longQuery is cut into first paragraph, last, and middle.
type longQuery struct {
	first, middle, last []string
	note                string // what was left out
}

func (q longQuery) texts() []string { return slices.Concat(q.first, q.middle, q.last) }

// mean weighs the parts alike: pasted logs must not prevail.
func (q longQuery) mean(vectors [][]float32) []float32 {
	a, b := len(q.first), len(q.first)+len(q.middle)
	var parts [][]float32
	for _, part := range [][][]float32{vectors[:a], vectors[a:b], vectors[b:]} {
		if len(part) > 0 {
			parts = append(parts, meanOf(part))
		}
	}
	return meanOf(parts)
}

func (e embedder) cut(text string) longQuery {
	tooLong := len(text) > maxQueryBytes
	if !tooLong && e.readsWhole(text) {
		return longQuery{middle: []string{text}}
	}
	if tooLong {
		const half = maxQueryBytes / 2
		text = strings.ToValidUTF8(text[:half], "") + "\n\n" + strings.ToValidUTF8(text[len(text)-half:], "")
	}
	first, middle, last := paragraphs(strings.TrimSpace(text))
	q := longQuery{first: e.windows(first), middle: e.windows(middle), last: e.windows(last)}
	if len(q.texts()) > maxQueryWindows {
		q.first, q.last = ends(q.first, 2), ends(q.last, 2)
		q.middle = ends(q.middle, maxQueryWindows-len(q.first)-len(q.last))
		tooLong = true
	}
	if tooLong {
		q.note = fmt.Sprintf(QueryCut+": of its meaning, only %d passages at its beginning and end were searched for", len(q.texts()))
	}
	if len(q.texts()) == 0 {
		q.middle = []string{""}
	}
	return q
}

// paragraphs splits off the first and last paragraph.
func paragraphs(text string) (first, middle, last string) {
	middle = text
	if i := strings.LastIndex(middle, "\n\n"); i >= 0 {
		middle, last = middle[:i], middle[i:]
	}
	if i := strings.Index(middle, "\n\n"); i >= 0 {
		first, middle = middle[:i], middle[i:]
	}
	return first, middle, last
}

// ends returns n texts, half from either end.
func ends(texts []string, n int) []string {
	if len(texts) <= n {
		return texts
	}
	half := n / 2
	return slices.Concat(texts[:n-half], texts[len(texts)-half:])
}

func (e embedder) scale(ctx context.Context) (relevance.Scale, error) {
	questions := func(ctx context.Context, texts []string) ([][]float32, error) {
		return e.embed(ctx, embed.Query, texts)
	}
	texts := func(ctx context.Context, texts []string) ([][]float32, error) {
		vectors, failed, err := e.documents(ctx, texts, 0)
		for _, err := range failed {
			return nil, err
		}
		return vectors, err
	}
	return relevance.Measure(ctx, questions, texts)
}

// MeasureScale returns the embedder's scale of cosines.
func MeasureScale(ctx context.Context, e embed.Embedder) (relevance.Scale, error) {
	return embedder{e}.scale(ctx)
}

// EmbedRecords fills in vectors. setAside says why a record gets none, by its place: the embedder
// fails with its text, and with no other. Errors are those of an embedder that is away; then no
// record has changed.
func EmbedRecords(ctx context.Context, e embed.Embedder, records []store.Record) (setAside map[int]string, err error) {
	vectors, setAside, err := embedder{e}.records(ctx, records, embed.Bare(e).Dimension())
	if err != nil {
		return nil, err
	}
	for i := range records {
		records[i].Vector = vectors[i]
	}
	return setAside, nil
}

// records embeds records like documents, with what is to be said of those that fail.
func (e embedder) records(ctx context.Context, records []store.Record, dimension int) (vectors [][]float32, failed map[int]string, err error) {
	texts := make([]string, len(records))
	for i, r := range records {
		texts[i] = EmbeddingText(r)
	}
	vectors, errs, err := e.documents(ctx, texts, dimension)
	if err != nil {
		return nil, nil, err
	}
	failed = map[int]string{}
	for i, err := range errs {
		failed[i] = reasonOf(err, texts[i])
	}
	return vectors, failed, nil
}

// measure stores the scale if the relevance model was fitted to another embedder. Without a scale
// only keywords answer.
func (w *writer) measure(ctx context.Context) error {
	if len(w.m.relevance.Cosines) == 0 || len(w.manifest.Scale) > 0 {
		return nil
	}
	scale, err := w.m.embedder.scale(ctx)
	if errors.Is(err, relevance.ErrScale) {
		w.m.log.Warn("keywords alone answer questions: all vectors are alike", "embedder", w.m.options.Embedder.Fingerprint(), "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	w.manifest.Scale = scale
	return w.manifest.save(w.folder)
}
