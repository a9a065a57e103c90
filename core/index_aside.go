package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/store"
)

// A SetAside is a chunk without a vector because the embedder fails with its text and with no
// other. Its words still find it. It is embedded when the text or the embedder changes, or the
// index is rebuilt.
type SetAside struct {
	Source string `json:"source"` // such as "notes/deploy.md#L4-L9"
	Reason string `json:"reason"` // the embedder's error, without the text
}

// An aside says why the embedder has no vector for a text, and how many records of a document have
// that text.
type aside struct {
	Reason string `json:"reason"`
	Chunks int    `json:"chunks"`
}

// asides are the texts of a document that are set aside, by Record.Hash.
type asides map[string]aside

// chunks counts the records.
func (a asides) chunks() (n int) {
	for _, text := range a {
		n += text.Chunks
	}
	return n
}

// setAside returns those of a document's set-aside texts that its records still have.
func (w *writer) setAside(path string, records []store.Record) asides {
	e := w.manifest.Documents[path]
	if len(e.SetAside) == 0 {
		return nil
	}
	kept := asides{}
	for _, r := range records {
		if a, ok := e.SetAside[r.Hash]; ok {
			kept[r.Hash] = aside{a.Reason, kept[r.Hash].Chunks + 1}
		}
	}
	e.SetAside = kept // never changed in place: readers have the former one
	w.manifest.Documents[path] = e
	return kept
}

// from returns records as a vector index has them: without those that are set aside, and without
// aliases, which are not embedded.
func (a asides) from(records []store.Record) []store.Record {
	for i := range records {
		records[i].Aliases = nil
	}
	return slices.DeleteFunc(records, func(r store.Record) bool {
		_, ok := a[r.Hash]
		return ok
	})
}

// noteFailed sets records aside.
func (w *writer) noteFailed(failed []failedRecord) {
	changed := map[string]asides{} // by document: readers have the former ones
	for _, r := range failed {
		e := w.manifest.Documents[r.Path]
		if changed[r.Path] == nil {
			changed[r.Path] = asides{}
			maps.Copy(changed[r.Path], e.SetAside)
		}
		e.SetAside, e.Partly = changed[r.Path], min(e.Partly+1, e.Chunks)
		e.SetAside[r.Hash] = aside{r.reason, e.SetAside[r.Hash].Chunks + 1}
		w.manifest.Documents[r.Path] = e
		one := SetAside{paths.Citation(r.Path, r.StartLine, r.EndLine), r.reason}
		if n := len(w.report.SetAside); n > 0 && w.report.SetAside[n-1] == one {
			continue // a statement has the lines of its turn
		}
		w.m.log.Warn("a text has no vector, and is found by its words only", "source", one.Source, "reason", one.Reason)
		w.report.SetAside = append(w.report.SetAside, one)
	}
}

// setAside lists what is set aside, in the order of the documents.
func (s snapshot) setAside(ctx context.Context) (all []SetAside, err error) {
	for _, path := range s.manifest.paths() {
		e := s.manifest.of(path)
		if len(e.SetAside) == 0 {
			continue
		}
		records, err := s.keywords.Document(ctx, path)
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			if a, ok := e.SetAside[r.Hash]; ok {
				all = append(all, SetAside{Source: paths.Citation(r.Path, r.StartLine, r.EndLine), Reason: a.Reason})
			}
		}
	}
	return slices.Compact(all), nil
}

// A sieve embeds documents and finds those with which the embedder fails, by halving. An embedder
// that fails with a harmless text, too, is away: then no document is at fault.
type sieve struct {
	embedder
	dimension int // of all vectors; 0 if unknown
	texts     []string
	vectors   [][]float32   // nil for what is set aside
	failed    map[int]error // by index
}

