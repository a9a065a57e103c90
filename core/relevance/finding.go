package relevance

import (
	"slices"
	"strings"
	"sync"
)

// findings are words and phrases with which a text tells what was found or decided. Each prompt
// compares them with all its candidates: a regular expression took most of a turn's time.
func findings() []string {
	return slices.Concat(withEnds("the", []string{"issue", "problem", "bug", "reason", "cause", "culprit", "fix", "trick"}, []string{"is", "was", "here"}),
		strings.Split("root cause|because|caused by|turns out|you're right|you are right|instead of|decided|won't work|doesn't|does not|already|"+
			"none of|only|must be|should|fixed|found|works now|summary|changes made|key", "|"))
}

// unspacedFindings are of scripts without blanks.
var unspacedFindings = [...]string{"原因", "解决", "修复", "因为", "ため", "修正", "解決"}

func withEnds(first string, nouns, verbs []string) (all []string) {
	for _, noun := range nouns {
		for _, verb := range verbs {
			all = append(all, first+" "+noun+" "+verb)
		}
	}
	return all
}

// findingsByWord are findings by their first words.
var findingsByWord = sync.OnceValue(func() map[string][]string {
	all := map[string][]string{}
	for _, phrase := range findings() {
		word := phrase[:wordEnd(phrase, 0)]
		all[word] = append(all[word], phrase)
	}
	return all
})

// hasFinding reports whether a text has one of findings as whole words, or of unspacedFindings.
func hasFinding(text string) bool {
	text = strings.ToLower(text)
	phrases := findingsByWord()
	for at := 0; at < len(text); {
		end := wordEnd(text, at)
		if end == at {
			at++
			continue
		}
		for _, phrase := range phrases[text[at:end]] {
			if strings.HasPrefix(text[at:], phrase) && wordEnd(text, at+len(phrase)) == at+len(phrase) {
				return true
			}
		}
		at = end
	}
	return slices.ContainsFunc(unspacedFindings[:], func(phrase string) bool { return strings.Contains(text, phrase) })
}

// wordEnd returns the end of the word at a place, or the place itself without a word.
func wordEnd(text string, at int) int {
	for at < len(text) && isWordByte(text[at]) {
		at++
	}
	return at
}

func isWordByte(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z'
}
