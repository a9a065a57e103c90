package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
)

// Levels at which hits count.
const (
	LevelDocument = "document"
	LevelSession  = "session"
	LevelTurn     = "turn"  // the document, for collections whose documents are turns
	LevelChunk    = "chunk" // each hit by itself
)

// Levels lists them.
var Levels = []string{LevelDocument, LevelSession, LevelTurn, LevelChunk}

// Options say what to measure.
type Options struct {
	// K are the ranks of scores besides 10; nil means 1, 5, 10, 20, 50.
	K []int
	// Level is one of Levels; "" is LevelDocument. At LevelChunk each retrieved chunk of a relevant
	// document counts; without one, the document counts once.
	Level string
	// Progress, if set, is called after each collection, or after each case.
	Progress func(name string, done, total int)
}

// An Opener opens a memory of sources, indexed in folder. Freshness should be negative: collections
// do not change.
type Opener func(ctx context.Context, sources []source.Source, folder string) (*core.Manager, error)

const (
	// chunksPerResult is how many chunks to ask for: a document may have several.
	chunksPerResult = 3
	// turnHits is the most hits of a turn.
	turnHits = 8
)

func (o Options) withDefaults() (Options, error) {
	if len(o.K) == 0 {
		o.K = []int{1, 5, 10, 20, 50}
	}
	o.K = slices.Compact(slices.Sorted(slices.Values(append(slices.Clip(o.K), 10))))
	if o.K[0] < 1 {
		return o, fmt.Errorf("recall at rank %d, want at least 1", o.K[0])
	}
	o.Level = cmp.Or(o.Level, LevelDocument)
	if !slices.Contains(Levels, o.Level) {
		return o, fmt.Errorf("level is %q, want one of %q", o.Level, Levels)
	}
	return o, nil
}

// RunAll measures collections. On an error the report is partial.
func RunAll(ctx context.Context, open Opener, collections []Collection, o Options) (Report, error) {
	var all Report
	for i, c := range collections {
		one, err := Run(ctx, open, c, o)
		if len(one.Queries) > 0 || err == nil {
			all.add(one)
		}
		if err != nil {
			return all, err
		}
		if o.Progress != nil {
			o.Progress(c.Name, i+1, len(collections))
		}
	}
	return all, nil
}

// Run indexes a collection and asks its queries, except those neither judged nor unanswerable. On
// an error the report is partial.
func Run(ctx context.Context, open Opener, c Collection, o Options) (report Report, err error) {
	if o, err = o.withDefaults(); err != nil {
		return Report{}, err
	}
	err = withMemory(ctx, open, c, func(m memory) error {
		report, err = run{c: c, o: o, memory: m}.all(ctx)
		return err
	})
	return report, err
}

// A memory holds an indexed collection.
type memory struct {
	*core.Manager
	corpus  *corpus
	indexed core.IndexReport
}

// withMemory indexes a collection into a temporary folder for do.
func withMemory(ctx context.Context, open Opener, c Collection, do func(memory) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("evaluate %s: %w", c.Name, err)
		}
	}()
	folder, err := os.MkdirTemp("", "memcore-eval-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	m := memory{corpus: newCorpus(c.Documents)}
	if m.Manager, err = open(ctx, []source.Source{m.corpus}, folder); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	if m.indexed, err = m.Index(ctx, core.IndexOptions{}); err == nil && m.indexed.Degraded != "" {
		err = errors.New(m.indexed.Degraded)
	}
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	return do(m)
}

// run is one call of Run.
type run struct {
	c      Collection
	o      Options
	memory memory
}

func (r run) all(ctx context.Context) (report Report, err error) {
	indexed := r.memory.indexed
	result := Result{Name: r.c.Name, Documents: len(r.c.Documents), Chunks: indexed.Chunks, Undated: len(r.c.Undated), Index: indexed.Took}
	for _, q := range r.c.Queries {
		judged := r.judged(q)
		if len(judged) == 0 && !q.Unanswerable() {
			continue
		}
		asked, failed := r.ask(ctx, q, judged)
		if failed != nil {
			err = fmt.Errorf("query %s: %w", q.ID, failed)
			break
		}
		result.asked = append(result.asked, asked)
	}
	report = Report{K: r.o.K, Level: r.o.Level}
	report.collect(result)
	return report, err
}

// judged returns the documents or sessions that answer a query. Judgments of unanswerable queries
// only mark distractors.
func (r run) judged(q Query) map[string]int {
	judged := map[string]int{}
	if q.Unanswerable() {
		return judged
	}
	for document, relevance := range r.c.Judgments[q.ID] {
		unit := r.unit(document)
		judged[unit] = max(judged[unit], relevance)
	}
	return judged
}