// documents embeds texts. failed has the errors of those that are set aside, by index; their
// vectors are nil. dimension is the index's, or 0.
//
// One such text among n costs about 2 log2(n) more requests. Any number of them costs fewer than
// 3n.
func (e embedder) documents(ctx context.Context, texts []string, dimension int) (vectors [][]float32, failed map[int]error, err error) {
	s := &sieve{embedder: e, dimension: dimension, texts: texts, vectors: make([][]float32, len(texts)), failed: map[int]error{}}
	err = s.embedRange(ctx, 0, len(texts))
	if mayBeTexts(ctx, err) && s.answers(ctx) {
		err = s.halve(ctx, 0, len(texts), err)
		if err == nil && len(s.failed) > 0 && len(texts) > 1 && !s.answers(ctx) { // it has gone away meanwhile
			for _, err = range s.failed {
				break
			}
		}
	}
	if err != nil {
		return nil, nil, cmp.Or(ctx.Err(), err)
	}
	return s.vectors, s.failed, nil
}

// mayBeTexts reports whether an error may be the fault of the texts.
func mayBeTexts(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() == nil && !errors.Is(err, embed.ErrRefused)
}

// embedRange embeds the texts from one index to before another.
func (s *sieve) embedRange(ctx context.Context, from, to int) error {
	vectors, err := s.embed(ctx, embed.Document, s.texts[from:to])
	if err != nil {
		return err
	}
	if got := len(vectors[0]); s.dimension > 0 && got != s.dimension {
		return fmt.Errorf("index has vectors of length %d, embedder %s now makes %d: %w", s.dimension, s.Fingerprint(), got, embed.ErrDimension)
	}
	copy(s.vectors[from:], vectors)
	return nil
}

// halve embeds the halves of a range that failed. It fails if the embedder does not answer.
func (s *sieve) halve(ctx context.Context, from, to int, err error) error {
	if to-from == 1 {
		s.failed[from] = err
		return nil
	}
	middle := (from + to) / 2
	left := s.embedRange(ctx, from, middle)
	if left != nil && !mayBeTexts(ctx, left) {
		return left
	}
	right := s.embedRange(ctx, middle, to)
	if right != nil && (!mayBeTexts(ctx, right) || left != nil && !s.answers(ctx)) {
		return right
	}
	if left != nil {
		if err := s.halve(ctx, from, middle, left); err != nil {
			return err
		}
	}
	if right != nil {
		return s.halve(ctx, middle, to, right)
	}
	return nil
}

// harmless is a text that every model embeds.
const harmless = "memory"

// answers reports whether the embedder embeds a harmless text. No cache answers in its place.
func (s *sieve) answers(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	bare := embedder{embed.Bare(s.Embedder)}
	vectors, err := bare.embed(ctx, embed.Document, []string{harmless})
	return err == nil && (s.dimension == 0 || len(vectors[0]) == s.dimension)
}

// meet lets a server say its dimension before it gets a document: a first vector of a wrong length
// would be taken for right. It need not answer.
func (e embedder) meet(ctx context.Context) {
	bare := embed.Bare(e.Embedder)
	if bare.Dimension() > 0 {
		return
	}
	inTime, stop := context.WithTimeout(ctx, searchEmbedTimeout)
	defer stop()
	_, _ = bare.Embed(inTime, embed.Query, []string{harmless})
}

const (
	maxReason = 300 // bytes
	// minQuote is how many bytes of an error are a quotation if the text has them.
	minQuote = 16
)

// reasonOf returns an embedder's error from where it does not quote the text.
func reasonOf(err error, text string) string {
	flat := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	reason := flat(strings.Replace(err.Error(), embed.ErrUnavailable.Error()+": ", "", 1))
	text = flat(text)
	end := min(len(reason), maxReason)
	for i := 0; i+minQuote <= end; i++ {
		if strings.Contains(text, reason[i:i+minQuote]) {
			end = i
		}
	}
	if end == len(reason) {
		return reason
	}
	return strings.ToValidUTF8(reason[:end], "") + "…"
}
