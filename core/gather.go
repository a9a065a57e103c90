package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/store"
)

// A candidate is a record that one index or both have found.
type candidate struct {
	record   store.Record
	bm25     float64
	document float64 // BM25 of its whole document
	held     store.Held
	cosine   *float64 // nil if there is no vector to compare with

	keywordRank, vectorRank int // from 1; 0 if not among that index's answers
}

// gathered is what both indexes say of a query.
type gathered struct {
	candidates   []candidate
	ceiling      float64 // of BM25 for this query
	bestDocument float64 // best BM25 of a document
	terms        []store.Term
	times        askedTimes
	language     string          // of the query, as store.Matches has it
	byVectors    bool            // vectors were asked
	scale        relevance.Scale // of cosines, where it had to be measured
	chunks       int             // in the index
	unembedded   *Unembedded
	degraded     []string
	err          error // neither index answered
}

// gather asks both indexes at once, then each for the scores of what only the other one found, so
// that every candidate is judged by both.
func (m *Manager) gather(ctx context.Context, from snapshot, text string, s selection, took map[string]time.Duration) gathered {
	var g gathered
	var matches store.Matches
	var near []store.Hit
	var vector []float32
	var note string
	var keywordErr, vectorErr error
	var embedding, keywords, vectors time.Duration
	var both sync.WaitGroup
	both.Go(func() {
		defer stopwatch(&keywords)()
		matches, keywordErr = from.keywords.Match(ctx, text, s.candidates, s.filter)
	})
	both.Go(func() {
		if vector, note, vectorErr = m.queryVector(ctx, from, text, &embedding); vector != nil {
			defer stopwatch(&vectors)()
			near, vectorErr = from.vectors.Nearest(ctx, vector, s.candidates, s.filter)
		}
	})
	both.Wait()
	took["embed"], took["keywords"], took["vectors"] = embedding, keywords, vectors
	if g.err = ctx.Err(); g.err != nil {
		return g
	}
	m.meet(from, keywordErr, vectorErr)
	if keywordErr != nil {
		g.degraded = append(g.degraded, fmt.Sprintf("keyword index did not answer: %v", keywordErr))
	}
	if vectorErr != nil {
		g.degraded = append(g.degraded, fmt.Sprintf("no search by vectors: %v", vectorErr))
	}
	if keywordErr != nil && (vectorErr != nil || vector == nil) {
		g.err = errors.Join(keywordErr, vectorErr)
		return g
	}
	all, pending := from.manifest.chunks()
	g.chunks, g.unembedded, g.scale = all, m.unembedded(all, pending), from.manifest.Scale
	if u := g.unembedded; u != nil {
		g.degraded = append(g.degraded, fmt.Sprintf("%d of %d chunks have no vector yet and are found by keywords only", u.Pending, u.Chunks))
	}
	if note != "" {
		g.degraded = append(g.degraded, note)
	}
	g.ceiling, g.bestDocument, g.terms, g.language = matches.Ceiling, matches.BestDocument, matches.Terms, matches.Language
	g.byVectors = vector != nil && vectorErr == nil
	g.candidates = merge(from.manifest, matches.Hits, near)
	if g.times = timesAsked(text, s.now); len(g.times.spans) > 0 && keywordErr == nil && vectorErr == nil {
		timely, err := m.gatherTimely(ctx, from, text, vector, g.times, s, g.candidates)
		if err != nil {
			g.degraded = append(g.degraded, fmt.Sprintf("no search by time: %v", err))
		}
		g.candidates = append(g.candidates, timely...)
	}
	if err := m.complete(ctx, from, text, vector, &g); err != nil {
		g.degraded = append(g.degraded, err.Error())
	}
	return g
}

func stopwatch(into *time.Duration) func() {
	started := time.Now()
	return func() { *into = time.Since(started) }
}

// queryVector returns no vector and no error if the memory has none, by choice or because it is empty.
func (m *Manager) queryVector(ctx context.Context, from snapshot, text string, took *time.Duration) (_ []float32, note string, _ error) {
	switch {
	case m.options.Embedder == nil:
		return nil, "", nil
	case from.noVectors != nil:
		return nil, "", cmp.Or(m.tooNew(from.noVectors), from.noVectors)
	case from.vectors == nil:
		return nil, "", nil
	}
	defer stopwatch(took)()
	inTime, stop := context.WithTimeoutCause(ctx, m.options.EmbedTimeout,
		fmt.Errorf("the query's embedding took longer than %v: %w", m.options.EmbedTimeout, embed.ErrUnavailable))
	defer stop()
	vector, note, err := m.embedQuery(inTime, text)
	if err != nil && inTime.Err() != nil {
		return nil, "", context.Cause(inTime)
	}
	return vector, note, err
}

// unembedded says how much of the memory vectors do not cover yet; nil if they cover all.
func (m *Manager) unembedded(all, pending int) *Unembedded {
	if m.options.Embedder == nil || pending == 0 {
		return nil
	}
	return &Unembedded{Chunks: all, Pending: pending}
}

// merge joins the answers of both indexes. What the manifest does not know is half written or half
// deleted and left out.
func merge(known *manifest, matches, near []store.Hit) []candidate {
	var all []candidate
	place := map[string]int{}
	at := func(r store.Record) *candidate {
		i, ok := place[r.ID]
		if !ok {
			if _, ok := known.Documents[r.Path]; !ok {
				return &candidate{}
			}
			i = len(all)
			place[r.ID] = i
			all = append(all, candidate{record: r})
		}
		return &all[i]
	}
	for i, hit := range matches {
		c := at(hit.Record)
		c.bm25, c.document, c.held, c.keywordRank = hit.Score, hit.Document, hit.Held, i+1
	}
	for i, hit := range near {
		c := at(hit.Record)
		c.cosine, c.vectorRank = &hit.Score, i+1
	}
	return all
}

// complete asks each index for the scores of what only the other one found.
func (m *Manager) complete(ctx context.Context, from snapshot, text string, vector []float32, g *gathered) error {
	var noBM25, noCosine []string
	for _, c := range g.candidates {
		if c.keywordRank == 0 {
			noBM25 = append(noBM25, c.record.ID)
		}
		if c.vectorRank == 0 {
			noCosine = append(noCosine, c.record.ID)
		}
	}
	var cosines map[string]float64
	var bm25 map[string]store.Score
	var keywordErr, vectorErr error
	if len(noBM25) > 0 && g.ceiling > 0 {
		bm25, keywordErr = from.keywords.Scores(ctx, text, noBM25)
	}
	if len(noCosine) > 0 && g.byVectors {
		cosines, vectorErr = from.vectors.Similarities(ctx, vector, noCosine)
	}
	for i := range g.candidates {
		c := &g.candidates[i]
		if score, ok := bm25[c.record.ID]; ok {
			c.bm25, c.document, c.held = score.Record, score.Document, score.Held
		}
		if cosine, ok := cosines[c.record.ID]; ok {
			c.cosine = &cosine
		}
	}
	m.meet(from, keywordErr, vectorErr)
	return errors.Join(keywordErr, vectorErr)
}
