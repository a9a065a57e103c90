// Package lazy compiles regular expressions on first use: a hook needs few of them, and compiling
// all takes longer than its work.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a function that returns the compiled expression. That panics if it is not valid.
func Regexp(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
