package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/store"
)

// RetrieveRelevant returns the relevant hits for a user's prompt, best first. After an error it
// returns no hits and logs the error, unless ctx was cancelled.
func (m *Manager) RetrieveRelevant(ctx context.Context, request string, options RetrieveOptions) (Result, error) {
	result, err := both{m}.ask(ctx, request, m.forTurn(options), func(ctx context.Context, text string) (Result, error) {
		o := options
		o.Path = strings.TrimPrefix(o.Path, RemotePath)
		return m.options.Remote.Retrieve(ctx, text, o)
	})
	if err != nil {
		if ctx.Err() == nil {
			m.log.Warn("memory retrieval failed", "error", err)
		}
		result.Hits, result.Rejected, result.Withheld = nil, nil, nil
	}
	return result, err
}

// Search returns the best hits for a query, also weak ones.
func (m *Manager) Search(ctx context.Context, query string, options SearchOptions) (Result, error) {
	return both{m}.ask(ctx, query, forSearch(options), func(ctx context.Context, text string) (Result, error) {
		o := options
		o.Path = strings.TrimPrefix(o.Path, RemotePath)
		return m.options.Remote.Search(ctx, text, o)
	})
}

// Threshold is a first hit's default least score, in (0, 1].
func (m *Manager) Threshold() float64 { return m.relevance.Threshold }

// A selection is RetrieveOptions or SearchOptions with defaults filled in.
type selection struct {
	filter      store.Filter
	session     string // omit its turns since sessionFrom; "" omits none
	sessionFrom time.Time
	decides     bool            // whether to return anything at all; else the threshold decides alone
	inTurn      bool            // for an agent's turn, not a search
	has         []string        // documents that the context has, by path or file
	given       map[string]bool // keys of what the conversation was given
	lines       int             // of a list; 0 for none
	unrecorded  bool            // a Remote is not asked
	threshold   float64         // negative is none
	sparing     bool            // after the first hit, add only hits worth their place; threshold is for the first
	candidates  int
	limit       int
	budget      int // in tokens; negative is none
	explain     bool
	now         time.Time
	judge       judge  // looks for injections in hits; nil is off
	withhold    bool   // leave out hits with injections
	asked       words  // of the question: a conversation that repeats it is no hit; nil is off
	recalls     bool   // look only in sessions, also for the text as it is written
	only        string // look only in the session with this name; "" is all
	exact       bool   // return only what holds the text as it is written
}

const (
	minCandidates      = 50 // of each index
	defaultHits        = 8
	defaultTokenBudget = 600
	defaultSearchLimit = 10
)

func (m *Manager) forTurn(o RetrieveOptions) selection {
	given := make(map[string]bool, len(o.Given))
	for _, key := range o.Given {
		given[key] = true
	}
	return selection{
		given: given,
		filter: store.Filter{Scope: o.Scope, Kind: o.Kind, NotKind: unasked(o.Kind), Path: strings.TrimSuffix(o.Path, "/"),
			Since: o.Since, Until: o.Until, Not: o.Not},
		session: o.Session, sessionFrom: o.SessionFrom,
		decides:    o.MinSimilarity == 0,
		inTurn:     true,
		has:        o.Has,
		lines:      min(o.Lines, MaxLines),
		unrecorded: o.Unrecorded,
		threshold:  cmp.Or(o.MinSimilarity, m.relevance.Threshold),
		sparing:    o.MinSimilarity == 0,
		candidates: minCandidates,
		limit:      cmp.Or(o.Limit, defaultHits),
		budget:     cmp.Or(o.TokenBudget, defaultTokenBudget),
		explain:    o.Explain,
		now:        cmp.Or(o.Now, time.Now()),
	}
}

func forSearch(o SearchOptions) selection {
	limit := cmp.Or(o.Limit, defaultSearchLimit)
	notKind := unasked(o.Kind)
	if o.Stated && o.Kind == "" {
		notKind = ""
	}
	return selection{
		filter: store.Filter{Scope: o.Scope, Kind: o.Kind, NotKind: notKind, Path: strings.TrimSuffix(o.Path, "/"),
			Since: o.Since, Until: o.Until},
		unrecorded: o.Unrecorded,
		recalls:    o.Sessions || o.Session != "",
		only:       o.Session,
		exact:      o.Exact,
		threshold:  cmp.Or(o.MinSimilarity, -1),
		candidates: max(minCandidates, 2*limit),
		limit:      limit,
		budget:     -1,
		explain:    o.Explain,
		now:        cmp.Or(o.Now, time.Now()),
	}
}

