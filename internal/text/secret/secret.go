// Package secret redacts keys, tokens and passwords in text.
//
// It applies the rules of gitleaks (MIT), with their keywords, entropies and exceptions, those of
// own.toml, a grammar of named secrets, and the form of payment cards. A finding never holds the
// secret.
package secret

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memcore/memcore/internal/text/lazy"
	"github.com/memcore/memcore/internal/text/sanitize"
)

// A Finding is a redacted secret.
type Finding struct {
	Rule string `json:"rule"` // such as "aws-access-token"
	Line int    `json:"line"` // from 1
}

// Redact replaces each secret by a mark such as "[redacted: github-pat]" and returns the findings
// in order. It also finds secrets that invisible characters, Markdown escapes or line wraps divide,
// and keeps the number of lines. Redacting again changes nothing. It is safe for concurrent use.
func Redact(text string) (string, []Finding) {
	spans := find(text)
	if len(spans) == 0 {
		return text, nil
	}
	var b strings.Builder
	var findings []Finding
	at, line := 0, 1
	for _, s := range spans {
		line += strings.Count(text[at:s.start], "\n")
		findings = append(findings, Finding{Rule: s.rule, Line: line})
		b.WriteString(text[at:s.start])
		b.WriteString(Mark + s.rule + "]")
		lines := strings.Count(text[s.start:s.end], "\n")
		b.WriteString(strings.Repeat("\n", lines))
		at, line = s.end, line+lines
	}
	b.WriteString(text[at:])
	return b.String(), findings
}

// RedactQuestion redacts a question that goes to a server. Nothing around a key that was pasted
// alone says what it is, so words of its form are replaced, too, unless known holds them: what the
// server is told anyway. Among other words, names of functions and files stay: without them, the
// question means nothing.
func RedactQuestion(question, known string) string {
	question, _ = Redact(question)
	all := withoutSigns(question)
	return questionWord().ReplaceAllStringFunc(question, func(word string) string {
		if isBareKey(word) && (withoutSigns(word) == all || !isOfWords(word)) && !strings.Contains(known, word) {
			return Mark + "unknown]"
		}
		return word
	})
}

// withoutSigns returns a text without the quotes, the punctuation and the spaces around it.
func withoutSigns(text string) string {
	return strings.TrimFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// questionWord matches a word without the quotes and the punctuation around it.
var questionWord = lazy.Regexp(`[\pL\pN][^\s"'` + "`" + `()\[\]{}<>,;]*`)

// Mark begins what stands for a secret.
const Mark = "[redacted: "

// WithoutCutMark returns the beginning of a redacted text without a mark that was cut in two.
func WithoutCutMark(text string) string {
	if at := strings.LastIndex(text, Mark[:len(Mark)-2]); at >= 0 && !strings.Contains(text[at:], "]") {
		return strings.TrimRight(text[:at], " ")
	}
	return text
}

// Places returns the rules and lines of findings, as a list for a person.
func Places(findings []Finding) string {
	var places []string
	for _, f := range findings {
		places = append(places, fmt.Sprintf("%s in line %d", f.Rule, f.Line))
	}
	return strings.Join(slices.Compact(places), ", ")
}

// Kinds returns the rules of findings, each once, as a list for a person.
func Kinds(findings []Finding) string {
	var kinds []string
	for _, f := range findings {
		if !slices.Contains(kinds, f.Rule) {
			kinds = append(kinds, f.Rule)
		}
	}
	return strings.Join(kinds, ", ")
}

// A span is a secret in a text.
type span struct {
	start, end int
	rule       string
}

// find returns the secrets in a text and in its views, in order, without overlaps.
func find(text string) []span {
	spans := findIn(text, false)
	v := view{text: text}
	for _, hide := range []struct {
		ranges func(string) [][2]int
		joins  bool
	}{{ranges: sanitize.Hidden}, {ranges: escapes}, {ranges: wraps, joins: true}} {
		gaps := hide.ranges(v.text)
		if len(gaps) == 0 {
			continue
		}
		v = v.without(gaps)
		for _, s := range findIn(v.text, hide.joins) {
			spans = append(spans, span{v.place(s.start), v.place(s.end-1) + 1, s.rule})
		}
	}
	slices.SortStableFunc(spans, func(a, b span) int {
		if a.start != b.start {
			return a.start - b.start
		}
		return b.end - a.end // longer ones first
	})
	var apart []span
	for _, s := range spans {
		last := len(apart) - 1
		if last >= 0 && s.start < apart[last].end {
			apart[last].end = max(apart[last].end, s.end)
			continue
		}
		apart = append(apart, s)
	}
	return apart
}

// findIn applies the rules to a text. In a text whose line wraps were removed, it returns only
// secrets that their own beginning shows: other words could have been joined.
func findIn(text string, joined bool) []span {
	rules := load()
	lower := lowerCase(text)
	wanted := map[string]bool{}
	var hits []hit
	rules.keywords.find(lower, func(at int, word string) {
		wanted[word] = true
		if rules.named[word] {
			hits = append(hits, hit{at, word})
		}
	})
	var spans []span
	for _, r := range rules.all {
		if len(r.keywords) > 0 && !slices.ContainsFunc(r.keywords, func(k string) bool { return wanted[k] }) {
			continue
		}
		for _, s := range r.find(text, rules) {
			if !joined || slices.ContainsFunc(r.keywords, func(k string) bool { return strings.HasPrefix(lower[s.start:s.end], k) }) {
				spans = append(spans, s)
			}
		}
	}
	if joined {
		return spans
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(a.start-b.start, len(b.word)-len(a.word))
	})
	return append(append(spans, findNamed(text, lower, hits)...), findCards(text)...)
}

