package curated

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/bmatcuk/doublestar/v4"
)

// why says why a conditional file applies; "" if it does not.
//
// A trigger's words must follow each other, in any case; the last may have an English suffix. In
// scripts without spaces the letters suffice. A glob without a slash matches names at any depth,
// one with a slash the path relative to base (doublestar).
func (c candidate) why(request string, words []string, touched []string) string {
	for _, trigger := range c.head.Triggers {
		if hasTrigger(request, words, trigger) {
			return fmt.Sprintf("the request has %q", trigger)
		}
	}
	for _, glob := range c.head.Globs {
		for _, path := range touched {
			if matches(glob, c.base, path) {
				return fmt.Sprintf("%q matches %s", glob, filepath.Base(path))
			}
		}
	}
	return ""
}

// matches compares a rule's glob in base with an absolute path.
func matches(glob, base, path string) bool {
	glob = strings.TrimPrefix(strings.TrimPrefix(filepath.ToSlash(glob), "./"), "/")
	rel, inside := below(base, path)
	if !inside {
		return !strings.Contains(glob, "/") && globMatches(glob, filepath.Base(path))
	}
	rel = filepath.ToSlash(rel)
	if !strings.Contains(strings.TrimSuffix(glob, "/"), "/") {
		for element := range strings.SplitSeq(rel, "/") {
			if globMatches(strings.TrimSuffix(glob, "/"), element) {
				return true
			}
		}
		return false
	}
	if strings.HasSuffix(glob, "/") {
		glob += "**"
	}
	return globMatches(glob, rel)
}

// globMatches is false for a broken glob, which parse has reported.
func globMatches(glob, path string) bool {
	ok, err := doublestar.Match(glob, path)
	return ok && err == nil
}

func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) && r != '+' && r != '#' && r != '_'
	})
}

func hasTrigger(request string, words []string, trigger string) bool {
	if strings.ContainsFunc(trigger, isUnspaced) {
		return strings.Contains(strings.ToLower(request), strings.ToLower(strings.TrimSpace(trigger)))
	}
	wanted := wordsOf(trigger)
	last := len(wanted) - 1
	if last < 0 {
		return false
	}
	for at := range words {
		rest := words[at:]
		if len(rest) > last && slices.Equal(rest[:last], wanted[:last]) && inflects(wanted[last], rest[last]) {
			return true
		}
	}
	return false
}

// inflects reports whether form is word, perhaps with an English suffix.
func inflects(word, form string) bool {
	suffix, ok := strings.CutPrefix(form, word)
	if !ok && len(word) > 3 && strings.HasSuffix(word, "e") { // write, writing
		suffix, ok = strings.CutPrefix(form, word[:len(word)-1])
		return ok && (suffix == "ing" || suffix == "ed")
	}
	return ok && (suffix == "" || len(word) > 2 && slices.Contains([]string{"s", "es", "ed", "ing"}, suffix))
}

// isUnspaced reports whether a letter's script is written without spaces.
func isUnspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
