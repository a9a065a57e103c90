package core

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/text/excerpt"
	"github.com/memcore/memcore/internal/text/lazy"
	"github.com/memcore/memcore/internal/text/prompt"
	"github.com/memcore/memcore/internal/text/secret"
	"github.com/memcore/memcore/store"
)

// An intent is something that a prompt names or asks for and that has a search of its own beside
// that for the prompt's words: what it finds is a hit whatever its score. Package prompt parses a
// prompt once and holds the words of languages; here stand the searches.
type intent struct {
	// searches are those of a prompt that has the intent; none if it does not.
	searches func(ctx context.Context, q *query, t *turn) []search
	// max is how many hits the searches find in all.
	max int
	// better orders the hits of all searches before max counts; nil keeps the order of searches.
	better func(a, b *candidate) int
	// anyTurn asks for every prompt, also if a caller's threshold decides what is a hit.
	anyTurn bool
}

// intents are asked in this order, and what an earlier one finds stands before the others.
var intents = []intent{
	{searches: forLastSolved, max: 1, better: newestSolved, anyTurn: true},
	{searches: forUser, max: maxNamed, anyTurn: true},
	{searches: forNamed, max: 2 * maxNamed},
	{searches: forRulesOfFiles, max: maxTurnHits},
}

// A search finds hits for an intent.
type search struct {
	text      string
	otherwise string // is searched for if text finds nothing; "" for no second try
	path      string // the document to look in; "" is all
	max       int    // hits, each of another document; 0 is one
	wanted    func(relevance.Query, *candidate) bool
	// better orders candidates before one is chosen; nil goes by values.
	better func(a, b *candidate) int
	// known is a hit if neither words nor vectors find a wanted one.
	known *store.Record
	why   string // candidate.sure of what it finds
}

const (
	// maxNamed is for what a prompt names.
	maxNamed = 3
	// looksThrough is how many candidates a search for one hit reads.
	looksThrough = 10
	// maxStaged documents describe a stage: a plan, and its subject.
	maxStaged = 2
)

// findIntended returns what the intents of a prompt find, without repeating it.
func (q *query) findIntended(ctx context.Context, t *turn) (all []*candidate) {
	for _, i := range intents {
		if !q.decides && !i.anyTurn {
			continue
		}
		var found []*candidate
		for _, s := range i.searches(ctx, q, t) {
			if ctx.Err() != nil || i.better == nil && len(found) >= i.max {
				break
			}
			found = append(found, q.find(ctx, s)...)
		}
		if i.better != nil {
			slices.SortStableFunc(found, i.better)
		}
		all = before(all, found[:min(len(found), i.max)])
	}
	return all
}

// find returns the best wanted candidates; none after an error.
func (q *query) find(ctx context.Context, s search) (found []*candidate) {
	g := q.gatherIn(ctx, s.path, s.text)
	all := g.candidates
	orderForTurn(q.index.relevance, all)
	if s.better != nil {
		slices.SortStableFunc(all, s.better)
	} else if s.max == 0 {
		all = all[:min(len(all), looksThrough)]
	}
	for _, c := range all {
		if len(found) == max(s.max, 1) {
			break
		}
		if s.wanted(g.question, c) && !slices.ContainsFunc(found, func(f *candidate) bool { return f.Path == c.Path }) {
			c.sure = s.why
			found = append(found, c)
		}
	}
	switch {
	case len(found) > 0:
	case s.otherwise != "":
		s.text, s.otherwise = s.otherwise, ""
		return q.find(ctx, s)
	case s.known != nil:
		c := candidateOf(*s.known)
		c.sure = s.why
		found = []*candidate{c}
	}
	return found
}

// gatherIn searches one document, or all; it swallows errors.
func (q *query) gatherIn(ctx context.Context, path, text string) gathered {
	inside := *q
	inside.took = map[string]time.Duration{}
	inside.filter.Path = cmp.Or(path, q.filter.Path)
	g, err := inside.gather(ctx, text)
	if err != nil {
		return gathered{}
	}
	inside.rank(g)
	return g
}