// lowerCase returns a text in lower case, but for letters whose length would change.
func lowerCase(text string) string {
	lower := []byte(text)
	for i, r := range text {
		if l := unicode.ToLower(r); l != r && utf8.RuneLen(l) == utf8.RuneLen(r) {
			utf8.EncodeRune(lower[i:], l)
		}
	}
	return string(lower)
}

func (r rule) find(text string, set ruleSet) []span {
	var spans []span
	for _, at := range r.regex().FindAllStringSubmatchIndex(text, -1) {
		start, end := r.secretIn(at)
		secret := text[start:end]
		if strings.Contains(secret, Mark[:len(Mark)-2]) || strings.HasPrefix(text[start:], Mark) {
			continue // redacted already
		}
		if r.entropy != 0 && entropy(secret) <= r.entropy {
			continue
		}
		match, line := text[at[0]:at[1]], lineAround(text, at[0], at[1])
		allows := func(e exception) bool { return e.applies(secret, match, line) }
		if slices.ContainsFunc(set.allowed(), allows) || slices.ContainsFunc(r.allowed(), allows) {
			continue
		}
		spans = append(spans, span{start, end, r.id})
	}
	return spans
}

// secretIn returns the secret in a match: the rule's group, else the first non-empty one.
func (r rule) secretIn(at []int) (start, end int) {
	if g := r.group; g > 0 && 2*g+1 < len(at) && at[2*g] >= 0 {
		return at[2*g], at[2*g+1]
	}
	for g := 2; g+1 < len(at); g += 2 {
		if at[g] >= 0 && at[g] < at[g+1] {
			return at[g], at[g+1]
		}
	}
	return at[0], at[1]
}

func lineAround(text string, start, end int) string {
	start = strings.LastIndexByte(text[:start], '\n') + 1
	if n := strings.IndexByte(text[end:], '\n'); n >= 0 {
		return text[start : end+n]
	}
	return text[start:]
}

// entropy returns Shannon's entropy in bits per character.
func entropy(text string) float64 {
	counts := map[rune]int{}
	n := 0
	for _, r := range text {
		counts[r]++
		n++
	}
	bits := 0.0
	for _, count := range counts {
		p := float64(count) / float64(n)
		bits -= p * math.Log2(p)
	}
	return bits
}
