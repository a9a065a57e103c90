package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/text/excerpt"
	"github.com/memcore/memcore/store"
)

// ErrNoConversation means that memory knows no conversation, or none of the name in
// SearchOptions.Session.
var ErrNoConversation = errors.New("memory has no such conversation")

// minSessionID is the length, in bytes, from which an agent's ID names a session within the name of
// the session's folder, which begins with the agent's name.
const minSessionID = 8

// isSession reports whether two names are of one session: a log has the agent's ID, and memcore's
// folder of the session is named after the agent and that ID.
func isSession(a, b string) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	return a == b || len(b) >= minSessionID && strings.HasSuffix(a, "-"+b)
}

// narrowToSessions leaves out all documents that are of no session, or not of the named one.
func (q *query) narrowToSessions() error {
	any := false
	for path, e := range q.index.manifest.all() {
		wanted := e.Kind == source.KindConversation || e.Session != ""
		if q.only != "" {
			wanted = e.Session != "" && isSession(e.Session, q.only)
		}
		if any = any || wanted; !wanted {
			q.filter.Not = append(q.filter.Not, path)
		}
	}
	switch {
	case any:
		return nil
	case q.only != "":
		return fmt.Errorf("search session %s: %w", q.only, ErrNoConversation)
	}
	return fmt.Errorf("search sessions: %w", ErrNoConversation)
}

const (
	// maxWritten limits the records that hold a query as it is written; the newest stay.
	maxWritten = 200
	// nearEnough and nearWithoutWords are the parts of a turn's threshold that a record without a
	// word of the query must reach in a search of sessions. The second one is for a query whose
	// words no record has.
	nearEnough       = 1.0 / 12
	nearWithoutWords = 0.3
)

// addWritten adds the records that hold the text as it is written, or with exact only these.
func (q *query) addWritten(ctx context.Context, text string, g *gathered) error {
	if !q.exact {
		text = strings.TrimSpace(text)
	}
	if strings.TrimSpace(text) == "" {
		g.candidates = nil
		return nil
	}
	wanted := excerpt.NewLiteral(text)
	var found []store.Record
	var paths []string
	for path, e := range q.index.manifest.all() {
		if q.filter.Passes(e.Scope, e.Kind, path) {
			paths = append(paths, path)
		}
	}
	err := q.index.eachOf(ctx, paths, func(_ string, records []store.Record) {
		switch {
		case q.stated():
			records = withoutRepeated(records)
		case q.filter.NotKind != "":
			records = withoutStatements(records)
		}
		for i, r := range records {
			whole := requestOf(r) + "\n" + r.Text // most requests are in no record of their own
			// A long message is cut into records of the same lines.
			if i+1 < len(records) && r.Kind == source.KindConversation && records[i+1].StartLine == r.StartLine {
				whole += " " + records[i+1].Text
			}
			if wanted.In(whole) >= 0 && q.filter.PassesAt(r.Time) {
				found = append(found, r)
			}
		}
	})
	if err != nil {
		return err
	}
	slices.SortFunc(found, func(a, b store.Record) int {
		if c := b.Time.Compare(a.Time); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	known := map[string]*candidate{}
	for _, c := range g.candidates {
		known[c.ID] = c
		for _, r := range c.copies {
			known[r.ID] = c
		}
	}
	if q.exact {
		g.candidates = nil
	}
	for _, r := range found[:min(len(found), maxWritten)] {
		c, ok := known[r.ID]
		if !ok {
			c = candidateOf(r)
		}
		if !c.written && (!ok || q.exact) {
			g.candidates = append(g.candidates, c)
		}
		c.written = true
	}
	return nil
}

// asNotes makes the evidence of turns that of documents of their own, as which the models of
// relevance judge them best when only the turns of sessions are compared.
func (g *gathered) asNotes() {
	g.question.BestDocument = 0
	for _, c := range g.candidates {
		c.Turn, c.Speaker, c.Path, c.Document, c.Near = false, "", c.ID, c.BM25, c.Holds
		g.question.BestDocument = max(g.question.BestDocument, c.BM25)
	}
}

// recalled drops ranked candidates that neither hold the query or a word of it nor are near, and
// puts those first that hold it as it is written. Those that hold a single word as a part of
// another one come after those that hold the word.
func (q *query) recalled(question relevance.Query, ranked []*candidate) []*candidate {
	byWords := slices.ContainsFunc(ranked, func(c *candidate) bool { return c.Holds != 0 })
	least := q.index.relevance.Threshold * nearEnough
	if !byWords {
		least = q.index.relevance.Threshold * nearWithoutWords
	}
	if len(question.Words) == 0 {
		least = 2 // a query without a word has no meaning: only what holds it is a hit
	}
	ranked = slices.DeleteFunc(ranked, func(c *candidate) bool { return !c.written && c.Holds == 0 && c.Score < least })
	oneWord := !strings.ContainsFunc(strings.TrimSpace(question.Text), func(r rune) bool { return r == '_' || !inWord(r) })
	order := func(c *candidate) int {
		switch {
		case oneWord && c.Holds != 0, !oneWord && c.written:
			return 0
		case c.written:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(ranked, func(a, b *candidate) int { return order(a) - order(b) })
	return ranked
}

func inWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}
