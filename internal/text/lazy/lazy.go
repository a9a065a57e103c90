// Package lazy makes regular expressions and sets of words on first use: a hook needs few of them,
// and making all takes longer than its work. For those that read much, it makes what matches
// faster.
package lazy

import (
	"strings"
	"sync"
)

// Regexp returns a function that returns the compiled expression. That panics if it is not valid.
func Regexp(expression string) func() *Expression {
	return sync.OnceValue(func() *Expression { return newExpression(expression) })
}

// Set returns a function that returns the set of words in a text, which white space parts.
func Set(words string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for word := range strings.FieldsSeq(words) {
			set[word] = true
		}
		return set
	})
}
