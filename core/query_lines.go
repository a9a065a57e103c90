package core

import (
	"cmp"
	"context"
	"math/bits"
	"slices"
	"strings"

	"github.com/memcore/memcore/core/digest"
	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/store"
)

// A rankedUnit is one that candidates belong to, ranked as a whole.
type rankedUnit struct {
	unit
	value float64
	holds uint64 // the words of the question that any of its candidates holds
	said  words  // of its line
}

const (
	// unitWords weighs the share of the question's words that a unit holds in all of its
	// candidates against the value of the best of them.
	unitWords = 0.5
	// maxUnits is how many units are read to make a list of lines.
	maxUnits = 3 * MaxLines
	// sameLine is the least overlap of two lines that say the same.
	sameLine = 0.6
	// sameRequest is the least overlap of requests on the same subject.
	sameRequest = 0.3
)

// listLines returns lines of what is near the prompt, best first, without what a result has. Lines
// are ranked by exchanges and sections: a request that is answered in four pieces is one line, and
// holds the words of all four. Where there are any, near statements precede them; these alone are
// listed for a question about the user or the people they work with.
func (q *query) listLines(ctx context.Context, t *turn, question relevance.Query, ranked []*candidate, stated turnStatements, has Result) []Line {
	telling := relevance.TellingWords(t.Prompt, question)
	if q.lines <= 0 || t.silence != "" || t.refersBack(relevance.MassOf(telling, ^uint64(0))) {
		return nil
	}
	near := slices.DeleteFunc(stated.near, func(s Statement) bool {
		return q.given[s.Name] || slices.ContainsFunc(has.Hits, s.comesFrom) || slices.ContainsFunc(has.Said, func(o Statement) bool { return o.Key == s.Key })
	})
	near = near[:min(len(near), q.lines/2)]
	units := q.rankedUnits(ctx, t, question, ranked, telling)
	holds := func(sentence string) int { return bits.OnesCount64(holding(question, sentence)) }
	var lines []Line
	var kept []rankedUnit
	had := 0 // of the best, what the conversation has already: nothing weaker takes its place
	for _, u := range units[:min(len(units), maxUnits)] {
		if len(lines)+had == q.lines-len(near) {
			break
		}
		line := lineOf(u.unit, holds)
		line.Reply = unlessSaid(line.Reply, has.Said)
		isSaid := false
		if s, ok := q.saidFirst(ctx, u, has.Said); ok { // what came of it may still be news
			line.Request, isSaid = "", s.Standing || unlessSaid(line.Outcome, []Statement{s}) == ""
		}
		u.said = wordsOf(line.Request + " " + line.Outcome)
		// A line that has all words of the statement with which it begins replaces that: it also
		// says what came of it.
		near = slices.DeleteFunc(near, func(s Statement) bool { return s.Name == line.Name && wordsOf(s.Text).within(u.said) })
		switch {
		case line.Outcome == "" && line.Request == "", q.suspects(line, u):
		case slices.ContainsFunc(near, func(s Statement) bool { return s.Name == line.Name }):
		case q.given[line.Name], isSaid:
			had++
		case slices.ContainsFunc(has.Hits, func(h MemoryHit) bool { return h.Path == u.path && u.start <= h.StartLine && h.StartLine <= u.end }):
		case slices.ContainsFunc(kept, func(k rankedUnit) bool { return k.said.overlap(u.said) >= sameLine }):
		default:
			lines, kept = append(lines, line), append(kept, u)
		}
	}
	markLater(lines, kept, telling)
	for i, u := range kept {
		s, ok := q.laterWord(ctx, u.claim(lines[i]), lines[i].Time, stated.claims, digest.Claim.Supersedes)
		if !ok {
			continue
		}
		lines[i].Later = s.Name
		is := func(o Statement) bool { return o.Key == s.Key }
		if !q.given[s.Key] && !q.given[s.Name] && !slices.ContainsFunc(slices.Concat(near, has.Said), is) && len(near) < maxListed {
			near = append(near, s)
		}
	}
	lines = lines[:min(len(lines), q.lines-len(near))]
	if len(lines) == 0 && !t.AsksOfOurs() {
		return nil
	}
	said := make([]Line, len(near))
	for i, s := range near {
		said[i] = s.line()
	}
	return append(said, lines...)
}

