package digest

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
)

// A pattern is an expression with many words. Most sentences hold none of them, and looking for
// words is ten times faster than the expression.
type pattern struct {
	expression *regexp.Regexp
	// words has one of which each ASCII text that matches contains, in lower case; nil is unknown.
	words []string
}

// patternOf returns a function that compiles an expression on first use.
func patternOf(expression string) func() *pattern {
	return sync.OnceValue(func() *pattern {
		p := &pattern{expression: regexp.MustCompile(expression)}
		if parsed, err := syntax.Parse(expression, syntax.Perl); err == nil {
			p.words = needed(parsed)
		}
		return p
	})
}

// MatchString reports whether text contains a match, as regexp.Regexp.MatchString does.
func (p *pattern) MatchString(text string) bool {
	return p.mayMatch(text) && p.expression.MatchString(text)
}

func (p *pattern) mayMatch(text string) bool {
	if p.words == nil || !isASCII(text) { // letters beyond ASCII may be lower cases of others
		return true
	}
	text = strings.ToLower(text)
	for _, word := range p.words {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// needed returns texts of which each match contains one, or nil if there are none.
func needed(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{strings.ToLower(string(re.Rune))}
	case syntax.OpCapture, syntax.OpPlus:
		return needed(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return needed(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			if words := needed(sub); shortest(words) > shortest(best) {
				best = words
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			words := needed(sub)
			if words == nil {
				return nil
			}
			all = append(all, words...)
		}
		return all
	}
	return nil
}

func shortest(words []string) int {
	if len(words) == 0 {
		return 0
	}
	n := len(words[0])
	for _, word := range words {
		n = min(n, len(word))
	}
	return n
}