func (r run) unit(document string) string {
	if r.o.Level == LevelSession {
		return r.memory.corpus.session[document]
	}
	return document
}

// ask asks one query.
func (r run) ask(ctx context.Context, q Query, relevant map[string]int) (Asked, error) {
	a := Asked{Collection: r.c.Name, ID: q.ID, Text: q.Text, Answerable: len(relevant) > 0, Relevant: relevant}
	judged := relevant
	if r.o.Level == LevelChunk {
		a.Relevant = map[string]int{}
	}
	found := map[string]bool{}
	of := func(hit core.MemoryHit, isHit bool) ([]string, error) {
		document, ok := r.memory.corpus.document(hit.Path, hit.StartLine)
		if !ok {
			return nil, fmt.Errorf("hit %s is no document of the collection", hit.Source)
		}
		names := []string{r.unit(document)}
		if r.o.Level == LevelChunk {
			chunk := document + " " + hit.ID
			if isHit && judged[document] > 0 {
				a.Relevant[chunk], found[document] = judged[document], true
			}
			if isHit || a.Relevant[chunk] > 0 {
				names[0] = chunk
			}
		}
		for _, same := range hit.Also {
			if document, ok := r.memory.corpus.cited(same); ok {
				names = append(names, r.unit(document))
			}
		}
		return relevantOr(names, judged, a.Relevant), nil
	}
	err := a.ask(ctx, r.memory.Manager, r.o, q.Now,
		func(hit core.MemoryHit) ([]string, error) { return of(hit, true) },
		func(hit core.MemoryHit) ([]string, error) { return of(hit, false) })
	for document, relevance := range judged {
		if r.o.Level == LevelChunk && !found[document] {
			a.Relevant[document] = relevance
		}
	}
	return a, err
}

// A countsAs returns the names that a hit counts as.
type countsAs func(core.MemoryHit) ([]string, error)

// relevantOr returns the relevant names, each once, or else the first name.
func relevantOr(names []string, documents, units map[string]int) []string {
	var relevant []string
	for _, name := range names {
		if (documents[name] > 0 || units[name] > 0) && !slices.Contains(relevant, name) {
			relevant = append(relevant, name)
		}
	}
	if len(relevant) == 0 {
		return names[:1]
	}
	return relevant
}

// ask asks as a turn, as a search, and for a turn's candidates. None counts as use. of names hits,
// candidate candidates.
func (a *Asked) ask(ctx context.Context, memory *core.Manager, o Options, now time.Time, of, candidate countsAs) error {
	turn := core.RetrieveOptions{Unrecorded: true, Now: now}
	search := core.SearchOptions{Unrecorded: true, Now: now, Limit: chunksPerResult * o.K[len(o.K)-1], Explain: true}
	started := time.Now()
	given, err := memory.RetrieveRelevant(ctx, a.Text, turn)
	a.Took = time.Since(started)
	if err != nil {
		return err
	}
	if a.Injected, _, err = units(given.Hits, of); err != nil {
		return err
	}
	for _, hit := range given.Hits {
		a.Tokens += hit.TokenEstimate
	}
	result, err := memory.Search(ctx, a.Text, search)
	if err != nil {
		return err
	}
	if len(result.Degraded) > 0 {
		return fmt.Errorf("answered in part: %v", result.Degraded)
	}
	if a.Found, a.FoundScores, err = units(result.Hits, of); err != nil {
		return err
	}
	for i, hit := range result.Hits {
		a.Best = max(a.Best, hit.Score)
		names, _ := of(hit)
		if i < topHits {
			a.Top = append(a.Top, topOf(hit, names))
		}
		if i < turnHits && slices.ContainsFunc(names, func(name string) bool { return a.Relevant[name] > 0 }) {
			a.BestTrue = max(a.BestTrue, hit.Score)
		}
	}
	turn.Explain = true
	if given, err = memory.RetrieveRelevant(ctx, a.Text, turn); err != nil {
		return err
	}
	a.Candidates, _, err = units(append(given.Hits, given.Rejected...), candidate)
	return err
}

// units returns the names of hits, each once, with their best scores.
func units(hits []core.MemoryHit, of countsAs) (all []string, scores []float64, err error) {
	all = []string{}
	seen := map[string]bool{}
	for _, hit := range hits {
		names, err := of(hit)
		if err != nil {
			return nil, nil, err
		}
		for _, name := range names {
			if !seen[name] {
				seen[name] = true
				all, scores = append(all, name), append(scores, hit.Score)
			}
		}
	}
	return all, scores, nil
}
