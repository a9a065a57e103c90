package sets

import (
	"context"
	"fmt"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/eval"
)

// A Found is what was retrieved for a question, before scoring.
type Found struct {
	Query      relevance.Query
	Candidates []relevance.Candidate
	Units      []string // the document that each candidate belongs to
	Sessions   []string // the session that each belongs to
	// Relevant are the answering documents, RelevantSessions their sessions.
	Relevant         map[string]int
	RelevantSessions map[string]int
}

// Evidence indexes a collection and asks questions, also of others.
func Evidence(ctx context.Context, open eval.Opener, c Collection, questions []Query) (all []Found, err error) {
	err = withMemory(ctx, open, c, func(m memory) error {
		for _, q := range questions {
			f, err := found(ctx, c, m, q)
			if err != nil {
				return fmt.Errorf("query %s: %w", q.ID, err)
			}
			all = append(all, f)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func found(ctx context.Context, c Collection, m memory, q Query) (f Found, err error) {
	f.Relevant = run{c: c, o: Options{Level: LevelDocument}, memory: m}.judged(q)
	f.RelevantSessions = run{c: c, o: Options{Level: LevelSession}, memory: m}.judged(q)
	if f.Query, f.Candidates, err = m.Evidence(ctx, q.Text, core.RetrieveOptions{Now: q.Now}); err != nil {
		return f, err
	}
	for _, candidate := range f.Candidates {
		document, ok := m.corpus.document(candidate.Path, candidate.Line)
		if !ok {
			return f, fmt.Errorf("%s line %d is no document of the collection", candidate.Path, candidate.Line)
		}
		f.Units = append(f.Units, document)
		f.Sessions = append(f.Sessions, m.corpus.session[document])
	}
	return f, nil
}
