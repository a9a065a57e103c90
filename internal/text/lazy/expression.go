package lazy

import (
	"regexp"
	"sync"
	"sync/atomic"
)

// An Expression is a regular expression that finds out fast that a text does not match, as most do.
// It is safe for concurrent use.
type Expression struct {
	*regexp.Regexp
	read    atomic.Int64 // bytes of text, until there is a matcher
	matcher func() *matcher
}

const (
	// worthMatcher is how many bytes of text an expression reads before it makes its matcher: what
	// a hook or a search reads is not worth one.
	worthMatcher = 16 << 10
	// fastPrefix is the length of what each match begins with that package regexp finds as fast.
	fastPrefix = 3
)

func newExpression(text string) *Expression {
	e := &Expression{Regexp: regexp.MustCompile(text)}
	e.matcher = sync.OnceValue(func() *matcher {
		if prefix, _ := e.LiteralPrefix(); len(prefix) >= fastPrefix {
			return nil
		}
		return newMatcher(text)
	})
	return e
}

// excludes reports whether it is certain that a text does not match.
func (e *Expression) excludes(text string) bool {
	matches, ok := e.match(text)
	return ok && !matches
}

func (e *Expression) match(text string) (matches, ok bool) {
	if e.read.Load() < worthMatcher {
		e.read.Add(int64(len(text)))
		return false, false
	}
	if m := e.matcher(); m != nil {
		return m.match(text)
	}
	return false, false
}

// The methods that follow do what those of regexp.Regexp do.

func (e *Expression) MatchString(text string) bool {
	if matches, ok := e.match(text); ok {
		return matches
	}
	return e.Regexp.MatchString(text)
}

func (e *Expression) FindString(text string) string {
	if e.excludes(text) {
		return ""
	}
	return e.Regexp.FindString(text)
}

func (e *Expression) FindStringIndex(text string) []int {
	if e.excludes(text) {
		return nil
	}
	return e.Regexp.FindStringIndex(text)
}

func (e *Expression) FindStringSubmatch(text string) []string {
	if e.excludes(text) {
		return nil
	}
	return e.Regexp.FindStringSubmatch(text)
}

func (e *Expression) FindStringSubmatchIndex(text string) []int {
	if e.excludes(text) {
		return nil
	}
	return e.Regexp.FindStringSubmatchIndex(text)
}

func (e *Expression) FindAllString(text string, n int) []string {
	if e.excludes(text) {
		return nil
	}
	return e.Regexp.FindAllString(text, n)
}

func (e *Expression) FindAllStringIndex(text string, n int) [][]int {
	if e.excludes(text) {
		return nil
	}
	return e.Regexp.FindAllStringIndex(text, n)
}

func (e *Expression) FindAllStringSubmatch(text string, n int) [][]string {
	if e.excludes(text) {
		return nil
	}
	return e.Regexp.FindAllStringSubmatch(text, n)
}

func (e *Expression) FindAllStringSubmatchIndex(text string, n int) [][]int {
	if e.excludes(text) {
		return nil
	}
	return e.Regexp.FindAllStringSubmatchIndex(text, n)
}

func (e *Expression) ReplaceAllString(text, by string) string {
	if e.excludes(text) {
		return text
	}
	return e.Regexp.ReplaceAllString(text, by)
}

func (e *Expression) ReplaceAllLiteralString(text, by string) string {
	if e.excludes(text) {
		return text
	}
	return e.Regexp.ReplaceAllLiteralString(text, by)
}

func (e *Expression) ReplaceAllStringFunc(text string, by func(string) string) string {
	if e.excludes(text) {
		return text
	}
	return e.Regexp.ReplaceAllStringFunc(text, by)
}
