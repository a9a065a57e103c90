package relevance

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/memcore/memcore/internal/text/prompt"
)

// Names are the terms of a sum, as in Evidence.
var Names = []string{
	"keywords",        // BM25 ÷ best BM25
	"coverage",        // BM25 ÷ the most that it could be: less than keywords if no chunk has all words
	"document",        // BM25 of the document ÷ that of the best document
	"cosine",          // 0 for the nearest but 49, no less than -1; 1 is the nearest, or as far above as Model.Spread
	"documentCosine",  // the best cosine term in the same document
	"beforeKeywords",  // keywords of the turn before, if that asks something and is a candidate
	"beforeCosine",    // cosine of the turn before, if that is a candidate
	"answerKind",      // 1 if the question asks when or how many, and the text says a time or a number
	"firstPerson",     // -1 if a turn is not in the first person
	"toldByAssistant", // 1 if the question asks what an assistant said, and one says it
	"wish",            // 1 if the question asks for work or advice, and the user says how they want things
	"otherSpeaker",    // 1 if the question names another speaker
	"assistant",       // 1 if an assistant or a tool says it
	"question",        // 1 if a turn asks something itself
	"afterQuestion",   // 1 if the turn before asks something
	"turnLength",      // ln of the tokens of a turn, below 0; 0 from longTurn on
	"chunkLength",     // ln of the tokens of any other chunk
	"time",            // Timely
}

// IsEvidence reports whether a term's weight must be at least 0.
func IsEvidence(name string) bool {
	return name == "time" || slices.Index(Names, name) < slices.Index(Names, "otherSpeaker")
}

// Near is the rank of the neighbour whose cosine term is 0. It stands for chance, so that embedders
// compare.
const Near = 50

// longTurn is in tokens.
const longTurn = 128

// Evidence returns each candidate's terms, in the order of Names.
func Evidence(q Query, candidates []Candidate) [][]float64 {
	best := 0.0
	var cosines []float64
	for _, c := range candidates {
		best = max(best, c.BM25)
		if q.Vectors && c.Cosine != nil {
			cosines = append(cosines, *c.Cosine)
		}
	}
	slices.SortFunc(cosines, func(a, b float64) int { return cmp.Compare(b, a) })
	relative := relativeCosine(cosines, q.Spread)
	asked, speaking := askedKind(q.Text), namedIn(q.Text, candidates)
	ofAssistant, ofUser := asksSaid(q.Text)
	wishes := asksAdvice(q.Text) && !ofAssistant && !ofUser
	all := make([][]float64, len(candidates))
	nearest := map[string]float64{}
	for i, c := range candidates {
		e := make([]float64, len(Names))
		e[atTime] = c.Timely
		all[i] = e
		e[atKeywords] = Share(c.BM25, best)
		e[atCoverage] = Share(c.BM25, q.Ceiling)
		e[atDocument] = Share(c.Document, q.BestDocument)
		if q.Vectors && c.Cosine != nil {
			e[atCosine] = relative(*c.Cosine)
		}
		if known, ok := nearest[c.Path]; !ok || e[atCosine] > known {
			nearest[c.Path] = e[atCosine]
		}
		e[atAnswerKind] = yes(asked != 0 && answersKind(c.Text, asked))
		length := float64(max(c.Tokens, 1))
		if !c.Turn {
			e[atChunkLength] = math.Log(length)
			continue
		}
		byAssistant := c.Speaker == "assistant" || c.Speaker == "tool"
		e[atFirstPerson] = yes(firstPerson(c.Text)) - 1
		e[atToldByAssistant] = yes(ofAssistant && byAssistant)
		e[atWish] = yes(wishes && c.Speaker == "user" && statesWish(c.Text))
		e[atOtherSpeaker] = yes(len(speaking) > 0 && IsName(c.Speaker) && !speaking[c.Speaker])
		e[atAssistant] = yes(byAssistant)
		e[atQuestion] = yes(prompt.HasQuestionMark(c.Text))
		e[atAfterQuestion] = yes(prompt.HasQuestionMark(c.Before))
		e[atTurnLength] = min(math.Log(length/longTurn), 0)
	}
	for i, c := range candidates {
		all[i][atDocumentCosine] = nearest[c.Path]
	}
	for i, before := range turnsBefore(candidates) {
		for _, k := range before {
			if prompt.HasQuestionMark(candidates[i].Before) {
				all[i][atBeforeKeywords] = max(all[i][atBeforeKeywords], all[k][atKeywords])
			}
			all[i][atBeforeCosine] = max(all[i][atBeforeCosine], all[k][atCosine])
		}
	}
	return all
}

