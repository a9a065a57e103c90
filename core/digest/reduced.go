package digest

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/text/excerpt"
)

const (
	maxKeptInput  = 1 << 10 // bytes of a string of a call's input
	maxKeptOutput = 2 << 10 // bytes of each end of what a failed command answered
)

// unread stands for an output of which Of reads only that there is one.
const unread = "…"

// Reduced returns what Of reads of a call of a tool, and of one that it does not know only the
// name: of a command that worked not its output, of a file that was written not its content. redact
// takes secrets out before anything is cut, so that no part of one is left. Reducing it again
// changes nothing.
func Reduced(use chunker.ToolUse, redact func(string) string) chunker.ToolUse {
	isShell := slices.Contains(shells, use.Name)
	output, input := use.Output, use.Input
	switch {
	case isShell && failed(use):
		use.Output = excerpt.Ends(redact(output), maxKeptOutput)
	case isShell && output != "":
		use.Output, use.Failed = unread, false
	case output != "":
		use.Output = unread
	}
	switch {
	case isShell || slices.Contains(editors, use.Name):
		use.Input = shortStrings(input, redact)
	default:
		use.Input = ""
	}
	return use
}

// shortStrings cuts the strings of an input, which may be JSON, so that it stays JSON.
func shortStrings(input string, redact func(string) string) string {
	var value map[string]any
	if json.Unmarshal([]byte(input), &value) == nil {
		if text, err := json.Marshal(shortValue(value, redact)); err == nil {
			return string(text)
		}
	}
	return cutString(redact(input))
}

func shortValue(value any, redact func(string) string) any {
	switch v := value.(type) {
	case string:
		if len(v) > maxKeptInput && !isPatch(v) {
			return cutString(redact(cutLong(v)))
		}
		return cutString(redact(v))
	case []any:
		for i := range v {
			v[i] = shortValue(v[i], redact)
		}
	case map[string]any:
		for key := range v {
			v[key] = shortValue(v[key], redact)
		}
	}
	return value
}

// cutLong spares looking for secrets in all of a file that was written: only its beginning is kept,
// and that is far from where this is cut.
func cutLong(text string) string { return excerpt.Head(text, 8*maxKeptInput) }

func isPatch(text string) bool { return strings.Contains(text, "*** Begin Patch") }

func cutString(text string) string {
	if len(text) <= maxKeptInput {
		return text
	}
	if isPatch(text) { // its headings name the files
		text = strings.Join(slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return !strings.HasPrefix(line, "*** ") }), "\n")
	}
	return excerpt.Of(text, maxKeptInput)
}
