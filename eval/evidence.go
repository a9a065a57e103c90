package eval

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/core/source"
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
	folder, err := os.MkdirTemp("", "memcore-eval-")
	if err != nil {
		return nil, fmt.Errorf("evaluate %s: %w", c.Name, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	documents := newCorpus(c.Documents)
	memory, err := open(ctx, []source.Source{documents}, folder)
	if err != nil {
		return nil, fmt.Errorf("evaluate %s: %w", c.Name, err)
	}
	defer func() { err = errors.Join(err, memory.Close()) }()
	indexed, err := memory.Index(ctx, core.IndexOptions{})
	if err == nil && indexed.Degraded != "" {
		err = errors.New(indexed.Degraded)
	}
	if err != nil {
		return nil, fmt.Errorf("evaluate %s: index: %w", c.Name, err)
	}
	documentRun := run{c: c, o: Options{Level: LevelDocument}, corpus: documents}
	sessionRun := run{c: c, o: Options{Level: LevelSession}, corpus: documents}
	for _, q := range questions {
		f := Found{Relevant: documentRun.judged(q), RelevantSessions: sessionRun.judged(q)}
		if f.Query, f.Candidates, err = memory.Evidence(ctx, q.Text); err != nil {
			return nil, fmt.Errorf("evaluate %s: query %s: %w", c.Name, q.ID, err)
		}
		for _, candidate := range f.Candidates {
			document, ok := documents.document(candidate.Path, candidate.Line)
			if !ok {
				return nil, fmt.Errorf("evaluate %s: %s line %d is no document of the collection", c.Name, candidate.Path, candidate.Line)
			}
			f.Units = append(f.Units, document)
			f.Sessions = append(f.Sessions, documents.session[document])
		}
		all = append(all, f)
	}
	return all, nil
}