// claim returns what a unit is known for, a sentence a line, as far as it may be superseded.
func (u rankedUnit) claim(l Line) string {
	if u.exchange != nil {
		return u.exchange.Request + "\n" + u.exchange.Outcome
	}
	return l.Request + "\n" + l.Outcome
}

// saidFirst returns the statement with which an exchange begins, if the conversation gets it, or
// was given it.
func (q *query) saidFirst(ctx context.Context, u rankedUnit, said []Statement) (s Statement, ok bool) {
	log, err := q.index.digests.of(ctx, q.index.view, u.path)
	if err != nil {
		return Statement{}, false
	}
	for _, one := range log.Statements {
		if one.Line != u.start {
			continue
		}
		s = statementOf(u.path, one)
		if q.given[s.Key] || slices.ContainsFunc(said, func(o Statement) bool { return o.Key == s.Key }) {
			return s, true
		}
	}
	return Statement{}, false
}

// suspects reports whether a line reads like an instruction to a model. It is left out: the mark of
// a suspicious text would be longer than the line. Where suspicious texts are withheld, so is every
// line of a unit that has one.
func (q *query) suspects(l Line, u rankedUnit) bool {
	if q.judge == nil {
		return false
	}
	judge := func(r store.Record, text string) bool {
		return q.judge(&MemoryHit{Kind: l.Kind, Path: l.Path, Speaker: r.Speaker, Text: text}).Flagged
	}
	return judge(u.records[0], strings.Join(append([]string{l.Request, l.Outcome, l.Reply}, l.Files...), "\n")) ||
		q.withhold && slices.ContainsFunc(u.records, func(r store.Record) bool { return judge(r, r.Text) })
}

// maxReferring is how many words of an order refer to what was just said if less than two of them
// tell what it is about.
const maxReferring = 6

// refersBack: "yes, inspect it", "push", "now the other file". What a short order means stands in
// the conversation, not in memory.
func (t *turn) refersBack(telling float64) bool {
	return !t.question && telling < 2 && len(t.Numbered) == 0 && len(strings.Fields(t.Plain)) <= maxReferring
}

// rankedUnits returns the units of candidates, best first.
func (q *query) rankedUnits(ctx context.Context, t *turn, question relevance.Query, ranked []*candidate, telling []float64) []rankedUnit {
	valueForTurn(q.index.relevance, ranked) // questions are ranked without
	// Texts in a language that the embedder does not know are all near each other.
	known := q.index.relevance.Knows(question.Text) && q.index.relevance.KnowsLanguage(question.Language)
	var units []rankedUnit
	byPath := map[string][]*candidate{}
	var order []string
	for _, c := range ranked {
		if q.isListable(t, c, telling, known) {
			if byPath[c.Path] == nil {
				order = append(order, c.Path)
			}
			byPath[c.Path] = append(byPath[c.Path], c)
		}
	}
	all := max(relevance.MassOf(telling, ^uint64(0)), 1)
	for _, document := range order {
		candidates := byPath[document]
		slices.SortFunc(candidates, func(a, b *candidate) int { return cmp.Compare(a.Line, b.Line) })
		for _, u := range q.unitsAt(ctx, document, candidates) {
			u.value += unitWords * relevance.MassOf(telling, u.holds) / all
			units = append(units, u)
		}
	}
	slices.SortStableFunc(units, func(a, b rankedUnit) int { return cmp.Compare(b.value, a.value) })
	return units
}

// isListable leaves out what a list never has: the prompt's own words, documents that the context
// has or the prompt names, notes of another day, and what is near by chance alone. All that is of a
// time is listed for a prompt that asks for nothing else.
func (q *query) isListable(t *turn, c *candidate, telling []float64, known bool) bool {
	if c.had || c.refused == verdictQuestion || c.refused == verdictOtherDay || t.namesDocument(c.Path) || c.record.Kind == source.KindConversation && t.echoes(c.Text) {
		return false
	}
	if t.onlyTime && c.byTime {
		return true
	}
	held := relevance.MassOf(telling, c.Holds)
	if c.Cosine == nil || !known {
		return held >= 2 || held > 0 && c.Cosine == nil
	}
	near := q.index.relevance.Nearness(*c.Cosine)
	return near >= minNear || held >= 2 || held >= 1 && near >= minNearWithWord
}

