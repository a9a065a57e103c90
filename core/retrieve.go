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
	"github.com/memcore/memcore/internal/secret"
	"github.com/memcore/memcore/store"
)

// RetrieveRelevant returns what is worth knowing for a request (the text of the user's turn), best
// first. It never fails a turn: on an error it logs, and the Result has no hits; the error is
// returned as well for those who want it. A cancelled ctx gives no hits at once, and no log.
func (m *Manager) RetrieveRelevant(ctx context.Context, request string, options RetrieveOptions) (Result, error) {
	result, err := m.query(ctx, request, m.forTurn(options))
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
	return m.query(ctx, query, forSearch(options))
}

// Threshold is the least score that a turn's hits have by default, in (0, 1].
func (m *Manager) Threshold() float64 { return m.relevance.Threshold }

// A selection is what RetrieveOptions and SearchOptions have in common, defaults filled in.
type selection struct {
	filter     store.Filter
	decides    bool    // whether to speak at all; else the threshold alone does
	unshown    bool    // leave out what the static layer has given
	unrecorded bool    // hits do not count as used
	threshold  float64 // negative is none
	sparing    bool    // take no more than is worth its place; threshold is then that of the first hit only
	candidates int
	limit      int
	budget     int // negative is none
	explain    bool
	now        time.Time
	halfLife   time.Duration // of scores; 0 is for ever
	diversity  float64       // weight of likeness, in [0, 1)
	judge      judge         // of texts that would be hits; nil is not to
	withhold   bool          // what is suspicious
	asked      words         // of the question, whose repetition in a conversation says nothing; nil is not to look
}

const (
	defaultCandidates  = 50
	defaultHits        = 8
	defaultTokenBudget = 600
	defaultSearchLimit = 10
)

func (m *Manager) forTurn(o RetrieveOptions) selection {
	return selection{
		sparing: o.MinSimilarity == 0, // else the caller says what is enough
		filter: store.Filter{Scope: o.Scope, Kind: o.Kind, Path: strings.TrimSuffix(o.Path, "/"), Since: o.Since, Until: o.Until,
			Not: slices.Clone(o.Not)},
		now:        orNow(o.Now),
		unshown:    true,
		decides:    o.MinSimilarity == 0,
		unrecorded: o.Unrecorded,
		threshold:  or(o.MinSimilarity, m.relevance.Threshold),
		candidates: or(o.TopK, defaultCandidates),
		limit:      or(o.Limit, defaultHits),
		budget:     or(o.TokenBudget, defaultTokenBudget),
		explain:    o.Explain,
		halfLife:   o.HalfLife,
		diversity:  o.Diversity,
	}
}

func forSearch(o SearchOptions) selection {
	limit := or(o.Limit, defaultSearchLimit)
	return selection{
		filter:     store.Filter{Scope: o.Scope, Kind: o.Kind, Path: strings.TrimSuffix(o.Path, "/"), Since: o.Since, Until: o.Until},
		unrecorded: o.Unrecorded,
		now:        orNow(o.Now),
		threshold:  or(o.MinSimilarity, -1),
		candidates: max(defaultCandidates, 2*limit),
		limit:      limit,
		budget:     -1,
		explain:    o.Explain,
	}
}

func orNow(t time.Time) time.Time {
	if t.IsZero() {
		return time.Now()
	}
	return t
}

func or[T int | float64 | time.Duration](value, otherwise T) T {
	if value == 0 {
		return otherwise
	}
	return value
}

// Errors of bad options; test with errors.Is.
var ErrOption = errors.New("option out of range")

