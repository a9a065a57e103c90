package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/store"
)

// A candidate is a record that an index found.
type candidate struct {
	relevance.Ranked // its evidence and, once ranked, its score
	record           store.Record
	copies           []store.Record // others with the same text

	cosine                  *float64 // as the embedder has it: Ranked.Cosine may be on another scale
	keywordRank, vectorRank int      // from 1; 0 if that index has not found it
	normalised, coverage    float64  // BM25 divided by the best, and by the query's ceiling

	value   float64 // Model.Value
	sure    string  // why it is a hit whatever its score; "" if the score decides
	refused string  // the verdict of a turn that does not want it
	had     bool    // the context has it already
	byTime  bool    // its score is due to the time that is asked for
	written bool    // it holds the text as it is written
}

func candidateOf(r store.Record) *candidate {
	c := &candidate{record: r}
	c.Candidate = relevance.Candidate{ID: r.ID, Text: r.Text, Before: r.Before, Path: r.Path, Line: r.StartLine, Speaker: r.Speaker,
		Turn: r.Kind == source.KindConversation && len(r.Headings) == 0, Tokens: r.Tokens}
	return c
}

// requestOf is the request that an agent's chunk answers, or "".
func requestOf(r store.Record) string {
	if r.Kind != source.KindConversation || len(r.Headings) == 0 || r.Headings[0] == chunker.Unheaded {
		return ""
	}
	return r.Headings[0]
}

func (c *candidate) setKeywords(bm25, document float64, held store.Held) {
	c.BM25, c.Document, c.Holds, c.Near = bm25, document, held.Itself, held.Nearby
}

func (c *candidate) setCosine(cosine float64) { c.cosine, c.Cosine = &cosine, &cosine }

// gathered is what both indexes have for a question.
type gathered struct {
	question   relevance.Query
	candidates []*candidate
	times      askedTimes
	scale      relevance.Scale // of the embedder's cosines, where it had to be measured
	unembedded *Unembedded
	degraded   []string
	words      bool // the keyword index has answered
}

// gather fails only if no index answers.
func (q *query) gather(ctx context.Context, text string) (gathered, error) {
	var matches store.Matches
	var near []store.Hit
	var vector []float32
	var note string
	var keywordErr, vectorErr error
	var embedding, keywords, vectors time.Duration
	var both sync.WaitGroup
	both.Go(func() {
		defer stopwatch(&keywords)()
		matches, keywordErr = q.match(ctx, text, q.filter)
	})
	both.Go(func() {
		if vector, note, vectorErr = q.vector(ctx, text, &embedding); vector != nil {
			defer stopwatch(&vectors)()
			near, vectorErr = q.nearest(ctx, vector, q.filter)
		}
	})
	both.Wait()
	q.took["embed"], q.took["keywords"], q.took["vectors"] = embedding, keywords, vectors
	if ctx.Err() != nil {
		return gathered{}, ctx.Err()
	}
	q.m.noteDamage(q.index, keywordErr, vectorErr)
	if keywordErr != nil && (vectorErr != nil || vector == nil) {
		return gathered{}, errors.Join(keywordErr, vectorErr)
	}
	g := gathered{
		scale:      q.index.manifest.Scale,
		candidates: merge(q.index.manifest, matches.Hits, near),
		times:      timesAsked(text, q.now),
		words:      keywordErr == nil,
	}
	if len(g.times.spans) > 0 {
		g.times.readDocuments(q.index.manifest)
	}
	chunks, pending := q.index.manifest.chunks()
	g.question = questionOf(text, matches, chunks-matches.Copies, vector != nil && vectorErr == nil)
	g.question.Across = q.isAcross(g.question, near)
	g.degrade("keyword index did not answer: %v", keywordErr)
	g.degrade("no search by vectors: %v", vectorErr)
	if q.m.options.Embedder != nil && pending > 0 {
		g.unembedded = &Unembedded{Chunks: chunks, Pending: pending}
		g.degraded = append(g.degraded, fmt.Sprintf("%d of %d chunks have no vector yet and are found by keywords only", pending, chunks))
	}
	if note != "" {
		g.degraded = append(g.degraded, note)
	}
	if len(g.times.spans) > 0 && keywordErr == nil && vectorErr == nil {
		g.degrade("no search by time: %v", q.addTimely(ctx, vector, &g))
	}
	if q.stated() {
		g.degrade("what is only stated is not told from what else is found: %v", q.dropRepeated(ctx, &g))
	}
	if q.recalls || q.exact {
		g.degrade("no search for the text as it is written: %v", q.addWritten(ctx, text, &g))
	}
	g.degrade("what only one index found is without the evidence of the other: %v", q.complete(ctx, vector, &g))
	for _, c := range g.candidates {
		c.Timely = g.times.timely(c.record)
	}
	q.holdDates(&g)
	isOwn := func(r store.Record) bool { return q.isOwn(r.Session, r.Time) }
	g.candidates = slices.DeleteFunc(g.candidates, func(c *candidate) bool { return isOwn(c.record) || slices.ContainsFunc(c.copies, isOwn) })
	return g, nil
}

