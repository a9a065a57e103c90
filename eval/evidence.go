package eval

import (
	"context"
	"errors"
	"fmt"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/relevance"
)

// A Found is what memory finds for a question, before it is scored.
type Found struct {
	Query      relevance.Query
	Candidates []relevance.Candidate
	Units      []string // the document that each candidate belongs to
	Sessions   []string // the session that each belongs to
	// Relevant are the documents that answer, RelevantSessions their sessions, and how well, above 0; none if it is unanswerable.
	Relevant         map[string]int
	RelevantSessions map[string]int
}

// Evidence indexes a collection into a folder it removes afterwards and asks questions, which need not be
// those of the collection.
func Evidence(ctx context.Context, open Opener, c Collection, questions []Query) (all []Found, err error) {
	err = withMemory(ctx, open, c, func(documents *corpus, memory *core.Manager) error {
		indexed, err := memory.Index(ctx, core.IndexOptions{})
		if err == nil && indexed.Degraded != "" {
			err = errors.New(indexed.Degraded)
		}
		if err != nil {
			return fmt.Errorf("index: %w", err)
		}
		for _, q := range questions {
			f, err := found(ctx, c, documents, memory, q)
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

func found(ctx context.Context, c Collection, documents *corpus, memory *core.Manager, q Query) (f Found, err error) {
	f.Relevant = run{c: c, o: Options{Level: LevelDocument}, corpus: documents}.judged(q)
	f.RelevantSessions = run{c: c, o: Options{Level: LevelSession}, corpus: documents}.judged(q)
	if f.Query, f.Candidates, err = memory.Evidence(ctx, q.Text); err != nil {
		return f, err
	}
	for _, candidate := range f.Candidates {
		document, ok := documents.document(candidate.Path, candidate.Line)
		if !ok {
			return f, fmt.Errorf("%s line %d is no document of the collection", candidate.Path, candidate.Line)
		}
		f.Units = append(f.Units, document)
		f.Sessions = append(f.Sessions, documents.session[document])
	}
	return f, nil
}