func (s selection) check() error {
	switch {
	case s.filter.Scope != "" && s.filter.Scope != ScopeProject && s.filter.Scope != ScopeGlobal:
		return fmt.Errorf("scope is %q, want %q, %q or nothing: %w", s.filter.Scope, ScopeProject, ScopeGlobal, ErrOption)
	case s.filter.Kind != "" && s.filter.Kind != source.KindMarkdown && s.filter.Kind != source.KindConversation:
		return fmt.Errorf("kind is %q, want %q, %q or nothing: %w", s.filter.Kind, source.KindMarkdown, source.KindConversation, ErrOption)
	case !s.filter.Since.IsZero() && !s.filter.Until.IsZero() && !s.filter.Since.Before(s.filter.Until):
		return fmt.Errorf("since is %s and until %s, want since before until: %w", s.filter.Since.Format(time.RFC3339), s.filter.Until.Format(time.RFC3339), ErrOption)
	case s.threshold > 1:
		return fmt.Errorf("minimum similarity is %g, want at most 1: %w", s.threshold, ErrOption)
	case s.limit < 0:
		return fmt.Errorf("limit is %d, want at least 1: %w", s.limit, ErrOption)
	case s.halfLife < 0:
		return fmt.Errorf("half-life is %v, want it above 0, or 0 for none: %w", s.halfLife, ErrOption)
	case !(s.diversity >= 0 && s.diversity < 1):
		return fmt.Errorf("diversity is %g, want at least 0 and below 1: %w", s.diversity, ErrOption)
	case s.candidates < 0:
		return fmt.Errorf("topK is %d, want at least 1: %w", s.candidates, ErrOption)
	}
	return nil
}

// query is the road from a text to hits: fold in, gather, fuse, select.
func (m *Manager) query(ctx context.Context, text string, s selection) (Result, error) {
	started := time.Now()
	result := Result{Hits: []MemoryHit{}, Threshold: max(s.threshold, 0), Took: map[string]time.Duration{}}
	defer func() { result.Took["total"] = time.Since(started) }()
	if err := s.check(); err != nil {
		return result, err
	}
	if err := ctx.Err(); err != nil {
		return result, err
	}
	result.Stale = m.freshen(ctx, result.Took)
	current, err := m.acquire(ctx)
	result.State = stateOf(err)
	if result.State == StateMissing {
		return result, nil
	}
	if err != nil {
		return result, cmp.Or(m.tooNew(err), fmt.Errorf("open index %s: %w", m.options.Folder, err))
	}
	defer current.release()
	if !current.manifest.Complete {
		result.State = StateBuilding
	}
	if strings.TrimSpace(text) == "" {
		return result, nil
	}
	if s.unshown {
		s.filter.Not = append(s.filter.Not, m.shownPaths(current.manifest)...)
	}
	var turn *turn
	if s.decides {
		if turn = turnOf(text); turn.silence != "" {
			result.Silence = turn.silence
			return result, nil
		}
		text = turn.text
	}
	g := m.gather(ctx, current, text, s, result.Took)
	if g.err != nil {
		return result, g.err
	}
	result.Degraded = g.degraded
	result.Unembedded = g.unembedded
	var ranked []scored
	if turn != nil {
		ranked = m.answerTurn(ctx, current, m.turns, turn, &s, g)
	} else {
		ranked = m.rank(text, g)
	}
	if s.explain {
		result.Why = m.why(text, g)
		if !m.options.KeepSecrets {
			if clean, found := secret.Redact(text); len(found) > 0 && clean != text {
				result.Why = "" // it would name words of what is secret
			}
		}
	}
	if note := m.rerank(ctx, text, ranked, result.Took); note != "" {
		if ctx.Err() != nil {
			return result, ctx.Err()
		}
		result.Degraded = append(result.Degraded, note)
	}
	admitTimely(ranked, g.times)
	decay(ranked, s.halfLife, s.now)
	diversify(ranked, s.threshold, s.diversity)
	if turn != nil && (s.halfLife > 0 || m.options.Reranker != nil) {
		chosenFirst(ranked)
	}
	if s.unshown {
		s.asked = wordsOf(text)
	}
	m.screening(ctx, &s, result.Took)
	result.Hits, result.Rejected, result.Withheld = choose(ranked, g.chunks, s)
	if turn != nil && len(result.Hits)+len(result.Withheld) == 0 {
		result.Silence = turn.whySilent(ranked)
	}
	if err := ctx.Err(); err != nil {
		return result, err
	}
	if !s.unrecorded {
		m.usage.note(result.Hits)
	}
	return result, nil
}