// A candidate is listed if its cosine, on the scale of Model.Nearness, is at least minNear, or
// minNearWithWord if it holds a telling word of the prompt, or if it holds two of them.
const (
	minNear         = 0.4
	minNearWithWord = 0.3
)

// unitsAt parts candidates of a document into units, with the best value and all words of each.
func (q *query) unitsAt(ctx context.Context, document string, candidates []*candidate) (units []rankedUnit) {
	log, err := q.index.digests.of(ctx, q.index.view, document)
	if err != nil {
		return nil // it costs the lines of this document
	}
	exchanges := log.Exchanges
	for _, c := range candidates {
		next := rankedUnit{unit: unit{path: document, start: c.record.StartLine, end: c.record.EndLine}}
		for i := range exchanges {
			if e := &exchanges[i]; e.StartLine <= c.Line && c.Line <= e.EndLine {
				next.exchange, next.start, next.end = e, e.StartLine, e.EndLine
			}
		}
		last := len(units) - 1
		switch {
		case last < 0, next.exchange != units[last].exchange, next.exchange == nil && !sameUnit(units[last].records[0], c.record):
			next.value = c.value
			units = append(units, next)
			last++
		}
		u := &units[last]
		u.records, u.holds, u.value = append(u.records, c.record), u.holds|c.Holds, max(u.value, c.value)
		u.end = max(u.end, c.record.EndLine)
	}
	return units
}

// addReplies adds to each hit of an agent's answer what the user said next, if that rejects it: an
// answer must not come without that.
func (q *query) addReplies(ctx context.Context, hits []MemoryHit) {
	for i := range hits {
		h := &hits[i]
		if h.Kind != source.KindConversation || h.Speaker == "user" {
			continue
		}
		log, err := q.index.digests.of(ctx, q.index.view, h.Path)
		if err != nil {
			continue // it costs the reply
		}
		for _, e := range log.Exchanges {
			if e.StartLine <= h.StartLine && h.StartLine <= e.EndLine {
				h.Reply = e.Reply
			}
		}
		if reply := strings.TrimSuffix(h.Reply, "…"); slices.ContainsFunc(hits, func(o MemoryHit) bool { return o.Speaker == "user" && hasSentence(o.Text, reply) }) {
			h.Reply = "" // it comes itself
		}
		if h.Reply == "" || q.judge == nil {
			continue
		}
		user := MemoryHit{Kind: h.Kind, Speaker: "user", Path: h.Path, Text: h.Reply}
		switch v := q.judge(&user); {
		case v.Flagged && q.withhold:
			h.Reply = ""
		case v.Flagged && h.Injection == nil: // the mark is for the answer and its reply
			h.Injection, h.Request = &v, ""
		}
	}
}

// markLater says of each line whether another one of the list has a later word on the same subject:
// at least two telling words of the prompt, all that the line holds, and a request like its own.
func markLater(lines []Line, units []rankedUnit, telling []float64) {
	for i := range lines {
		if relevance.MassOf(telling, units[i].holds) < 2 {
			continue
		}
		asked, last := wordsOf(lines[i].Request), lines[i].Time
		for j, other := range lines {
			if other.Kind == lines[i].Kind && other.Time.After(last) && units[j].holds&units[i].holds == units[i].holds &&
				wordsOf(other.Request).overlap(asked) >= sameRequest {
				lines[i].Later, last = other.Name, other.Time
			}
		}
	}
}

// holding returns which words of a question a sentence holds, as it spells them.
func holding(question relevance.Query, sentence string) (set uint64) {
	sentence = strings.ToLower(sentence)
	for i, w := range question.Words {
		if i < 64 && strings.Contains(sentence, strings.ToLower(w.Text)) {
			set |= 1 << i
		}
	}
	return set
}
