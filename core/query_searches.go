package core

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/text/excerpt"
	"github.com/memcore/memcore/internal/text/prompt"
	"github.com/memcore/memcore/internal/text/secret"
	"github.com/memcore/memcore/store"
)

// A search is one that a turn makes beside its own text's. Its findings are hits whatever their
// score.
type search struct {
	text   string
	path   string // the document to look in; "" is all
	most   int    // hits, each of another document; 0 is one
	wanted func(relevance.Query, *candidate) bool
	// prefers chooses among the wanted; nil has no preference.
	prefers func(relevance.Query, *candidate) bool
	why     string // candidate.sure of what it finds
}

const (
	// mostSearches is for what a turn names.
	mostSearches = 3
	// looksThrough is how many candidates a search for one hit reads.
	looksThrough = 10
	// mostStaged documents describe a stage: a plan, and its subject.
	mostStaged = 2
	// leastRule is in tokens: less is only a title.
	leastRule = 20
)

// find returns the best wanted candidates; none after an error.
func (q *query) find(ctx context.Context, s search) (found []*candidate) {
	g := q.gatherIn(ctx, s.path, s.text)
	orderForTurn(q.index.relevance, g.candidates)
	all := g.candidates
	if s.most == 0 {
		all = all[:min(len(all), looksThrough)]
	}
	if s.prefers != nil {
		slices.SortStableFunc(all, func(a, b *candidate) int { return trueFirst(s.prefers(g.question, a), s.prefers(g.question, b)) })
	}
	for _, c := range all {
		if len(found) == max(s.most, 1) {
			break
		}
		if s.wanted(g.question, c) && !slices.ContainsFunc(found, func(f *candidate) bool { return f.Path == c.Path }) {
			c.sure = s.why
			found = append(found, c)
		}
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

// documents returns those of a kind that pass the filter.
func (q *query) documents(is func(path string) bool) (all []string) {
	byPath := store.Filter{Path: q.filter.Path, Not: q.filter.Not}
	for document := range q.index.manifest.Documents {
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

// searches are for errors, numbered things and rules.
func (q *query) searches(t *turn) (all []search) {
	for _, line := range t.Errors[:min(len(t.Errors), 2)] {
		if line != t.text {
			all = append(all, search{text: line, wanted: t.explainsError(line), why: "is about the error " + quoted(line)})
		}
	}
	for _, n := range t.Numbered {
		if len(all) == mostSearches {
			break
		}
		if t.wantsNumbered(n) {
			name := cmp.Or(n.Noun, "#") + " " + n.Number
			s := search{text: name, wanted: isNumbered(n), why: "is " + name}
			if staged[n.Noun] {
				s.most = mostStaged
			}
			all = append(all, s)
		}
	}
	if namesRules().MatchString(t.Own) {
		for _, document := range q.rules() {
			isRule := func(_ relevance.Query, c *candidate) bool { return c.Tokens >= leastRule }
			all = append(all, search{text: t.text, path: document, wanted: isRule, why: "is a rule of " + document})
		}
	}
	return all[:min(len(all), mostSearches)]
}

// namesRules matches a prompt about a project's rules.
var namesRules = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(the|our|your|these|project|coding|code) (rules|conventions|guidelines)\b|\b(code style|style guide)\b|(项目|代码)(规范|规则)|規約`)
})

// wantsNumbered means to read a numbered thing, not to list it.
func (t *turn) wantsNumbered(n prompt.Numbered) bool {
	switch {
	case n.Noun == "" && t.Kind != prompt.Command && len(t.Numbered) > 1:
		return false
	case staged[n.Noun] && goesOn().MatchString(t.Own):
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

var goesOn = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^\W*(please\s+)?(proceed|continue|go on|start|carry on|move on|resume|weiter|continúa|continue)\b`)
})

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
