package chunker

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/memcore/memcore/internal/text/lazy"
)

const (
	toolInputSize  = 44 // of a tool's name and arguments
	toolOutputSize = 34 // of what it answered
	argumentSize   = 24 // of one argument
)

// toolUse sums up a call: name and main arguments; status, first error, first and last line of the
// output.
func (l limits) toolUse(use ToolUse) string {
	asked := oneLine(cleanString(use.Name))
	if args := l.arguments(use.Input); args != "" {
		asked = strings.TrimPrefix(asked+": "+args, ": ")
	}
	asked = l.shorten(asked, toolInputSize)
	answer := l.answer(use.Output, use.Failed)
	if answer != "" {
		answer = "→ " + l.shorten(answer, toolOutputSize)
	}
	if asked == "" && answer == "" {
		return "tool"
	}
	return strings.Trim(asked+"\n"+answer, "\n")
}

// keyArguments are worth searching for, the most important first.
var keyArguments = []string{
	"command", "cmd", "script", "file_path", "filepath", "path", "file", "filename", "notebook_path", "absolute_path", "dir_path",
	"directory", "cwd", "query", "q", "pattern", "regex", "glob", "url", "uri", "symbol", "name", "title", "description", "prompt",
	"question", "task", "fact", "message", "subject",
}

// fileArguments hold whole files.
var fileArguments = []string{"content", "contents", "new_string", "old_string", "new_str", "old_str", "file_text", "edits", "data", "patch", "input", "code", "text", "body"}

// arguments prefers others to whole files.
func (l limits) arguments(input string) string {
	input = strings.TrimSpace(cleanString(input))
	args, ok := parseArguments(input)
	if !ok {
		return l.inBrief(input)
	}
	var parts []string
	for _, key := range slices.SortedFunc(maps.Keys(args), byImportance) {
		if len(parts) > 0 && slices.Contains(fileArguments, key) {
			break
		}
		if value := l.inBrief(argument(args[key])); value != "" {
			if !slices.Contains(keyArguments, key) {
				value = key + "=" + value
			}
			parts = append(parts, value)
		}
	}
	return strings.Join(parts, " · ")
}

var quotedArgument = lazy.Regexp(`"(\w+)"\s*:\s*("(?:[^"\\]|\\.){1,400}")`)

// parseArguments reads short strings of broken JSON, too.
func parseArguments(input string) (args map[string]any, ok bool) {
	if !strings.HasPrefix(input, "{") {
		return nil, false
	}
	if json.Unmarshal([]byte(input), &args) == nil {
		return args, true
	}
	args = map[string]any{}
	for _, m := range quotedArgument().FindAllStringSubmatch(input, 32) {
		var value string
		if _, known := args[m[1]]; !known && json.Unmarshal([]byte(m[2]), &value) == nil {
			args[m[1]] = value
		}
	}
	return args, len(args) > 0
}

// byImportance sorts keyArguments first and fileArguments last.
func byImportance(a, b string) int {
	if d := argumentRank(a) - argumentRank(b); d != 0 {
		return d
	}
	return strings.Compare(a, b)
}

func argumentRank(key string) int {
	if i := slices.Index(keyArguments, key); i >= 0 {
		return i
	}
	if slices.Contains(fileArguments, key) {
		return len(keyArguments) + 1
	}
	return len(keyArguments)
}

// argument is "" for numbers and flags.
func argument(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case []any:
		var words []string
		for _, e := range v {
			if s, ok := e.(string); ok {
				words = append(words, s)
			}
		}
		return withoutShell(words)
	}
	return ""
}

// withoutShell makes ["bash", "-lc", "go test"] "go test".
func withoutShell(words []string) string {
	if len(words) == 3 && strings.HasPrefix(words[1], "-") && strings.HasSuffix(words[1], "c") {
		return words[2]
	}
	return strings.Join(words, " ")
}

var patched = lazy.Regexp(`(?m)^\*\*\* (?:Add|Update|Delete) File: (.+)$`)