// Places of the terms in Names.
const (
	atKeywords = iota
	atCoverage
	atDocument
	atCosine
	atDocumentCosine
	atBeforeKeywords
	atBeforeCosine
	atAnswerKind
	atFirstPerson
	atToldByAssistant
	atWish
	atOtherSpeaker
	atAssistant
	atQuestion
	atAfterQuestion
	atTurnLength
	atChunkLength
	atTime
)

// relativeCosine maps cosines to their term, given all, best first. A spread of 0 reaches from the
// first to the Near-th.
func relativeCosine(cosines []float64, spread float64) func(float64) float64 {
	if len(cosines) == 0 {
		return func(float64) float64 { return 0 }
	}
	top, chance := cosines[0], cosines[min(Near, len(cosines))-1]
	if spread == 0 {
		if top-chance < 1e-6 {
			chance = top - 1
		}
		spread = top - chance
	}
	return func(cosine float64) float64 { return max((cosine-chance)/spread, -1) }
}

func yes(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// IsRole reports whether a text names a role, as that of chunker.Turn.
func IsRole(text string) bool {
	switch text {
	case "user", "assistant", "tool", "system", "subagent":
		return true
	}
	return false
}

// IsName reports whether a speaker is shown by a name, not by a role.
func IsName(speaker string) bool {
	return speaker != "" && speaker != "summary" && !IsRole(speaker) && !strings.HasPrefix(speaker, "subagent ")
}

// turnsBefore returns the parts of each turn before: the nearest above, if it ends as
// Candidate.Before does.
func turnsBefore(candidates []Candidate) [][]int {
	var turns []int
	for i, c := range candidates {
		if c.Turn {
			turns = append(turns, i)
		}
	}
	slices.SortStableFunc(turns, func(a, b int) int {
		return cmp.Or(cmp.Compare(candidates[a].Path, candidates[b].Path), cmp.Compare(candidates[a].Line, candidates[b].Line))
	})
	all := make([][]int, len(candidates))
	var above, here []int // parts of one turn each
	for _, i := range turns {
		c := candidates[i]
		switch {
		case len(here) > 0 && candidates[here[0]].Path != c.Path:
			above, here = nil, nil
		case len(here) > 0 && candidates[here[0]].Line != c.Line:
			above, here = here, nil
		}
		here = append(here, i)
		if slices.ContainsFunc(above, func(k int) bool { return endsAs(candidates[k], c.Before) }) {
			all[i] = above
		}
	}
	return all
}

// endsAs compares speaker and end with another turn's Before.
func endsAs(turn Candidate, before string) bool {
	end, ok := strings.CutPrefix(before, turn.Speaker+": ")
	end = strings.TrimPrefix(end, "…")
	if !ok || end == "" {
		return false
	}
	text := turn.Text
	if at := len(text) - 4*len(end); at > 0 {
		text = text[at:]
	}
	return strings.HasSuffix(strings.Join(strings.Fields(text), " "), end)
}

// namedIn returns the speakers whose name is in a question.
func namedIn(question string, candidates []Candidate) map[string]bool {
	named := map[string]bool{}
	var asked map[string]bool
	for _, c := range candidates {
		if !c.Turn || !IsName(c.Speaker) {
			continue
		}
		if asked == nil {
			asked = map[string]bool{}
			eachWord(question, func(word string) bool { asked[word] = true; return true })
		}
		eachWord(c.Speaker, func(word string) bool {
			if asked[word] {
				named[c.Speaker] = true
			}
			return true
		})
	}
	return named
}

// eachWord calls do for each lower-case word until it returns false.
func eachWord(text string, do func(word string) bool) {
	start := -1
	for at, r := range text {
		if inside := unicode.IsLetter(r) || unicode.IsDigit(r); inside == (start >= 0) {
			continue
		} else if inside {
			start = at
			continue
		}
		if !do(strings.ToLower(text[start:at])) {
			return
		}
		start = -1
	}
	if start >= 0 {
		do(strings.ToLower(text[start:]))
	}
}

// A kind is the kind of answer that a question wants.
type kind int

const (
	aTime kind = 1 << iota
	aNumber
)

// askedKind knows English questions only.
func askedKind(question string) (asked kind) {
	before := ""
	eachWord(question, func(word string) bool {
		switch {
		case word == "when", before == "how" && (word == "long" || word == "recently"), before == "what" && timeUnits[word]:
			asked |= aTime
		case before == "how" && (word == "many" || word == "much" || word == "often" || word == "old"):
			asked |= aNumber
		}
		before = word
		return true
	})
	return asked
}

// asksSaid knows English questions about what an assistant has said ("what did you recommend", "the
// shop that you mentioned", "remind me") or the user has ("the order in which I brought up"). A
// request to say something now, "can you list", is none.
func asksSaid(question string) (byAssistant, byUser bool) {
	var said, earlier bool
	subject, did, before := "", false, ""
	eachWord(question, func(word string) bool {
		switch {
		case word == "you" || word == "we" || word == "i":
			subject, did = word, before == "did"
		case saidVerbs[word] || did && sayVerbs[word] || before == "brought" && word == "up":
			said = said || subject == "you" || subject == "we"
			byUser = byUser || subject == "i"
		}
		earlier = earlier || before == "remind" && word == "me" || earlierWords[before] && conversationWords[word]
		before = word
		return true
	})
	return said || earlier && !byUser, byUser
}

// asksAdvice knows English questions for work or advice, which depend on how the user wants things:
// "how should I", "can you help me", "what would you suggest".
func asksAdvice(question string) (does bool) {
	before := ""
	eachWord(question, func(word string) bool {
		switch word {
		case "i", "you", "we":
			does = modals[before] || before == "do" || before == "help"
		case "me":
			does = before == "help"
		}
		does = does || sayVerbs[word] && before == "you"
		before = word
		return !does
	})
	return does
}

// statesWish knows English turns that say how the user wants things: "Always …", "I prefer …".
func statesWish(text string) (does bool) {
	n, before := 0, ""
	eachWord(text, func(word string) bool {
		n++
		switch {
		case n <= wishWords && (word == "always" || word == "never"):
			does = true
		case word == "prefer" || word == "preference":
			does = before == "i" || before == "d" || before == "would" || before == "my"
		}
		before = word
		return !does
	})
	return does
}

// wishWords are the first words of a turn that "always" is one of in an order.
const wishWords = 2

// answersKind finds a time or number, as asked.
func answersKind(text string, asked kind) (does bool) {
	eachWord(text, func(word string) bool {
		digit := word[0] >= '0' && word[0] <= '9'
		year := len(word) == 4 && digit && (word[:2] == "19" || word[:2] == "20")
		does = asked&aTime != 0 && (year || timeWords[word]) || asked&aNumber != 0 && (digit || numbers[word])
		return !does
	})
	return does
}

func firstPerson(text string) (does bool) {
	eachWord(text, func(word string) bool {
		does = firstPersonWords[word]
		return !does
	})
	return does
}

var (
	timeUnits = setOf("time date day month year")
	timeWords = setOf(`yesterday today tonight tomorrow ago recently just last next
		weekend week weeks month months year years summer winter spring autumn
		january february march april june july august september october november december
		monday tuesday wednesday thursday friday saturday sunday`)
	numbers           = setOf("one two three four five six seven eight nine ten dozen hundred couple several few")
	firstPersonWords  = setOf("i my mine me we our ours")
	sayVerbs          = setOf("tell say mention recommend suggest provide give advise list explain discuss talk")
	saidVerbs         = setOf("told said mentioned recommended suggested provided gave advised listed explained discussed talked")
	modals            = setOf("should can could would")
	earlierWords      = setOf("previous last earlier our")
	conversationWords = setOf("chat conversation discussion")
)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(words) {
		set[word] = true
	}
	return set
}
