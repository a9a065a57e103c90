package core

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/memcore/memcore/core/digest"
	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/paths"
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
	// moments are those that an order asks for.
	moments []digest.Moment
	// silence says why the turn gets nothing, if so.
	silence string
}

const (
	// For prompts that ask nothing: two sure hits beat six doubtful ones.
	maxTurnHits = 2
	turnTokens  = 400
	// maxBare is how many words ask for what they name, as in "page size".
	maxBare = 3
	// maxAnswers limits a question's hits, minOfBest their relative score. Of teammates' judged
	// questions two hits answer 0.80, three 0.93, four 0.97.
	maxAnswers = 3
	minOfBest  = 0.3
	// In a small memory a score of sureEnough suffices for an order, too: nothing is near by
	// chance.
	smallMemory = 200
	sureEnough  = 0.5
	// sureAnswer is the least score, a probability, of the best answer to a question if lists have
	// what is less sure. On judged prompts it costs no question of teammates that the calibrated
	// threshold answers (0.97 of 30), and 0.2 does.
	sureAnswer = 0.15
	// minNew is the least share of words that the prompt lacks.
	minNew = 0.35
)

// SilenceMachine is why a prompt gets nothing that a program wrote in its user's place.
const SilenceMachine = "a program wrote the prompt, not the user"

func turnOf(request string) *turn {
	t := &turn{Prompt: prompt.Parse(request)}
	bare := t.Kind == prompt.Request && len(strings.Fields(t.Plain)) <= maxBare
	t.question = (t.Asks || t.AsksAnew || bare) && !t.AsksAgent && !t.Orders && (!t.Follows || t.AsksAnew) && t.Pasted == 0 && !t.AsksForWork
	if !t.question {
		t.moments = digest.MomentsAsked(t.Own)
	}
	switch {
	case prompt.ByMachine(request):
		t.silence = SilenceMachine
	case t.Kind == prompt.Acknowledgement:
		t.silence = "the prompt only lets the agent go on"
	case t.Kind == prompt.Selection:
		t.silence = "the prompt picks from what the agent has just listed"
	}
	t.text = t.Gist()
	if text := strings.TrimRight(t.text, "?？ "); text != "" { // a question is the same without its mark
		if t.text = text; t.question {
			t.text += "?"
		}
	}
	if strings.TrimSpace(t.text) == "" {
		t.text = cmp.Or(strings.Join(t.Errors, "\n"), request)
	}
	return t
}

// whySilent says why a turn got no hits: never that nothing is known, if something was found.
func (t *turn) whySilent(ranked []*candidate, had *candidate) string {
	switch {
	case t.silence != "":
		return t.silence
	case had != nil:
		return "the conversation already has the best of it: " + paths.Citation(had.Path, had.record.StartLine, had.record.EndLine)
	case len(ranked) == 0:
		return "memory holds none of its words and nothing near it in meaning"
	case t.question:
		return "nothing in memory is sure enough to answer it"
	}
	return "the prompt neither asks for nor names anything that memory has"
}

// answerTurn returns decided candidates, best first. It narrows the selection if the prompt asks
// nothing.
func (q *query) answerTurn(t *turn, g gathered) []*candidate {
	t.model = q.index.relevance
	repeats := g.takeRepeats()
	q.rank(g)
	t.dated, t.onlyTime = len(g.times.spans) > 0, g.times.only
	switch t.question = t.question || t.onlyTime; {
	case t.onlyTime:
		q.sparing = false // more than one answer is right
		if q.lines > 0 {  // which have the others of that time
			q.limit = min(q.limit, maxAnswers)
		}
	case t.question:
		q.limit = min(q.limit, maxAnswers)
		if q.lines > 0 {
			q.threshold = max(q.threshold, sureAnswer)
		}
	default:
		orderForTurn(t.model, g.candidates)
		q.limit, q.sparing = min(q.limit, maxTurnHits), false
		if q.budget > turnTokens {
			q.budget = turnTokens
		}
	}
	t.decide(g.question, g.candidates)
	for _, c := range g.candidates {
		if t.question && g.isOfAnotherDay(c) {
			c.sure, c.refused = "", verdictOtherDay
		}
	}
	return slices.Concat(g.candidates, repeats)
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

// isRemark reports whether a candidate is a turn of an agent's session that says nothing lasting:
// it is there for those who search for what was said.
func (q *query) isRemark(c *candidate) bool {
	return c.Turn && q.index.manifest.of(c.Path).Digest != ""
}

// orderForTurn sorts by values, best first.
func orderForTurn(model *relevance.Model, all []*candidate) {
	valueForTurn(model, all)
	slices.SortStableFunc(all, func(a, b *candidate) int { return cmp.Compare(b.value, a.value) })
}

// valueForTurn sets values. They compare candidates with each other, so all of them are needed.
func valueForTurn(model *relevance.Model, all []*candidate) {
	countLater(all)
	best := bestBM25(all)
	for _, c := range all {
		c.value = model.Value(c.Candidate, best)
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

// decide sets sure and refused. A question is decided by scores. Of other prompts nothing is sure
// enough to be given whole but what they name: the rest may be listed.
func (t *turn) decide(q relevance.Query, ranked []*candidate) {
	telling := relevance.TellingWords(t.Prompt, q)
	if slices.Max(append(telling, 0)) == 0 && !t.dated && (!t.question || t.Follows || len(t.Files) > 0) {
		t.silence = "the prompt names nothing that memory could know"
	}
	best := 0.0
	for _, c := range ranked {
		best = max(best, c.Score)
	}
	for _, c := range ranked {
		switch {
		case c.Turn:
		case t.silence != "":
			c.refused = VerdictUnasked
		case t.question && c.record.Kind == source.KindConversation && t.echoes(c.Text):
			c.refused = verdictEcho
		case t.question:
			if !t.onlyTime && c.Score < minOfBest*best {
				c.refused = verdictBehind
			}
		case t.namesDocument(c.Path):
			c.refused = verdictNamed
		case t.echoes(c.Text):
			c.refused = verdictEcho
		case q.Chunks <= smallMemory && c.Score >= sureEnough:
			c.sure = "is likely about it, and memory is small"
		default:
			c.refused = VerdictUnasked
		}
	}
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
	return slices.ContainsFunc(t.Files, func(file string) bool { return strings.EqualFold(path.Base(paths.Unspell(document)), path.Base(file)) })
}

// echoes reports whether a text adds little to the prompt. A question repeats most words of a short
// answer: one value that it lacks is then much, unless the text only asks as well.
func (t *turn) echoes(text string) bool {
	own, said := wordsOf(spaced(text)), wordsOf(spaced(t.Own))
	fresh, values := 0, 0
	for word := range own {
		if _, ok := said[word]; ok {
			continue
		}
		if fresh++; isValue(word) {
			values++
		}
	}
	if t.question && values > 0 && !prompt.HasQuestionMark(text) {
		return false
	}
	return float64(fresh) < minNew*float64(len(own))
}

// isValue reports whether a word is a number, an address, a name of a machine, of a file or the
// like.
func isValue(word string) bool {
	return strings.ContainsFunc(word, unicode.IsDigit) || strings.ContainsAny(word, "./:@_")
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