// inBrief returns the first readable line, or a patch's files.
func (l limits) inBrief(text string) string {
	if files := patched().FindAllStringSubmatch(text, 8); files != nil {
		var names []string
		for _, f := range files {
			names = append(names, strings.TrimSpace(f[1]))
		}
		return l.shorten("patch "+strings.Join(names, " "), argumentSize)
	}
	if lines := readable(text, 1); len(lines) > 0 {
		return l.shorten(lines[0], argumentSize)
	}
	return ""
}

var (
	errorLine = lazy.Regexp(`(?i)\b(?:error|exception|panic|fatal|fail(?:ed|ure)?|denied|refused|not found|no such file|cannot|can't|traceback|undefined|unable|timeout|timed out|exceeded)\b|[a-z](?:Error|Exception)\b`)
	exitLine  = lazy.Regexp(`(?i)\bexit(?:ed)?(?: with)?(?: code| status)?[ :=]+(\d+)`)
)

func (l limits) answer(output string, failed bool) string {
	output, status := unwrapOutput(strings.TrimSpace(cleanString(output)))
	output = ends(output)
	lines := readable(output, 0)
	if status == "" {
		if m := exitLine().FindStringSubmatch(output); m != nil {
			status = m[1]
		}
	}
	var parts []string
	switch {
	case status != "" && status != "0":
		parts = append(parts, "exit status "+status)
	case failed:
		parts = append(parts, "failed")
	}
	if at := slices.IndexFunc(lines, errorLine().MatchString); at >= 0 {
		parts = append(parts, l.shorten(lines[at], argumentSize))
	}
	if len(lines) > 0 {
		parts = append(parts, l.shorten(lines[0], toolOutputSize/3), l.shorten(lines[len(lines)-1], toolOutputSize/3))
	}
	return strings.Join(distinct(parts), " … ")
}

// ends removes the middle of a long text.
func ends(text string) string {
	const most = 8 << 10 // bytes at each end
	if len(text) <= 2*most {
		return text
	}
	return head(text, most) + "\n" + text[characterBorder(text, len(text)-most):]
}

// distinct removes parts that an earlier part begins with.
func distinct(parts []string) []string {
	var out []string
	for _, p := range parts {
		if !slices.ContainsFunc(out, func(o string) bool { return strings.HasPrefix(o, strings.TrimSuffix(p, "…")) }) {
			out = append(out, p)
		}
	}
	return out
}

// unwrapOutput returns text and exit status of JSON.
func unwrapOutput(output string) (text, status string) {
	var fields map[string]any
	if !strings.HasPrefix(output, "{") || json.Unmarshal([]byte(output), &fields) != nil {
		return output, ""
	}
	var texts []string
	for _, key := range [...]string{"error", "stderr", "output", "stdout", "content", "text", "result", "message"} {
		if s, ok := fields[key].(string); ok && s != "" {
			texts = append(texts, s)
		}
	}
	if meta, ok := fields["metadata"].(map[string]any); ok {
		fields = meta
	}
	for _, key := range [...]string{"exit_code", "exitCode", "code"} {
		if n, ok := fields[key].(float64); ok {
			status = fmt.Sprintf("%.0f", n)
		}
	}
	if texts == nil {
		return output, status
	}
	return strings.Join(texts, "\n"), status
}

var (
	escapes = lazy.Regexp("\x1b\\[[0-9;?]*[a-zA-Z]|\x1b\\][^\x07]*\x07")
	blob    = lazy.Regexp(`[A-Za-z0-9+/=_-]{64,}|(?:[0-9a-fA-F]{2}[ :]?){32,}`)
	letters = lazy.Regexp(`\pL`)
)

const maxReadable = 400 // bytes of a line that starts like data

// readable returns the first n readable lines; 0 is all.
func readable(text string, n int) []string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		line = oneLine(head(line, 16*maxReadable))
		line = escapes().ReplaceAllString(line, "")
		if len(line) > maxReadable && strings.ContainsAny(line[:1], "{[<\"") {
			continue
		}
		line = oneLine(blob().ReplaceAllString(line, "…"))
		if !letters().MatchString(line) {
			continue
		}
		if out = append(out, line); len(out) == n {
			break
		}
	}
	return out
}