// stated reports whether statements are found beside other records.
func (s selection) stated() bool { return s.filter.Kind == "" && s.filter.NotKind == "" }

// unasked is the kind that a search leaves out: statements unless it asks for them.
func unasked(kind string) string {
	if kind == KindStatement {
		return ""
	}
	return KindStatement
}

var ErrOption = errors.New("option out of range")

func (s selection) check() error {
	switch f := s.filter; {
	case f.Scope != "" && f.Scope != ScopeProject && f.Scope != ScopeGlobal:
		return fmt.Errorf("scope is %q, want %q, %q or nothing: %w", f.Scope, ScopeProject, ScopeGlobal, ErrOption)
	case f.Kind != "" && f.Kind != KindStatement && !slices.Contains(source.Kinds, f.Kind):
		return fmt.Errorf("kind is %q, want one of %q or nothing: %w", f.Kind, source.Kinds, ErrOption)
	case !f.Since.IsZero() && !f.Until.IsZero() && !f.Since.Before(f.Until):
		return fmt.Errorf("since is %s and until %s, want since before until: %w", f.Since.Format(time.RFC3339), f.Until.Format(time.RFC3339), ErrOption)
	case !(s.threshold <= 1):
		return fmt.Errorf("minimum similarity is %g, want at most 1: %w", s.threshold, ErrOption)
	case s.limit < 0:
		return fmt.Errorf("limit is %d, want at least 1: %w", s.limit, ErrOption)
	}
	return nil
}

// isOwn reports whether the asking session's context has what was said in a session at a time.
func (s selection) isOwn(session string, at time.Time) bool {
	return s.session != "" && session != "" && isSession(session, s.session) && !at.Before(s.sessionFrom)
}

// A query is one question to one snapshot.
type query struct {
	selection
	m     *Manager
	index snapshot
	took  map[string]time.Duration // by stage

	embedded *embeddedText // may be nil
}

// askIndex answers a text and says how far to trust that. It returns the selection as the text
// narrows it.
func (m *Manager) askIndex(ctx context.Context, text string, s selection) (result Result, _ selection, err error) {
	started := time.Now()
	result = Result{Hits: []MemoryHit{}, Threshold: max(s.threshold, 0), Took: map[string]time.Duration{}}
	defer func() { result.Took["total"] = time.Since(started) }()
	if err := cmp.Or(s.check(), ctx.Err()); err != nil {
		return result, s, err
	}
	stale, unlisted := m.freshen(ctx, result.Took)
	result.Stale = stale
	index, err := m.acquire(ctx)
	result.State = stateOf(err)
	if result.State == StateMissing {
		return result, s, nil
	}
	if err != nil {
		return result, s, cmp.Or(m.tooNew(err), fmt.Errorf("open index %s: %w", m.options.Folder, err))
	}
	defer index.release()
	if index.former && s.sparing { // the default of another model
		s.threshold = index.relevance.Threshold
		result.Threshold = s.threshold
	}
	if !index.manifest.Complete {
		result.State = StateBuilding
	}
	if strings.TrimSpace(text) == "" {
		return result, s, nil
	}
	unheard := m.unheard(index.manifest)
	if len(unheard) > maxUnheard {
		result.Stale = &Staleness{Files: len(unheard), Reason: "they are read again, since something was forgotten"}
		return result, s, nil
	}
	s.filter.Not = slices.Concat(s.filter.Not, index.manifest.inFolders(s.filter.Not), unheard)
	s.has = slices.Concat(s.has, index.manifest.inFolders(s.has), index.manifest.pathsOf(s.has))
	q := &query{selection: s, m: m, index: index, took: result.Took, embedded: &embeddedText{}}
	if s.recalls {
		if err := q.narrowToSessions(); err != nil {
			return result, s, err
		}
	}
	if err := cmp.Or(q.answer(ctx, text, &result), ctx.Err()); err != nil {
		return result, s, err
	}
	s = q.selection
	result.Threshold = max(s.threshold, 0)
	for _, hits := range [][]MemoryHit{result.Hits, result.Rejected, result.Withheld} {
		for i, hit := range hits {
			hits[i].Gone = index.manifest.of(hit.Path).Gone
		}
	}
	for i, said := range result.Said {
		result.Said[i].Gone = index.manifest.of(said.Path).Gone
	}
	for i, line := range result.Lines {
		result.Lines[i].Gone = index.manifest.of(line.Path).Gone
	}
	for _, why := range unlisted {
		result.Degraded = append(result.Degraded, "a source cannot be read, so hits from it may be out of date: "+why)
	}
	return result, s, nil
}