// namedIn returns the documents that a prompt may want for what their names say that they are. They
// are looked for once, since there may be very many others.
func namedIn(documents iter.Seq[string]) (all []string) {
	for document := range documents {
		if source.IsRules(document) || isProfile(document) || isEpisodes(document) {
			all = append(all, document)
		}
	}
	return all
}

// documents returns those of namedIn of one kind that pass the filter.
func (q *query) documents(is func(path string) bool) (all []string) {
	byPath := store.Filter{Path: q.filter.Path, Not: q.filter.Not}
	for _, document := range q.index.named() {
		if is(document) && byPath.Passes("", "", document) {
			all = append(all, document)
		}
	}
	return all
}

// rules returns the documents with rules, outer folders first.
func (q *query) rules() []string {
	return slices.SortedFunc(slices.Values(q.documents(source.IsRules)), func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), cmp.Compare(a, b))
	})
}

// forNamed searches for errors, numbered things and rules.
func forNamed(_ context.Context, q *query, t *turn) (all []search) {
	for _, line := range t.Errors[:min(len(t.Errors), 2)] {
		if line != t.text {
			all = append(all, search{text: line, wanted: t.explainsError(line), why: "is about the error " + quoted(line)})
		}
	}
	for _, n := range t.Numbered {
		if len(all) == maxNamed {
			break
		}
		if t.wantsNumbered(n) {
			name := cmp.Or(n.Noun, "#") + " " + n.Number
			s := search{text: name, wanted: isNumbered(n), why: "is " + name}
			if staged[n.Noun] {
				s.max = maxStaged
			}
			all = append(all, s)
		}
	}
	if t.NamesRules {
		for _, document := range q.rules() {
			isRule := func(_ relevance.Query, c *candidate) bool { return !isTitle(c.Text) }
			all = append(all, search{text: t.text, path: document, wanted: isRule, why: "is a rule of " + document})
		}
	}
	return all[:min(len(all), maxNamed)]
}

// wantsNumbered means to read a numbered thing, not to list it.
func (t *turn) wantsNumbered(n prompt.Numbered) bool {
	switch {
	case n.Noun == "" && t.Kind != prompt.Command && len(t.Numbered) > 1:
		return false
	case staged[n.Noun] && t.GoesOn:
		return false
	case t.onlyStaged():
		return true
	}
	return !t.Follows && (!staged[n.Noun] || t.Asks)
}