// asked of the nearest chunks are compared with the language of a question.
const askedLanguages = 5

// isAcross reports whether the nearest chunks are all in another language than the question. One in
// its own is nearer for that alone, whatever it says, which Query.Across does not expect.
func (q *query) isAcross(question relevance.Query, near []store.Hit) bool {
	index, ok := q.index.keywords.(interface{ LanguageOf(text string) string })
	if !ok || len(near) == 0 || !question.FewHeld() {
		return false
	}
	near = near[:min(len(near), askedLanguages)]
	return !slices.ContainsFunc(near, func(hit store.Hit) bool {
		return index.LanguageOf(hit.Record.Text) == cmp.Or(question.Language, "en")
	})
}

func (g *gathered) degrade(format string, err error) {
	if err != nil {
		g.degraded = append(g.degraded, fmt.Sprintf(format, err))
	}
}

func questionOf(text string, matches store.Matches, chunks int, vectors bool) relevance.Query {
	question := relevance.Query{
		Text: text, Ceiling: matches.Ceiling, BestDocument: matches.BestDocument,
		Vectors: vectors, Chunks: chunks, Language: matches.Language,
	}
	for _, t := range matches.Terms {
		question.Words = append(question.Words, relevance.Word{Text: t.Word, Records: t.Records, Compound: t.Compound})
	}
	return question
}

func stopwatch(into *time.Duration) func() {
	started := time.Now()
	return func() { *into = time.Since(started) }
}

// vector returns nil, without error, if the memory has no vectors.
func (q *query) vector(ctx context.Context, text string, took *time.Duration) (_ []float32, note string, _ error) {
	switch {
	case q.m.options.Embedder == nil:
		return nil, "", nil
	case q.index.noVectors != nil:
		return nil, "", cmp.Or(q.m.tooNew(q.index.noVectors), q.index.noVectors)
	case q.index.vectors == nil:
		return nil, "", nil
	}
	if q.embedded != nil && q.embedded.text == text {
		return q.embedded.vector, q.embedded.note, nil
	}
	defer stopwatch(took)()
	timeout := q.m.options.embedTimeout(q.inTurn)
	inTime, stop := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("the query's embedding took longer than %v: %w", timeout, embed.ErrUnavailable))
	defer stop()
	vector, note, err := q.index.embedder.query(inTime, text)
	if err != nil && inTime.Err() != nil {
		return nil, "", context.Cause(inTime)
	}
	if err == nil && q.embedded != nil {
		*q.embedded = embeddedText{text, vector, note}
	}
	return vector, note, err
}

// An embeddedText is the last text that a query has embedded: its statements are asked for with the
// text of the question.
type embeddedText struct {
	text   string
	vector []float32
	note   string
}

// match returns the best matches of as many texts as there are to be candidates.
func (q *query) match(ctx context.Context, text string, f store.Filter) (found store.Matches, err error) {
	found.Hits, err = q.distinct(func(k int) (hits []store.Hit, err error) {
		found, err = q.index.keywords.Match(ctx, text, k, f)
		return found.Hits, err
	})
	return found, err
}

// nearest is match for vectors.
func (q *query) nearest(ctx context.Context, vector []float32, f store.Filter) ([]store.Hit, error) {
	return q.distinct(func(k int) ([]store.Hit, error) { return q.index.vectors.Nearest(ctx, vector, k, f) })
}

// maxAsked bounds the hits that are asked of an index for the sake of distinct texts.
const maxAsked = 64 * minCandidates

// distinct asks for hits until they have q.candidates texts: eighty copies of a session take one
// place, or the others would be compared with fewer, and what is not copied would be crowded out.
// The indexes have each copy, as only some may pass a filter.
func (q *query) distinct(ask func(k int) ([]store.Hit, error)) ([]store.Hit, error) {
	for k := q.candidates; ; k *= 4 {
		hits, err := ask(k)
		if err != nil {
			return hits, err
		}
		texts := map[string]bool{}
		for i, hit := range hits {
			if texts[hit.Record.Text] = true; len(texts) > q.candidates {
				return hits[:i], nil
			}
		}
		if len(hits) < k || len(texts) == q.candidates || k >= maxAsked {
			return hits, nil
		}
	}
}