// answer gathers candidates, ranks them and chooses the hits.
func (q *query) answer(ctx context.Context, text string, result *Result) error {
	var t *turn
	if q.decides {
		if t = turnOf(text); t.silence != "" {
			result.Silence = t.silence
			return nil
		}
		text = t.text
	}
	found, err := q.gather(ctx, text)
	if err != nil {
		return err
	}
	if q.inTurn {
		found.candidates = slices.DeleteFunc(found.candidates, q.isRemark)
	}
	result.Degraded, result.Unembedded = found.degraded, found.unembedded
	if q.explain {
		result.Why = q.why(found)
	}
	if q.inTurn {
		q.fetchDigests(ctx, found.candidates)
	}
	ranked := found.candidates
	if t != nil {
		ranked = q.answerTurn(t, found)
	} else {
		if q.recalls {
			found.asNotes()
		}
		q.rank(found)
	}
	if q.recalls {
		ranked = q.recalled(found.question, ranked)
	}
	asked := t
	if q.inTurn {
		if asked == nil { // somebody asks on purpose
			asked = turnOf(text)
			asked.silence = ""
		}
		ranked = before(q.findIntended(ctx, asked), ranked)
		q.asked = wordsOf(text)
	}
	admitTimely(ranked, found.times)
	q.judgeHits()
	for _, c := range ranked {
		c.had = slices.ContainsFunc(append([]store.Record{c.record}, c.copies...), func(r store.Record) bool {
			return slices.Contains(q.has, r.Path) || q.given[r.ID]
		}) || len(q.given) > 0 && q.isTold(ctx, found.question, c)
	}
	chosen := choose(ranked, found.question.Chunks, q.selection)
	result.Hits, result.Rejected, result.Withheld = chosen.hits, chosen.rejected, chosen.withheld
	q.addReplies(ctx, result.Hits)
	q.addStates(ctx, result.Hits, ranked)
	for i := range result.Hits {
		if branch := q.index.manifest.of(result.Hits[i].Path).Branch; q.judge == nil || !q.judge(&MemoryHit{Branch: branch}).Flagged {
			result.Hits[i].Branch = branch
		}
		if q.stated() && result.Hits[i].Kind == KindStatement {
			result.Hits[i].Kind = source.KindConversation
		}
	}
	if t != nil && len(result.Hits)+len(result.Withheld) == 0 {
		result.Silence = t.whySilent(ranked, chosen.had)
	}
	if q.inTurn && q.filter.Kind != source.KindMarkdown && q.filter.Kind != source.KindDocument {
		stated, degraded := q.said(ctx, asked)
		result.Said = stated.said
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for _, why := range degraded {
			if !slices.Contains(result.Degraded, why) {
				result.Degraded = append(result.Degraded, why)
			}
		}
		q.putLaterWords(ctx, result, &stated)
		result.sayOnce(found.question, ranked, stated.had)
		if t != nil {
			result.Lines = q.listLines(ctx, t, found.question, ranked, stated, *result)
		}
	}
	return nil
}

// fetchDigests reads what the answer to a turn may need, at once where each reading takes time. A
// failure is met again.
func (q *query) fetchDigests(ctx context.Context, all []*candidate) {
	var paths []string
	for _, c := range all {
		paths = append(paths, c.Path)
		for _, r := range c.copies {
			paths = append(paths, r.Path)
		}
	}
	_, _ = q.index.fetchDigests(ctx, paths)
}

// before puts candidates before others, without repeating them.
func before(first, others []*candidate) []*candidate {
	if len(first) == 0 {
		return others
	}
	return slices.Concat(first, slices.DeleteFunc(others, func(c *candidate) bool {
		return slices.ContainsFunc(first, func(f *candidate) bool { return f.ID == c.ID })
	}))
}