// onlyStaged finds prompts such as "implement phase 12".
func (t *turn) onlyStaged() bool {
	if len(t.Numbered) != 1 || !staged[t.Numbered[0].Noun] || len(t.Files) > 0 || t.Pasted > 0 {
		return false
	}
	words := strings.FieldsFunc(t.Own, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' })
	return !slices.ContainsFunc(words, func(word string) bool {
		return prompt.IsTelling(word) && !strings.EqualFold(word, t.Numbered[0].Noun)
	})
}

// staged are stages of work, named to go on with them.
var staged = map[string]bool{"phase": true, "step": true, "item": true, "observation": true, "finding": true, "todo": true, "version": true, "section": true,
	"chapter": true, "milestone": true, "sprint": true, "case": true}

// isNumbered finds the thing in title, path or beginning.
func isNumbered(n prompt.Numbered) func(relevance.Query, *candidate) bool {
	noun := `#`
	if n.Noun != "" {
		noun = `\b` + regexp.QuoteMeta(n.Noun) + `s?\b[\s:_/-]*#?0*`
	}
	if staged[n.Noun] {
		noun = `(?m)^\W*` + noun // many titles mention others
	}
	number := cmp.Or(strings.TrimLeft(n.Number, "0"), "0")
	named := regexp.MustCompile(`(?i)` + noun + regexp.QuoteMeta(number) + `\b`)
	return func(_ relevance.Query, c *candidate) bool {
		title, _, _ := strings.Cut(strings.TrimSpace(c.Text), "\n")
		if n.Noun == "" { // an item of a list may have it anywhere
			title = c.Text
		}
		if c.record.Kind != source.KindConversation {
			if !staged[n.Noun] {
				title += "\n" + c.Path
			}
			if last := len(c.record.Headings) - 1; last >= 0 {
				title += "\n" + c.record.Headings[last]
			}
		}
		return named.MatchString(title)
	}
}

// explainsError matches candidates with most words of an error's line.
func (t *turn) explainsError(line string) func(relevance.Query, *candidate) bool {
	p := prompt.Parse(line)
	return func(q relevance.Query, c *candidate) bool {
		telling := relevance.TellingWords(p, q)
		for i, w := range q.Words {
			if w.Records == 0 {
				telling[i] = 0 // paths, numbers and values of this one occurrence
			}
		}
		return t.model.HoldsMost(telling, q, c.Candidate) && !t.echoes(c.Text)
	}
}

// quoted quotes the beginning of a line, without secrets.
func quoted(line string) string {
	const most = 60
	line, _ = secret.Redact(line)
	return fmt.Sprintf("%q", excerpt.Of(line, most))
}

// A question about the user may share no word with the answer: "who am I", "Name: Zhang San". So
// such documents are searched.

// profileFiles are about the user in any folder, or only in those of profileFolders: elsewhere
// user.md may describe a table.
var (
	profileFiles   = map[string]bool{"about-me.md": true, "me.md": true, "user.md": false, "profile.md": false, "preferences.md": false}
	profileFolders = map[string]bool{"facts": true, "memories": true}
)

// StatedFile has what users said about themselves in earlier sessions.
const StatedFile = "about-user.md"

func isProfile(document string) bool {
	name := strings.ToLower(path.Base(document))
	anywhere, known := profileFiles[name]
	return name == StatedFile || known && (anywhere || profileFolders[strings.ToLower(path.Base(path.Dir(document)))])
}

// statesUser matches a rule that says who the user is.
var statesUser = lazy.Regexp(`(?i)\b(the )?user('s|’s| is| has| lives| works| prefers| likes)\b|\bmy name\b|\b(i am|i'm|i’m|call me)\b|用户|我(叫|是)|\bich (bin|heiße)\b`)

const (
	// maxProfiles documents are searched for facts about the user.
	maxProfiles    = 6
	wordsOfProfile = "user name role language user's profile I am my"
)

// AboutUser returns what answers a question for the user: profiles, and what says "I am".
func (m *Manager) AboutUser(ctx context.Context) ([]MemoryHit, error) {
	result, err := m.RetrieveRelevant(ctx, "what do you know about me?", RetrieveOptions{Unrecorded: true, Limit: maxProfiles})
	return slices.DeleteFunc(result.Hits, func(h MemoryHit) bool {
		return !isProfile(h.Path) && !statesUser().MatchString(h.Text)
	}), err
}

// forUser searches for facts about the user, if asked for.
func forUser(_ context.Context, q *query, t *turn) (all []search) {
	self := t.AsksOfSelf()
	if self == prompt.OfOthers || t.AsksForWork {
		return nil
	}
	const why = "says who the user is"
	for _, document := range slices.SortedFunc(slices.Values(q.documents(isProfile)), byAuthority) {
		s := search{text: t.Own, path: document, better: statesFact, why: why, wanted: func(question relevance.Query, c *candidate) bool {
			return self != prompt.OfMine || holdsHalf(relevance.TellingWords(t.Prompt, question), c)
		}}
		if self == prompt.OfMe { // it may share no word with the question
			s.otherwise = wordsOfProfile
		}
		all = append(all, s)
	}
	if self == prompt.OfMe {
		for _, document := range q.rules() {
			all = append(all, search{text: t.Own, path: document, better: statesFact, why: why,
				wanted: func(_ relevance.Query, c *candidate) bool { return statesUser().MatchString(c.Text) }})
		}
	}
	return all[:min(len(all), maxProfiles)]
}

// statesFact puts a part with a fact before one that only introduces the file.
func statesFact(a, b *candidate) int {
	fact := func(c *candidate) bool { return isFact().MatchString(c.Text) || statesUser().MatchString(c.Text) }
	return trueFirst(fact(a), fact(b))
}

// isFact matches a line such as "- Name: Zhang San".
var isFact = lazy.Regexp(`(?m)^[ \t]*([-*+][ \t]+)?\**[\p{L} ]{1,30}\**[:：]\**[ \t]*\S`)

// byAuthority sorts facts before preferences, what the user said last.
func byAuthority(a, b string) int {
	rank := func(document string) int {
		switch {
		case path.Base(document) == StatedFile:
			return 2
		case strings.ToLower(path.Base(document)) == "preferences.md":
			return 1
		}
		return 0
	}
	return cmp.Or(rank(a)-rank(b), strings.Compare(a, b))
}

// holdsHalf means half of the telling words, and at least one.
func holdsHalf(telling []float64, c *candidate) bool {
	held := relevance.MassOf(telling, c.Holds)
	return held > 0 && held >= relevance.MassOf(telling, ^uint64(0))/2
}

// "What bug did we fix last time?" may share no word with its answer, the newest episode of an
// error.

// SolvedFile has errors that were solved in earlier sessions.
const SolvedFile = "solved-earlier.md"

func isEpisodes(document string) bool {
	return path.Base(document) == SolvedFile || strings.ToLower(path.Base(path.Dir(document))) == "episodes"
}

const (
	// wordsOfEpisodes are words that episodes of errors have.
	wordsOfEpisodes = "Summary Date Problem Solution bug fix fixed error"
	maxEpisodes     = 3
)

var (
	tellsOfError  = lazy.Regexp(`(?im)^\s*[-*]?\s*\**(problem|bug|error|cause|root cause)\**\s*:|^#+ .*\b(bug|fix|fixed|fixes|leak|crash|error|failure|panic)\b|^\s*[-*]?\s*(问题|原因)\s*[:：]|^#+ .*(修复|错误)`)
	dateOfEpisode = lazy.Regexp(`(?m)^\s*[-*]?\s*\**Date\**\s*:\**\s*(\d{4}-\d{2}-\d{2})`)
)

// forLastSolved searches for the error that was solved last, if asked for.
func forLastSolved(_ context.Context, q *query, t *turn) (all []search) {
	if !t.AsksWhatWasSolved() || t.AsksForWork {
		return nil
	}
	episodes := slices.SortedFunc(slices.Values(q.documents(isEpisodes)), func(a, b string) int {
		return cmp.Or(cmp.Compare(path.Base(b), path.Base(a)), strings.Compare(a, b)) // SolvedFile is before all months
	})
	for _, document := range episodes[:min(len(episodes), maxEpisodes)] {
		all = append(all, search{text: wordsOfEpisodes, path: document, better: newestSolved, why: "tells what was solved last",
			wanted: func(_ relevance.Query, c *candidate) bool { return tellsOfError().MatchString(c.Text) }})
	}
	return all
}

// newestSolved sorts the newest episode first, of one day the last in the file.
func newestSolved(a, b *candidate) int {
	byLine := 0
	if a.Path == b.Path {
		byLine = cmp.Compare(b.Line, a.Line)
	}
	return cmp.Or(strings.Compare(whenSolved(b.record), whenSolved(a.record)), byLine)
}

// whenSolved is an episode's day, else its file's month.
func whenSolved(r store.Record) string {
	if found := dateOfEpisode().FindStringSubmatch(r.Text); found != nil {
		return found[1]
	}
	return strings.TrimSuffix(path.Base(r.Path), ".md")
}
