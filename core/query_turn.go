package core

import (
	"cmp"
	"context"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/text/prompt"
)

// A turn is an agent's request and its answer. Most want nothing of memory, so that is decided
// first.
type turn struct {
	prompt.Prompt
	text  string           // what is searched for
	model *relevance.Model // of the embedder
	// question means that scores decide, as in a search.
	question bool
	// dated asks about a time, onlyTime about nothing else.
	dated, onlyTime bool
	// silence says why the turn gets nothing, if so.
	silence string
}

const (
	// For prompts that ask nothing: two sure hits beat six doubtful ones.
	mostTurnHits = 2
	turnTokens   = 400
	// longestKeywords is in words.
	longestKeywords = 6
	// mostAnswers limits a question's hits, leastOfBest their relative score.
	mostAnswers = 4
	leastOfBest = 0.3
	// In a small memory a score of sureEnough suffices for an order, too: nothing is near by
	// chance.
	smallMemory = 200
	sureEnough  = 0.5
	// fewEarlier prompts have little of what a short prompt refers to.
	fewEarlier = 3
	// leastNew is the least share of words that the prompt lacks.
	leastNew = 0.35
)

func turnOf(request string) *turn {
	t := &turn{Prompt: prompt.Parse(request)}
	words := len(strings.Fields(t.Own))
	t.question = !t.Orders && (!t.Follows || t.AsksAnew) && t.Pasted == 0 && !asksForWork(t.Own) && (t.Asks || words <= longestKeywords && t.Kind == prompt.Request)
	switch t.Kind {
	case prompt.Acknowledgement:
		t.silence = "the prompt only lets the agent go on"
	case prompt.Selection:
		t.silence = "the prompt picks from what the agent has just listed"
	}
	t.text = t.Own
	if strings.TrimSpace(t.text) == "" {
		t.text = cmp.Or(strings.Join(t.Errors, "\n"), request)
	}
	return t
}

// isQuestion is stricter after earlier prompts: a few words are then an order, and what the agent
// did is known to it.
func (t *turn) isQuestion(earlier int) bool {
	return t.question && (earlier == 0 || (t.Asks || t.AsksAnew) && !t.AsksAgent)
}

// asksForWork: "can you add a test?", not "can you tell me …".
func asksForWork(own string) bool {
	return helps().MatchString(own) && !tellsMe().MatchString(own)
}

