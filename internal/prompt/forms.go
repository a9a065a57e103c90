package prompt

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// An expression is compiled when it is first asked: every process has this package, few ask it.
type expression func() *regexp.Regexp

func lazily(text string) expression {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

func (e expression) MatchString(text string) bool      { return e().MatchString(text) }
func (e expression) FindStringIndex(text string) []int { return e().FindStringIndex(text) }

// Most lines are plain words, and an expression of many forms costs more than all else that is done
// with them. So each expression is asked only about lines that have a mark without which it cannot
// match. TestMarks holds that none is missing.

// A form is an expression and what a line has to have for it to match.
type form struct {
	expression
	may func(line string) bool
}

func (f form) MatchString(line string) bool { return f.may(line) && f.expression.MatchString(line) }

func (f form) FindStringIndex(line string) []int {
	if !f.may(line) {
		return nil
	}
	return f.expression.FindStringIndex(line)
}

// mayBeOutput reports whether a line has a mark of output: a number at its beginning, a level, a
// place in a file, columns, frames.
func mayBeOutput(line string) bool {
	start := strings.TrimLeft(line, asciiSpace)
	switch {
	case namesError(line), digitWithin(line, 4), digitAfter(line, ':'), hasRun(line, 8, isSpace), hasFrame(line):
		return true
	case start == "":
		return false
	case len(start) < len(line) && strings.HasPrefix(start, "at "):
		return true
	case strings.IndexByte(`^~`, start[0]) >= 0 || hasLevel(start):
		return true
	}
	for _, prefix := range [...]string{"time=", "level=", `File "`, "Traceback ", "goroutine ", "panic: ", "diff --git", "index ", "@@ ", "+++ ", "--- "} {
		if strings.HasPrefix(start, prefix) {
			return true
		}
	}
	return false
}

// namesError reports whether a line has the name of a kind of error.
func namesError(line string) bool {
	return strings.Contains(line, "Error: ") || strings.Contains(line, "Exception: ") || strings.Contains(line, "Warning: ")
}

// mayBeCode reports whether a line has a mark of code: a prompt, a bracket, a quote, a word of 80
// letters.
func mayBeCode(line string) bool {
	start := strings.TrimLeft(line, asciiSpace)
	if start == "" {
		return false
	}
	if strings.IndexByte(`{}[]<>|"'`, start[0]) >= 0 || len(line)-len(start) >= 8 || hasRun(line, 80, isNoSpace) {
		return true
	}
	for _, mark := range [...]string{"$", "%", "❯", "➜", "│"} {
		if strings.Contains(line, mark) {
			return true
		}
	}
	return false
}

// mayHaveFlag reports whether a word of a line begins with "-".
func mayHaveFlag(line string) bool {
	for i := 1; i < len(line); i++ {
		if line[i] == '-' && isSpace(line[i-1]) {
			return true
		}
	}
	return false
}

// mayBeLogged reports whether a line has a year and a month: "2026-11-".
func mayBeLogged(line string) bool {
	for at := 0; ; {
		i := strings.IndexByte(line[at:], '-')
		if i < 0 {
			return false
		}
		at += i + 1
		if at >= 5 && areDigits(line[at-5:at-1]) && at+3 <= len(line) && areDigits(line[at:at+2]) && line[at+2] == '-' {
			return true
		}
	}
}

const asciiSpace = " \t\n\f\r" // what \s is

func isSpace(b byte) bool { return b == ' ' || b >= '\t' && b <= '\r' && b != '\v' }

func isNoSpace(b byte) bool { return !isSpace(b) }

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

func areDigits(text string) bool {
	for i := range len(text) {
		if !isDigit(text[i]) {
			return false
		}
	}
	return true
}

// digitWithin reports whether one of the first n characters is a digit.
func digitWithin(line string, n int) bool {
	for at := 0; n > 0 && at < len(line); n-- {
		if isDigit(line[at]) {
			return true
		}
		_, size := utf8.DecodeRuneInString(line[at:])
		at += size
	}
	return false
}

// digitAfter reports whether a digit follows a mark.
func digitAfter(line string, mark byte) bool {
	for i := 1; i < len(line); i++ {
		if line[i-1] == mark && isDigit(line[i]) {
			return true
		}
	}
	return false
}

// hasRun reports whether n bytes of a kind stand one after another.
func hasRun(line string, n int, is func(byte) bool) bool {
	run := 0
	for i := range len(line) {
		if !is(line[i]) {
			run = 0
		} else if run++; run == n {
			return true
		}
	}
	return false
}

// hasLevel reports whether two of the first letters of a line are large, as those of a level are.
func hasLevel(start string) bool {
	_, mark := utf8.DecodeRuneInString(start) // before it a mark may stand: "[WARN"
	for _, at := range [...]int{0, mark} {
		if at+2 <= len(start) && isLarge(start[at]) && isLarge(start[at+1]) {
			return true
		}
	}
	return false
}

func isLarge(b byte) bool { return b >= 'A' && b <= 'Z' }

// hasFrame reports whether a line has a character of a frame, U+2500 to U+25BF, or of a terminal.
func hasFrame(line string) bool {
	if strings.IndexByte(line, '\x1b') >= 0 {
		return true
	}
	for at := 0; ; at++ {
		i := strings.IndexByte(line[at:], 0xE2)
		if i < 0 {
			return false
		}
		if at += i; at+1 < len(line) && line[at+1] >= 0x94 && line[at+1] <= 0x96 {
			return true
		}
	}
}
