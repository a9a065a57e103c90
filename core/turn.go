package core

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/prompt"
	"github.com/memcore/memcore/internal/secret"
	"github.com/memcore/memcore/store"
)

// A turn is the request of an agent's turn, and how it is answered. Whether to speak is decided apart
// from what is best: most requests tell an agent what to do next and want nothing of memory.
type turn struct {
	prompt.Prompt
	text string // what is searched for
	// question means that the scores decide, as in a search: it asks something in words of its own.
	question bool
	// dated means that it asks about a time, onlyTime that it asks for all that was then.
	dated, onlyTime bool
	// silence says why nothing is looked for; "" if something is.
	silence string
}

const (
	// mostTurnHits and turnTokens bound what a prompt that is no question gets: two sure hits beat six
	// doubtful ones.
	mostTurnHits = 2
	turnTokens   = 400
	// longestKeywords is how many words a prompt has at most to be taken for words to look up.
	longestKeywords = 6
	// mostAnswers bounds what a question gets, and leastOfBest the share of the best score of each.
	mostAnswers = 4
	leastOfBest = 0.3
	// smallMemory is the number of chunks up to which a score of sureEnough tells, also for an order:
	// there, nothing is near by chance, and no word is rare.
	smallMemory = 200
	sureEnough  = 0.5
	// leastNew is the least share of a candidate's words that the prompt does not have itself.
	leastNew = 0.35
)

// turnOf takes a request apart.
func turnOf(request string) *turn {
	t := &turn{Prompt: prompt.Parse(request)}
	words := len(strings.Fields(t.Own))
	t.question = !t.Orders && !t.Follows && t.Pasted == 0 && !asksForWork(t.Own) && (t.Asks || words <= longestKeywords && t.Kind == prompt.Request)
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

// asksForWork reports whether a prompt asks the agent to do something, in the form of a question or
// not ("can you add a test?"). "Can you tell me …" asks to be told.
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

// whySilent says why a turn got nothing.
func (t *turn) whySilent(ranked []scored) string {
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

// alsoAsked are further searches that a turn makes beside that for its text.
func (t *turn) alsoAsked(known *manifest, within store.Filter) []asked {
	var all []asked
	for _, line := range t.Errors[:min(len(t.Errors), 2)] {
		if line != t.text {
			all = append(all, asked{text: line, wanted: t.explainsError(line), why: "is about the error " + shortened(line)})
		}
	}
	for _, n := range t.Numbered {
		if n.Noun == "" && t.Kind != prompt.Command && len(t.Numbered) > 1 || t.Follows || staged[n.Noun] && (!t.Asks || goesOn().MatchString(t.Own)) {
			continue
		}
		if len(all) == mostAsked {
			break
		}
		name := cmp.Or(n.Noun, "#") + " " + n.Number
		all = append(all, asked{text: name, wanted: isNumbered(n), why: "is " + name})
	}
	for _, document := range rulesOf(known) {
		if !(store.Filter{Path: within.Path}).Passes("", "", document) {
			continue
		}
		if t.namesDocument(document) || namesRules().MatchString(t.Own) {
			all = append(all, asked{text: t.text, path: document, wanted: isRule, why: "is a rule of " + document})
		}
	}
	return all[:min(len(all), mostAsked)]
}

// rulesOf returns the documents that hold rules of the project, those of the outermost folders first.
func rulesOf(known *manifest) []string {
	var all []string
	for document := range known.Documents {
		if rulesFiles[strings.ToLower(path.Base(document))] {
			all = append(all, document)
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), cmp.Compare(a, b))
	})
	return all
}

// mostAsked is how many further searches a turn makes.
const mostAsked = 3

// An asked is a further search of a turn.
type asked struct {
	text   string
	path   string // only there; "" is everywhere
	wanted func(relevance.Query, scored) bool
	why    string
}

// staged are parts of the work that goes on, which prompts name to go on with it.
var staged = map[string]bool{"phase": true, "step": true, "item": true, "observation": true, "finding": true, "todo": true, "version": true, "section": true,
	"chapter": true, "milestone": true, "sprint": true, "case": true}

// rulesFiles are names of files that hold rules of a project.
var rulesFiles = map[string]bool{"claude.md": true, "agents.md": true, "gemini.md": true, "beans.md": true, "agent.md": true, "contributing.md": true,
	"conventions.md": true, ".cursorrules": true, "copilot-instructions.md": true}

