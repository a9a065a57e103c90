package sets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/eval"
)

// Levels at which hits count.
const (
	LevelDocument = "document"
	LevelSession  = "session"
)

// Levels lists them.
var Levels = []string{LevelDocument, LevelSession}

// Options say what to measure.
type Options struct {
	eval.Options
	// Level is one of Levels; "" is LevelDocument.
	Level string
}

func (o Options) withDefaults() (Options, error) {
	var err error
	if o.Options, err = o.WithDefaults(); err != nil {
		return o, err
	}
	o.Level = cmp.Or(o.Level, LevelDocument)
	if !slices.Contains(Levels, o.Level) {
		return o, fmt.Errorf("level is %q, want one of %q", o.Level, Levels)
	}
	return o, nil
}

// RunAll measures collections: it indexes each and asks its queries, except those neither judged
// nor unanswerable. On an error the report is partial.
func RunAll(ctx context.Context, open eval.Opener, collections []Collection, o Options) (report eval.Report, err error) {
	if o, err = o.withDefaults(); err != nil {
		return report, err
	}
	report.K, report.Level = o.K, o.Level
	for i, c := range collections {
		err := withMemory(ctx, open, c, func(m memory) error {
			result, asked, err := run{c: c, o: o, memory: m}.all(ctx)
			report.Add(result, asked)
			return err
		})
		if err != nil {
			return report, err
		}
		if o.Progress != nil {
			o.Progress(c.Name, i+1, len(collections))
		}
	}
	return report, nil
}

// Run measures one collection.
func Run(ctx context.Context, open eval.Opener, c Collection, o Options) (eval.Report, error) {
	return RunAll(ctx, open, []Collection{c}, o)
}

// A memory holds an indexed collection.
type memory struct {
	*core.Manager
	corpus  *corpus
	indexed core.IndexReport
}

// withMemory indexes a collection into a temporary folder for do.
func withMemory(ctx context.Context, open eval.Opener, c Collection, do func(memory) error) (err error) {
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

// run measures one collection.
type run struct {
	c      Collection
	o      Options
	memory memory
}

func (r run) all(ctx context.Context) (result eval.Result, all []eval.Asked, err error) {
	indexed := r.memory.indexed
	result = eval.Result{Name: r.c.Name, Documents: len(r.c.Documents), Chunks: indexed.Chunks, Index: indexed.Took}
	for _, q := range r.c.Queries {
		judged := r.judged(q)
		if len(judged) == 0 && !q.Unanswerable() {
			continue
		}
		asked, err := r.ask(ctx, q, judged)
		if err != nil {
			return result, all, fmt.Errorf("query %s: %w", q.ID, err)
		}
		all = append(all, asked)
	}
	return result, all, nil
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
func (r run) ask(ctx context.Context, q Query, relevant map[string]int) (eval.Asked, error) {
	a := eval.Asked{Collection: r.c.Name, ID: q.ID, Text: q.Text, Answerable: len(relevant) > 0, Relevant: relevant}
	of := func(hit core.MemoryHit) ([]string, error) {
		document, ok := r.memory.corpus.document(hit.Path, hit.StartLine)
		if !ok {
			return nil, fmt.Errorf("hit %s is no document of the collection", hit.Source)
		}
		names := []string{r.unit(document)}
		for _, same := range hit.Also {
			if document, ok := r.memory.corpus.cited(same); ok {
				names = append(names, r.unit(document))
			}
		}
		return relevantOr(names, relevant), nil
	}
	return a, a.Ask(ctx, r.memory.Manager, r.o.Options, q.Now, of, of)
}

// relevantOr returns the relevant names, each once, or else the first name.
func relevantOr(names []string, relevant map[string]int) []string {
	var all []string
	for _, name := range names {
		if relevant[name] > 0 && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	if len(all) == 0 {
		return names[:1]
	}
	return all
}
