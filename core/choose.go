package core

import (
	"fmt"
	"strings"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/core/source"
)

// Verdicts of an Explanation; a duplicate's names what it repeats.
const (
	verdictKept      = "kept"
	verdictThreshold = "below threshold"
	verdictWeak      = "adds too little to what is given"
	verdictBudget    = "over budget"
	verdictLimit     = "over limit"
	verdictQuestion  = "the question itself"
	verdictWithheld  = "withheld as suspicious"
	verdictUnasked   = "too little of what the prompt is about"
	verdictEcho      = "says little that the prompt does not"
	verdictNamed     = "the prompt names the document"
)

// choose takes from ranked candidates what is returned. Candidates that repeat a better one are folded
// into it. One that does not fit the budget is passed over for the sake of smaller ones behind it. Suspicious ones take no place
// from others where they are withheld.
func choose(ranked []scored, chunks int, s selection) (hits, rejected, withheld []MemoryHit) {
	hits = []MemoryHit{}
	var kept []words
	tokens, byScore := 0, 0 // byScore are the hits that are given for their score
	nothing := 1.0          // probability that nothing of hits helps
	for i, c := range ranked {
		hit := hitOf(c, i+1, s.explain)
		verdict := verdictKept
		same := -1
		var w words
		switch {
		case c.refused != "":
			verdict = c.refused
		case c.why == "" && c.Score < s.threshold && (!s.sparing || byScore == 0):
			verdict = verdictThreshold
		case c.why == "" && s.sparing && len(hits) > 0 && nothing*c.Score < relevance.Cost(chunks):
			verdict = verdictWeak
		case len(hits) >= s.limit:
			verdict = verdictLimit
		default:
			w = wordsOf(c.record.Text)
			if s.suspect(&hit) {
				verdict = verdictWithheld
			} else if s.asked != nil && c.record.Kind == source.KindConversation && w.overlap(s.asked) >= nearDuplicate {
				verdict = verdictQuestion // it was asked before; the answer, if there was one, is another turn
			} else if same = repeats(w, kept); same >= 0 {
				hit = newer(hits, same, hit)
				verdict = "duplicate of " + hits[same].Source
			} else if s.budget >= 0 && len(hits) > 0 && tokens+hit.TokenEstimate > s.budget {
				verdict = verdictBudget
			}
		}
		if hit.Explain != nil {
			hit.Explain.Verdict = verdict
		}
		switch {
		case verdict == verdictWithheld:
			withheld = append(withheld, withhold(hit, s.explain))
			continue
		case verdict == verdictKept:
			hits, kept = append(hits, hit), append(kept, w)
			tokens += hit.TokenEstimate
			if c.why == "" {
				byScore++
			}
			nothing *= 1 - c.Score
			continue
		case same >= 0 && hits[same].Source != hit.Source:
			hits[same].Also = append(hits[same].Also, hit.Source)
		}
		if s.explain {
			rejected = append(rejected, hit)
		}
	}
	return hits, rejected, withheld
}

// newer lets the newer of two hits that say nearly the same stand for both, in the place and with the score of the better one,
// and returns the other: of two settings of the same thing the later one holds.
func newer(hits []MemoryHit, same int, hit MemoryHit) MemoryHit {
	old := hits[same]
	if !hit.Time.After(old.Time) || old.Time.IsZero() || hit.Kind != old.Kind {
		return hit
	}
	hit.Score, old.Score = old.Score, hit.Score
	hit.Also = old.Also
	old.Also = nil
	if hit.Explain != nil {
		hit.Explain.Verdict = verdictKept
	}
	hits[same] = hit
	return old
}

// bytesPerToken is about how long a token of a request is.
const bytesPerToken = 4

func hitOf(c scored, rank int, explain bool) MemoryHit {
	r := c.record
	hit := MemoryHit{
		ID: r.ID, Text: r.Text, Score: c.Score, Source: Citation(r.Path, r.StartLine, r.EndLine), TokenEstimate: r.Tokens,
		Scope: r.Scope, Kind: r.Kind, Path: r.Path, StartLine: r.StartLine, EndLine: r.EndLine,
		Headings: r.Headings, Request: requestOf(r), Session: r.Session, Speaker: r.Speaker, Time: r.Time,
	}
	if r.Kind == source.KindConversation {
		hit.Headings = nil
		hit.TokenEstimate += (len(hit.Request) + bytesPerToken - 1) / bytesPerToken // it is shown, too
	}
	if explain {
		hit.Explain = &Explanation{Cosine: c.cosine, BM25: c.bm25, BM25Normalised: c.normalised, Coverage: c.hitShare,
			Document: c.document, Terms: c.Terms, Reranked: c.reranked, ByTime: c.byTime, Fused: c.Sum, Rank: rank, KeywordRank: c.keywordRank, VectorRank: c.vectorRank, Worth: c.worth, Why: c.why}
	}
	return hit
}

// Citation names lines of a document so that a person or an editor can go there:
// "notes/staging.md#L10-L20", or "#L10" if it is one line.
func Citation(path string, start, end int) string {
	if end <= start {
		return fmt.Sprintf("%s#L%d", path, start)
	}
	return fmt.Sprintf("%s#L%d-L%d", path, start, end)
}

// words is a text as the set of its words.
type words map[string]struct{}

func wordsOf(text string) words {
	w := words{}
	for _, word := range strings.Fields(strings.ToLower(text)) {
		w[strings.Trim(word, ".,;:!?*_`\"'()[]")] = struct{}{}
	}
	return w
}

// nearDuplicate is the share of common words from which on two texts say the same: high enough that
// two steps of a list or two similar settings, which differ in one word, both stay.
const nearDuplicate = 0.92

// repeats returns the index of the text in kept that w repeats, or -1.
func repeats(w words, kept []words) int {
	for i, other := range kept {
		if w.overlap(other) >= nearDuplicate {
			return i
		}
	}
	return -1
}

// overlap is the Jaccard index, |a ∩ b| ÷ |a ∪ b|; that of two empty texts is 1.
func (w words) overlap(other words) float64 {
	common := 0
	for word := range w {
		if _, ok := other[word]; ok {
			common++
		}
	}
	union := len(w) + len(other) - common
	if union == 0 {
		return 1
	}
	return float64(common) / float64(union)
}