var goesOn = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^\W*(please\s+)?(proceed|continue|go on|start|carry on|move on|resume|weiter|continúa|continue)\b`)
})

// isNumbered reports whether the title, the path or the beginning of a candidate has the thing.
func isNumbered(n prompt.Numbered) func(relevance.Query, scored) bool {
	noun := `#`
	if n.Noun != "" {
		noun = `\b` + regexp.QuoteMeta(n.Noun) + `s?\b[\s:_/-]*#?0*`
	}
	number := cmp.Or(strings.TrimLeft(n.Number, "0"), "0")
	named := regexp.MustCompile(`(?i)` + noun + regexp.QuoteMeta(number) + `\b`)
	return func(_ relevance.Query, c scored) bool {
		title, _, _ := strings.Cut(strings.TrimSpace(c.record.Text), "\n")
		if n.Noun == "" { // an item of a list has it somewhere
			title = c.record.Text
		}
		if c.record.Kind == source.KindMarkdown {
			title += "\n" + c.record.Path
			if len(c.record.Headings) > 0 {
				title += "\n" + c.record.Headings[len(c.record.Headings)-1]
			}
		}
		return named.MatchString(title)
	}
}

// namesRules finds that a prompt is about what a project demands.
var namesRules = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(the|our|your|these|project|coding|code) (rules|conventions|guidelines)\b|\b(code style|style guide)\b|(项目|代码)(规范|规则)|規約`)
})

// isRule reports whether a candidate of a file of rules says more than its title.
func isRule(_ relevance.Query, c scored) bool { return c.record.Tokens >= leastRule }

const leastRule = 20

// explainsError returns whether a candidate is about an error: it holds most of the words of its line.
func (t *turn) explainsError(line string) func(relevance.Query, scored) bool {
	p := prompt.Parse(line)
	return func(q relevance.Query, c scored) bool {
		telling := relevance.TellingWords(p, q)
		for i, w := range q.Words {
			if w.Records == 0 {
				telling[i] = 0 // paths, numbers and values of this very time
			}
		}
		return relevance.HoldsMost(telling, q, c.Candidate) && !t.echoes(c.record.Text)
	}
}

// echoes reports whether a text says little that the prompt does not say itself.
func (t *turn) echoes(text string) bool {
	own, said := wordsOf(text), wordsOf(t.Own)
	fresh := 0
	for word := range own {
		if _, ok := said[word]; !ok {
			fresh++
		}
	}
	return float64(fresh) < leastNew*float64(len(own))
}

// namesDocument reports whether the prompt names the document, which the agent then reads itself.
func (t *turn) namesDocument(document string) bool {
	return slices.ContainsFunc(t.Files, func(file string) bool {
		return strings.EqualFold(path.Base(document), path.Base(file))
	})
}

// decide marks what a turn is not given, and why the rest is. A prompt that is no question gets what
// is likely wanted in the middle of work (relevance.Turn); turns of people's chats, and all that
// answers a question, are left to their scores.
func (t *turn) decide(model *relevance.Turn, q relevance.Query, ranked []scored) {
	telling := relevance.TellingWords(t.Prompt, q)
	if slices.Max(append(telling, 0)) == 0 && !t.dated && (!t.question || len(t.Files) > 0) {
		t.silence = "the prompt names nothing that memory could know"
	}
	best := 0.0
	for _, c := range ranked {
		best = max(best, c.Score)
	}
	for i := range ranked {
		c := &ranked[i]
		switch {
		case c.Turn:
			continue
		case t.silence != "":
			c.refused = verdictUnasked
			continue
		case t.question:
			switch {
			case c.record.Kind == source.KindConversation && t.echoes(c.record.Text):
				c.refused = verdictEcho
			case !t.onlyTime && c.Score < leastOfBest*best:
				c.refused = verdictBehind
			}
			continue
		}
		worth := model.Worth(relevance.TurnEvidence(t.Prompt, q, telling, c.Candidate))
		c.worth = &worth
		switch {
		case t.namesDocument(c.record.Path):
			c.refused = verdictNamed
		case t.echoes(c.record.Text):
			c.refused = verdictEcho
		case worth >= model.Least:
			c.why = "holds enough of what the prompt is about"
		case relevance.HoldsMost(telling, q, c.Candidate):
			c.why = "holds most of what the prompt is about"
		case q.Chunks <= smallMemory && c.Score >= sureEnough:
			c.why = "is likely about it, and memory is small"
		default:
			c.refused = verdictUnasked
		}
	}
}

// answerTurn ranks what was gathered for a turn, makes its further searches, and decides what it is
// given. It narrows the selection of a prompt that is no question.
func (m *Manager) answerTurn(ctx context.Context, current snapshot, model *relevance.Turn, t *turn, s *selection, g gathered) []scored {
	repeats := g.takeRepeats(t.text)
	q := g.query(t.text)
	t.dated, t.onlyTime = len(g.times.spans) > 0, g.times.only
	ranked := m.rank(t.text, g)
	switch t.question = t.question || t.onlyTime; {
	case t.onlyTime:
		s.sparing = false // there is no one answer
	case t.question:
		s.limit = min(s.limit, mostAnswers)
	default:
		orderForTurn(ranked)
		s.limit, s.sparing = min(s.limit, mostTurnHits), false
		if s.budget > turnTokens {
			s.budget = turnTokens
		}
	}
	var sure []scored
	for _, a := range t.alsoAsked(current.manifest, s.filter) {
		sure = append(sure, m.alsoFound(ctx, current, a, *s)...)
	}
	ranked = slices.DeleteFunc(ranked, func(c scored) bool {
		return slices.ContainsFunc(sure, func(d scored) bool { return d.record.ID == c.record.ID })
	})
	t.decide(model, q, ranked)
	return slices.Concat(sure, ranked, repeats)
}

// chosenFirst puts what a turn is given whatever its score before what the score decides, after scores
// have changed.
func chosenFirst(ranked []scored) {
	slices.SortStableFunc(ranked, func(a, b scored) int { return cmp.Compare(given(b), given(a)) })
}

func given(c scored) int {
	if c.why != "" {
		return 1
	}
	return 0
}

// takeRepeats takes out of the candidates turns that repeat the question: it was asked before, and
// what is known of it is elsewhere. They must not be what other candidates are compared with, else
// the answer falls behind each time that its question is asked.
func (g *gathered) takeRepeats(text string) (repeats []scored) {
	asked := wordsOf(text)
	g.candidates = slices.DeleteFunc(slices.Clone(g.candidates), func(c candidate) bool {
		if c.record.Kind != source.KindConversation || wordsOf(c.record.Text).overlap(asked) < nearDuplicate {
			return false
		}
		repeats = append(repeats, scored{candidate: c, Ranked: relevance.Ranked{Candidate: relevance.Candidate{ID: c.record.ID}}, refused: verdictQuestion})
		return true
	})
	return repeats
}

// orderForTurn is relevance.OrderForTurn for scored candidates.
func orderForTurn(ranked []scored) {
	order := make([]relevance.Ranked, len(ranked))
	byID := make(map[string]scored, len(ranked))
	for i, c := range ranked {
		order[i], byID[c.record.ID] = c.Ranked, c
	}
	relevance.OrderForTurn(order)
	for i, r := range order {
		ranked[i] = byID[r.ID]
	}
}

// alsoFound returns the best of a further search, if it is wanted. An error costs the search, not the turn.
func (m *Manager) alsoFound(ctx context.Context, current snapshot, a asked, s selection) []scored {
	if a.path != "" {
		s.filter.Path = a.path
	}
	g := m.gather(ctx, current, a.text, s, map[string]time.Duration{})
	if g.err != nil {
		return nil
	}
	g.candidates = slices.DeleteFunc(g.candidates, func(c candidate) bool { return s.isOwn(c.record) })
	q := g.query(a.text)
	ranked := m.rank(a.text, g)
	orderForTurn(ranked)
	for _, c := range ranked[:min(len(ranked), looksThrough)] {
		if a.wanted(q, c) {
			c.why = a.why
			return []scored{c}
		}
	}
	return nil
}

// looksThrough is how many candidates of a further search are looked at.
const looksThrough = 10

// shortened is the beginning of a line without secrets, in quotes.
func shortened(line string) string {
	const most = 60
	line, _ = secret.Redact(line)
	if len(line) <= most {
		return fmt.Sprintf("%q", line)
	}
	return fmt.Sprintf("%q", strings.ToValidUTF8(line[:most], "")+"…")
}
