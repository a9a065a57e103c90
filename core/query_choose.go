package core

import (
	"slices"
	"time"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/core/source"
)

// VerdictThreshold is the verdict of a candidate that only its score keeps from being a hit.
const VerdictThreshold = "below threshold"

// VerdictUnasked is the verdict of a candidate that a prompt neither asks for nor names: it may be
// listed.
const VerdictUnasked = "the prompt neither asks for it nor names it"

// Further verdicts; that of a duplicate also names the hit.
const (
	verdictKept     = "kept"
	verdictWeak     = "adds too little to what is given"
	verdictBudget   = "over budget"
	verdictLimit    = "over limit"
	verdictQuestion = "the question itself"
	verdictWithheld = "withheld as suspicious"
	verdictBehind   = "much weaker than the best"
	verdictEcho     = "says little that the prompt does not"
	verdictNamed    = "the prompt names the document"
	verdictOtherDay = "is of another day than the prompt names"
	verdictHad      = "the context has it already"
	verdictAfterHad = "the context already has a better one"
)

type choice struct {
	selection
	cost                     float64 // least that a further hit has to add
	hits, rejected, withheld []MemoryHit

	first   *candidate // of the hits
	newest  time.Time  // of the hits
	said    []words    // by the hits
	tokens  int        // of the hits
	byScore int        // hits that are there for their score
	nothing float64    // probability that no hit helps
	had     *candidate // would have been the first hit, if the context did not have it
}

// choose folds duplicates, and prefers smaller candidates to one over budget.
func choose(ranked []*candidate, chunks int, s selection) choice {
	x := choice{selection: s, cost: relevance.Cost(chunks), hits: []MemoryHit{}, nothing: 1}
	for i, c := range ranked {
		x.consider(c, hitOf(c, i+1, s.explain))
	}
	return x
}

func (x *choice) consider(c *candidate, hit MemoryHit) {
	verdict := x.refuses(c)
	switch {
	case verdict != "":
	case c.had:
		verdict = verdictHad
		if len(x.hits) == 0 && c.sure == "" {
			x.had = c
		}
	case x.had != nil && c.sure == "":
		verdict = verdictAfterHad
	default:
		verdict = x.take(c, &hit)
	}
	if hit.Explain != nil {
		hit.Explain.Verdict = verdict
	}
	switch {
	case verdict == verdictWithheld:
		x.withheld = append(x.withheld, withhold(hit, x.explain))
	case verdict == verdictKept:
		x.hits = append(x.hits, hit)
	case x.explain:
		x.rejected = append(x.rejected, hit)
	}
}

// refuses judges without the text; "" to go on.
func (x *choice) refuses(c *candidate) string {
	switch {
	case c.refused != "":
		return c.refused
	case c.sure == "" && c.Score < x.threshold && (!x.sparing || x.byScore == 0):
		return VerdictThreshold
	case c.sure == "" && x.sparing && len(x.hits) > 0 && x.nothing*c.Score < x.cost && !x.updates(c):
		return verdictWeak
	case len(x.hits) >= x.limit:
		return verdictLimit
	}
	return ""
}

// minUpdate is the least score of an update, relative to the first hit.
const minUpdate = 0.5

// updates reports whether what the first hit says may have changed: another conversation, later
// than all hits, holds the same words of the question. However sure the hits are, they may be out
// of date.
func (x *choice) updates(c *candidate) bool {
	return x.first.record.Kind == source.KindConversation && c.record.Kind == source.KindConversation &&
		c.record.Path != x.first.record.Path && c.record.Time.After(x.newest) &&
		c.Holds&x.first.Holds == x.first.Holds && c.Score >= max(x.threshold, minUpdate*x.first.Score)
}

// take judges by the text. A newer duplicate replaces its hit, and *hit is the older.
func (x *choice) take(c *candidate, hit *MemoryHit) string {
	said := wordsOf(c.Text)
	if x.flag(hit) {
		return verdictWithheld
	}
	if x.asked != nil && c.record.Kind == source.KindConversation && said.overlap(x.asked) >= nearDuplicate {
		return verdictQuestion // it was asked before; the answer, if any, is another turn
	}
	if same := said.repeats(x.said); same >= 0 {
		kept := &x.hits[same]
		*hit = newer(kept, *hit)
		if kept.Source != hit.Source {
			kept.Also = append(kept.Also, hit.Source)
		}
		kept.Also = append(kept.Also, hit.Also...)
		return "duplicate of " + kept.Source
	}
	if x.budget >= 0 && len(x.hits) > 0 && x.tokens+hit.TokenEstimate > x.budget {
		return verdictBudget
	}
	if len(x.hits) == 0 {
		x.first = c
	}
	if c.record.Time.After(x.newest) {
		x.newest = c.record.Time
	}
	x.said = append(x.said, said)
	x.tokens += hit.TokenEstimate
	x.nothing *= 1 - c.Score
	if c.sure == "" {
		x.byScore++
	}
	return verdictKept
}

// newer puts the newer near duplicate into kept and returns the other: the later of two settings
// holds.
func newer(kept *MemoryHit, hit MemoryHit) MemoryHit {
	old := *kept
	if !hit.Time.After(old.Time) || old.Time.IsZero() || hit.Kind != old.Kind {
		return hit
	}
	hit.Score, old.Score = old.Score, hit.Score
	hit.Also, old.Also = slices.Concat(old.Also, hit.Also), nil
	if hit.Explain != nil {
		hit.Explain.Verdict = verdictKept
	}
	*kept = hit
	return old
}
