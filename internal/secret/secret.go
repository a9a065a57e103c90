// Package secret finds what looks like a key, a token or a password in text, and takes it out.
//
// Rules are those of gitleaks (MIT), with their keywords, entropies and exceptions, and a few of our own for what stands in notes and
// logs: passwords that are assigned or named, and those in addresses. A finding never holds the secret.
package secret

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	ahocorasick "github.com/BobuSumisu/aho-corasick"
	"github.com/spf13/viper"
	"github.com/zricethezav/gitleaks/v8/config"

	"github.com/memcore/memcore/internal/sanitize"
)

// A Finding is a secret that was taken out.
type Finding struct {
	Rule string `json:"rule"` // such as "aws-access-token"
	Line int    `json:"line"` // from 1
}

// Redact returns the text with a mark in the place of each secret, such as "[redacted: github-pat]", and what was found, in order. A
// secret is found also if characters that nobody sees stand within it. The text keeps its number of lines. Redacting again changes nothing. It is safe for concurrent use.
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
		b.WriteString(mark + s.rule + "]")
		lines := strings.Count(text[s.start:s.end], "\n")
		b.WriteString(strings.Repeat("\n", lines))
		at, line = s.end, line+lines
	}
	b.WriteString(text[at:])
	return b.String(), findings
}

const mark = "[redacted: "

// A span is a secret in a text.
type span struct {
	start, end int
	rule       string
}

// find returns the secrets in a text, in order, none overlapping another: those in the text as it is, and those in what a person sees of it.
// Who shows the text takes out what nobody sees, and would put a key together again that it parts.
func find(text string) []span {
	spans := findIn(text)
	if hidden := sanitize.Hidden(text); len(hidden) > 0 {
		spans = append(spans, findBeneath(text, hidden)...)
	}
	slices.SortStableFunc(spans, func(a, b span) int {
		if a.start != b.start {
			return a.start - b.start
		}
		return b.end - a.end // of two that begin at the same place the longer one
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

// findBeneath returns the secrets in a text without its hidden ranges, as they stand in the text.
func findBeneath(text string, hidden [][2]int) []span {
	var seen strings.Builder
	var gaps []int // where in seen something is left out
	done := 0
	for _, h := range hidden {
		seen.WriteString(text[done:h[0]])
		gaps = append(gaps, seen.Len())
		done = h[1]
	}
	seen.WriteString(text[done:])
	// place is where in text a byte of seen stands.
	place := func(at int) int {
		before, _ := slices.BinarySearch(gaps, at+1)
		if before == 0 {
			return at
		}
		return hidden[before-1][1] + at - gaps[before-1]
	}
	spans := findIn(seen.String())
	for i, s := range spans {
		spans[i].start, spans[i].end = place(s.start), place(s.end-1)+1
	}
	return spans
}

// findIn returns what the rules find in a text.
func findIn(text string) []span {
	rules := load()
	lower := strings.ToLower(text)
	if len(lower) != len(text) { // a letter whose lower case has another length
		lower = strings.Map(func(r rune) rune {
			if r >= 'A' && r <= 'Z' {
				return r + 'a' - 'A'
			}
			return r
		}, text)
	}
	wanted := map[string]bool{}
	for _, match := range rules.keywords.MatchString(lower) {
		wanted[match.MatchString()] = true
	}
	var spans []span
	for _, r := range rules.all {
		if len(r.Keywords) == 0 || slices.ContainsFunc(r.Keywords, func(k string) bool { return wanted[k] }) {
			spans = append(spans, r.find(text, rules.allowed)...)
		}
	}
	return spans
}

// ruleSet is what is looked for.
type ruleSet struct {
	all      []rule
	keywords *ahocorasick.Trie
	allowed  []*config.Allowlist // for all rules
}

type rule struct{ config.Rule }

// load reads gitleaks' rules, which takes some 20 ms, once.
var load = sync.OnceValue(func() ruleSet {
	// gitleaks' own loader sets up the global viper, which is the program's.
	read := viper.New()
	read.SetConfigType("toml")
	if err := read.ReadConfig(strings.NewReader(config.DefaultConfig)); err != nil {
		panic(fmt.Sprintf("secret: rules of gitleaks: %v", err)) // they are part of the program
	}
	var raw config.ViperConfig
	if err := read.Unmarshal(&raw); err != nil {
		panic(fmt.Sprintf("secret: rules of gitleaks: %v", err))
	}
	parsed, err := raw.Translate()
	if err != nil {
		panic(fmt.Sprintf("secret: rules of gitleaks: %v", err))
	}
	set := ruleSet{allowed: parsed.Allowlists}
	keywords := map[string]bool{}
	for _, r := range append(parsed.GetOrderedRules(), ownRules()...) {
		if r.Regex == nil || r.Path != nil || r.SkipReport {
			continue // of files by their names, which are not read anyway, or parts of other rules
		}
		for i, k := range r.Keywords {
			r.Keywords[i] = strings.ToLower(k)
			keywords[r.Keywords[i]] = true
		}
		set.all = append(set.all, rule{r})
	}
	builder := ahocorasick.NewTrieBuilder()
	for k := range keywords {
		builder.AddString(k)
	}
	set.keywords = builder.Build()
	return set
})

func (r rule) find(text string, allowed []*config.Allowlist) []span {
	var spans []span
	for _, at := range r.Regex.FindAllStringSubmatchIndex(text, -1) {
		start, end := r.group(at)
		secret := text[start:end]
		if strings.Contains(secret, mark[:len(mark)-2]) || strings.HasPrefix(text[start:], mark) {
			continue // taken out already
		}
		if r.Entropy != 0 && entropy(secret) <= r.Entropy {
			continue
		}
		match, line := text[at[0]:at[1]], lineAround(text, at[0], at[1])
		if isAllowed(allowed, secret, match, line) || isAllowed(r.Allowlists, secret, match, line) {
			continue
		}
		spans = append(spans, span{start, end, r.RuleID})
	}
	return spans
}

// group is where in a match the secret itself stands: in the group that the rule names, else in the first that is not empty.
func (r rule) group(at []int) (start, end int) {
	if g := r.SecretGroup; g > 0 && 2*g+1 < len(at) && at[2*g] >= 0 {
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

// isAllowed tells whether one of the exceptions holds. Those of commits and files do not apply to text.
func isAllowed(lists []*config.Allowlist, secret, match, line string) bool {
	for _, a := range lists {
		target := secret
		switch a.RegexTarget {
		case "match":
			target = match
		case "line":
			target = line
		}
		byRegex := a.RegexAllowed(target)
		byWord, _ := a.ContainsStopWord(secret)
		if a.MatchCondition == config.AllowlistMatchAnd {
			if len(a.Commits)+len(a.Paths) == 0 && (len(a.Regexes) == 0 || byRegex) && (len(a.StopWords) == 0 || byWord) {
				return true
			}
		} else if byRegex || byWord {
			return true
		}
	}
	return false
}

// entropy is Shannon's, in bits a character.
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