// merge drops documents unknown to the manifest: half written or deleted. Of records with the same
// text and kind the newest is the candidate: what it says still held then.
func merge(known *manifest, matches, near []store.Hit) []*candidate {
	var all []*candidate
	byText := map[string]*candidate{}
	for _, hit := range slices.Concat(matches, near) {
		if _, ok := known.find(hit.Record.Path); !ok {
			continue
		}
		c, ok := byText[hit.Record.Text]
		if !ok {
			c = candidateOf(hit.Record)
			byText[hit.Record.Text] = c
			all = append(all, c)
			continue
		}
		c.join(hit.Record)
	}
	for i, hit := range matches {
		if c := byText[hit.Record.Text]; c != nil && c.ID == hit.Record.ID {
			c.setKeywords(hit.Score, hit.Document, hit.Held)
			c.keywordRank = i + 1
		}
	}
	for i, hit := range near {
		if c := byText[hit.Record.Text]; c != nil && c.ID == hit.Record.ID {
			c.setCosine(hit.Score)
			c.vectorRank = i + 1
		}
	}
	return all
}

// dropRepeated drops statements of turns that have another record, which says them, too.
func (q *query) dropRepeated(ctx context.Context, g *gathered) error {
	alone := map[string]map[string]bool{} // IDs of such statements that are not dropped, by document
	var failed error
	g.candidates = slices.DeleteFunc(g.candidates, func(c *candidate) bool {
		if c.record.Kind != KindStatement {
			return false
		}
		ids, known := alone[c.Path]
		if !known {
			records, err := q.index.keywords.Document(ctx, c.Path)
			failed = errors.Join(failed, err)
			ids = map[string]bool{}
			for _, r := range withoutRepeated(records) {
				ids[r.ID] = true
			}
			alone[c.Path] = ids
		}
		return !ids[c.ID]
	})
	return failed
}

// withoutRepeated leaves out the statements of turns that have another record.
func withoutRepeated(records []store.Record) []store.Record {
	begins := map[int]bool{}
	for _, r := range records {
		if r.Kind != KindStatement {
			begins[r.StartLine] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(records), func(r store.Record) bool { return r.Kind == KindStatement && begins[r.StartLine] })
}

// join adds a record with the same text. The first of equally new ones stays, by its place. A
// statement is no copy of another record.
func (c *candidate) join(r store.Record) {
	if (r.Kind == KindStatement) != (c.record.Kind == KindStatement) {
		if c.record.Kind == KindStatement {
			*c = *candidateOf(r)
		}
		return
	}
	if r.ID == c.ID || slices.ContainsFunc(c.copies, func(known store.Record) bool { return known.ID == r.ID }) {
		return
	}
	copies, was := c.copies, c.record
	if r.Kind == was.Kind && cmp.Or(was.Time.Compare(r.Time), cmp.Compare(r.Path, was.Path), cmp.Compare(r.StartLine, was.StartLine)) < 0 {
		*c = *candidateOf(r)
		r = was
	}
	c.copies = append(copies, r)
}

// complete asks each index about what only the other found. If the keyword index does not know it,
// the vector is outdated.
func (q *query) complete(ctx context.Context, vector []float32, g *gathered) error {
	var noBM25, noCosine []string
	for _, c := range g.candidates {
		if c.keywordRank == 0 {
			noBM25 = append(noBM25, c.ID)
		}
		if c.vectorRank == 0 {
			noCosine = append(noCosine, c.ID)
		}
	}
	var cosines map[string]float64
	var bm25 map[string]store.Score
	var keywordErr, vectorErr error
	if len(noBM25) > 0 && g.words {
		bm25, keywordErr = q.index.keywords.Scores(ctx, g.question.Text, noBM25)
	}
	if len(noCosine) > 0 && g.question.Vectors {
		cosines, vectorErr = q.index.vectors.Similarities(ctx, vector, noCosine)
	}
	for _, c := range g.candidates {
		if score, ok := bm25[c.ID]; ok {
			c.setKeywords(score.Record, score.Document, score.Held)
		}
		if cosine, ok := cosines[c.ID]; ok {
			c.setCosine(cosine)
		}
	}
	if g.words && keywordErr == nil {
		g.candidates = slices.DeleteFunc(g.candidates, func(c *candidate) bool {
			_, known := bm25[c.ID]
			return c.keywordRank == 0 && !known
		})
	}
	q.m.noteDamage(q.index, keywordErr, vectorErr)
	return errors.Join(keywordErr, vectorErr)
}
