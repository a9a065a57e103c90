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

// Levels at which hits are compared with judgments.
const (
	LevelDocument = "document"
	LevelSession  = "session"
	LevelTurn     = "turn"  // the document, for collections whose documents are turns
	LevelChunk    = "chunk" // each hit by itself
)

// Levels are all of them.
var Levels = []string{LevelDocument, LevelSession, LevelTurn, LevelChunk}

// Options say what is measured.
type Options struct {
	// K are the ranks at which scores are taken; nil means 1, 5, 10, 20 and 50. 10 is always among them.
	K []int
	// Level is one of Levels; "" is LevelDocument. At LevelSession a document counts as the session it
	// belongs to. At LevelChunk each chunk of a judged document is relevant, as far as memory finds it at all: how many
	// a document is cut into is not for the questions to know. A judged document of which none is found counts as one.
	Level string
	// Progress, if set, is called after each collection.
	Progress func(name string, done, total int)
	// Asked, if set, is called after each question of a collection with how many of it were asked.
	Asked func(done int)
}

// An Opener opens a memory of sources whose index is in folder. Its Freshness should be negative:
// a collection does not change.
type Opener func(ctx context.Context, sources []source.Source, folder string) (*core.Manager, error)

const (
	// chunksPerResult is how many chunks are asked for, for each result that is wanted: several may
	// belong to one document.
	chunksPerResult = 3
	// turnHits is how many hits a turn of an agent gets at most.
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

// RunAll runs each collection and returns them as one report, with means over all queries. If it is
// cut off, the report has what was asked until then, beside the error.
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

// Run indexes a collection into a folder it removes afterwards and asks its queries, one after the
// other. Queries that have no judgment and are not known to be unanswerable are left out. If it is
// cut off, the report has what was asked until then, beside the error.
func Run(ctx context.Context, open Opener, c Collection, o Options) (report Report, err error) {
	if o, err = o.withDefaults(); err != nil {
		return Report{}, err
	}
	err = withMemory(ctx, open, c, func(documents *corpus, memory *core.Manager) error {
		report, err = run{c: c, o: o, corpus: documents, memory: memory}.all(ctx)
		return err
	})
	return report, err
}

// withMemory opens a memory of a collection's documents, in a folder it removes afterwards, and does something with it.
func withMemory(ctx context.Context, open Opener, c Collection, do func(*corpus, *core.Manager) error) (err error) {
	folder, err := os.MkdirTemp("", "memcore-eval-")
	if err != nil {
		return fmt.Errorf("evaluate %s: %w", c.Name, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	documents := newCorpus(c.Documents)
	memory, err := open(ctx, []source.Source{documents}, folder)
	if err != nil {
		return fmt.Errorf("evaluate %s: %w", c.Name, err)
	}
	defer func() { err = errors.Join(err, memory.Close()) }()
	if err := do(documents, memory); err != nil {
		return fmt.Errorf("evaluate %s: %w", c.Name, err)
	}
	return nil
}

// run is one call of Run.
type run struct {
	c      Collection
	o      Options
	corpus *corpus
	memory *core.Manager
}

func (r run) all(ctx context.Context) (Report, error) {
	indexed, err := r.memory.Index(ctx, core.IndexOptions{})
	if err != nil {
		return Report{}, err
	}
	if indexed.Degraded != "" {
		return Report{}, fmt.Errorf("index: %s", indexed.Degraded)
	}
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
		if result.asked = append(result.asked, asked); r.o.Asked != nil {
			r.o.Asked(len(result.asked))
		}
	}
	report := Report{K: r.o.K, Level: r.o.Level}
	report.collect(result)
	return report, err
}

// judged are the documents or sessions that answer a query. What is marked unanswerable has none,
// whatever is judged: there the judgments name what misleads.
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
		return r.corpus.session[document]
	}
	return document
}

// ask asks one query of the collection.
func (r run) ask(ctx context.Context, q Query, relevant map[string]int) (Asked, error) {
	a := Asked{Collection: r.c.Name, ID: q.ID, Text: q.Text, Answerable: len(relevant) > 0, Relevant: relevant}
	judged := relevant
	if r.o.Level == LevelChunk {
		a.Relevant = map[string]int{}
	}
	found := map[string]bool{}
	of := func(hit core.MemoryHit, isHit bool) ([]string, error) {
		document, ok := r.corpus.document(hit.Path, hit.StartLine)
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
			if document, ok := r.corpus.cited(same); ok {
				names = append(names, r.unit(document))
			}
		}
		return relevantOr(names, judged, a.Relevant), nil
	}
	err := a.ask(ctx, r.memory, r.o, q.Now,
		func(hit core.MemoryHit) ([]string, error) { return of(hit, true) },
		func(hit core.MemoryHit) ([]string, error) { return of(hit, false) })
	for document, relevance := range judged {
		if r.o.Level == LevelChunk && !found[document] {
			a.Relevant[document] = relevance
		}
	}
	return a, err
}

// countsAs returns the names of what a hit counts as.
type countsAs func(core.MemoryHit) ([]string, error)

// relevantOr are those of a hit's names that are relevant by one of both, each once: a hit stands
// for all that was folded into it. If none is, it is its own, the first.
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

// ask asks as a turn does, then as one who searches, then for what a turn chooses from. Of returns
// what a hit counts as, candidate what one does that may not have been a hit. Nothing of it counts
// as use of what is found. Now is when the question is asked.
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

// units are what hits count as, in order, each once, with the score of its best hit.
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