var (
	helps = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(^|[.!?,;:\n-]|\b(and|but|so|also|then|now|please|ok|okay))\s*(can|could|would|will)\s+(you|we)\b|\blet'?s\b|\bhelp me\b|\bi need\b|\bwould it be\b|(^|\s)@agent\b|` +
			`\b(kannst|könntest|könnten|können) (du|wir|sie)\b|\b(puedes|podrías|podemos) |\b(peux-tu|pouvez-vous|peut-on|pourrais-tu)|帮我|帮忙|帮修|してください|してくれ|してもらえ`)
	})
	tellsMe = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(can|could|would|will)\s+(you|we)\s+(please\s+)?(tell|remind|explain|show|give|remember|recall|say)\b`)
	})
)

func (t *turn) whySilent(ranked []*candidate) string {
	switch {
	case t.silence != "":
		return t.silence
	case len(ranked) == 0:
		return "memory holds none of its words and nothing near it in meaning"
	case t.question:
		return "nothing in memory is sure enough to answer it"
	}
	return "memory holds too little of what the prompt is about"
}

// answerTurn returns decided candidates, best first. It narrows the selection if the prompt asks
// nothing.
func (q *query) answerTurn(ctx context.Context, t *turn, model *relevance.Turn, g gathered) []*candidate {
	t.model = q.index.relevance
	repeats := g.takeRepeats()
	q.rank(g)
	t.dated, t.onlyTime = len(g.times.spans) > 0, g.times.only
	switch t.question = t.isQuestion(q.earlier) || t.onlyTime; {
	case t.onlyTime:
		q.sparing = false // more than one answer is right
	case t.question:
		q.limit = min(q.limit, mostAnswers)
	default:
		orderForTurn(model, t.model, g.candidates)
		q.limit, q.sparing = min(q.limit, mostTurnHits), false
		if q.budget > turnTokens {
			q.budget = turnTokens
		}
	}
	var sure []*candidate
	for _, s := range q.searches(t) {
		sure = append(sure, q.find(ctx, s)...)
	}
	sure = append(sure, q.rulesForFiles(ctx, t)...)
	all := before(sure, g.candidates)
	t.decide(model, g.question, all[len(sure):], q.threshold)
	return slices.Concat(all, repeats)
}

// takeRepeats removes turns that repeat the question: they hold no answer, and others would look
// worse beside them.
func (g *gathered) takeRepeats() (repeats []*candidate) {
	asked := wordsOf(g.question.Text)
	g.candidates = slices.DeleteFunc(g.candidates, func(c *candidate) bool {
		if c.record.Kind != source.KindConversation || wordsOf(c.Text).overlap(asked) < nearDuplicate {
			return false
		}
		c.refused = verdictQuestion
		repeats = append(repeats, c)
		return true
	})
	return repeats
}

// orderForTurn sorts by values of the model of turns, best first. A lead is over candidates with a
// cosine.
func orderForTurn(turns *relevance.Turn, embedder *relevance.Model, all []*candidate) {
	countLater(all)
	best := bestBM25(all)
	for _, c := range all {
		c.turnTerms = embedder.TurnTerms(c.Candidate, best)
		c.value = turns.Value(c.turnTerms)
	}
	slices.SortStableFunc(all, func(a, b *candidate) int { return cmp.Compare(b.value, a.value) })
	var values []float64
	for _, c := range all {
		if c.Cosine != nil {
			values = append(values, c.value)
		}
	}
	for _, c := range all {
		c.lead = relevance.Lead(c.value, values)
	}
}

// countLater sets Later.
func countLater(all []*candidate) {
	ends := map[string]time.Time{} // of conversations, as far as their candidates go
	for _, c := range all {
		if end := ends[c.Path]; c.record.Kind == source.KindConversation && !c.record.Time.Before(end) {
			ends[c.Path] = c.record.Time
		}
	}
	sorted := slices.SortedFunc(maps.Values(ends), time.Time.Compare)
	for _, c := range all {
		if end, ok := ends[c.Path]; ok {
			upTo, _ := slices.BinarySearchFunc(sorted, end.Add(1), time.Time.Compare)
			c.Later = len(sorted) - upTo
		}
	}
}

// decide sets sure and refused: by relevance.Turn in the middle of work, by scores for questions
// and people's chats.
func (t *turn) decide(model *relevance.Turn, q relevance.Query, ranked []*candidate, threshold float64) {
	telling := relevance.TellingWords(t.Prompt, q)
	if slices.Max(append(telling, 0)) == 0 && !t.dated && (!t.question || t.Follows || len(t.Files) > 0) {
		t.silence = "the prompt names nothing that memory could know"
	}
	best := 0.0
	for _, c := range ranked {
		best = max(best, c.Score)
	}
	// Texts in a script that the embedder does not know are all near each other.
	unknown := !t.question && !t.model.Knows(q.Text)
	for _, c := range ranked {
		switch {
		case c.Turn:
		case t.silence != "":
			c.refused = verdictUnasked
		case t.question && c.record.Kind == source.KindConversation && t.echoes(c.Text):
			c.refused = verdictEcho
		case t.question:
			switch {
			case t.onlyTime:
			case c.Score < leastOfBest*best:
				c.refused = verdictBehind
			case best >= threshold && model.Now(q, best) < threshold:
				c.refused = verdictLate
			}
		default:
			byWords := unknown || c.Cosine == nil
			worth := model.Now(q, worthOf(model, c, telling, byWords))
			c.worth = &worth
			c.sure, c.refused = t.wants(c, evidence{
				worth:     worth >= model.Least,
				byWords:   byWords,
				holdsMost: q.Earlier < fewEarlier && t.model.HoldsMost(telling, q, c.Candidate),
				likely:    q.Chunks <= smallMemory && c.Score >= sureEnough,
			})
		}
	}
}

// worthOf is the worth of a candidate of orderForTurn.
func worthOf(model *relevance.Turn, c *candidate, telling []float64, byWords bool) float64 {
	if byWords {
		return model.WorthOfWords(relevance.Held(telling, c.Candidate))
	}
	return model.Worth(c.value, c.lead)
}

// evidence is what speaks for a candidate without a question.
type evidence struct{ worth, byWords, holdsMost, likely bool }

// wants returns why a candidate is a hit without a question, or the verdict.
func (t *turn) wants(c *candidate, e evidence) (sure, refused string) {
	switch {
	case t.namesDocument(c.Path):
		return "", verdictNamed
	case t.echoes(c.Text):
		return "", verdictEcho
	case e.worth && e.byWords:
		return "holds enough of what the prompt is about", ""
	case e.worth:
		return "is nearer to the prompt than most of memory", ""
	case e.holdsMost:
		return "holds most of what the prompt is about", ""
	case e.likely:
		return "is likely about it, and memory is small", ""
	}
	return "", verdictUnasked
}

// sureFirst is needed again after scores have changed.
func sureFirst(ranked []*candidate) {
	slices.SortStableFunc(ranked, func(a, b *candidate) int { return trueFirst(a.sure != "", b.sure != "") })
}

// trueFirst compares for a sort.
func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// namesDocument: the agent itself reads what its prompt names.
func (t *turn) namesDocument(document string) bool {
	return slices.ContainsFunc(t.Files, func(file string) bool { return strings.EqualFold(path.Base(document), path.Base(file)) })
}

// echoes reports whether a text adds little to the prompt.
func (t *turn) echoes(text string) bool {
	own, said := wordsOf(spaced(text)), wordsOf(spaced(t.Own))
	fresh := 0
	for word := range own {
		if _, ok := said[word]; !ok {
			fresh++
		}
	}
	return float64(fresh) < leastNew*float64(len(own))
}

// spaced is for scripts without spaces.
func spaced(text string) string {
	if !strings.ContainsFunc(text, unspaced) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		b.WriteRune(r)
		if unspaced(r) {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}
