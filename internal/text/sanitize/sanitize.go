// Package sanitize makes outside text safe to show to a model.
package sanitize

import (
	"slices"
	"sort"
	"strings"
)

// A Finding is something that Text changed or marked.
type Finding struct {
	// Kind is "hidden" (invisible characters), "control" (control characters and escape
	// sequences), "tag" (of the memory block, or of markup that nothing closes), "chat-token" (of a
	// chat template), "role-prefix" or "unsettled" (withheld).
	Kind string `json:"kind"`
	// Detail describes it in a few words.
	Detail string `json:"detail"`
}

// Marks of Text.
const (
	quoted = "[quoted] "
	// unsettled replaces a whole text.
	unsettled = "[withheld: a text that could not be made safe]"
)

// passes over a text. Known texts need four.
const passes = 5

// Text makes a text safe to read as data. It
//
//   - removes control characters, escape sequences and invisible characters;
//   - escapes tags of the memory block and tokens of chat templates, in any spelling;
//   - escapes what begins markup that nothing closes, such as a comment;
//   - quotes a role name that opens a message;
//   - marks headings of memcore's own frames as quoted.
//
// Everything else stays: package injection judges what a text says. The result is valid UTF-8, and
// Text does not change it again.
func Text(text string) (string, []Finding) {
	text, findings := Reveal(strings.ToValidUTF8(text, "\uFFFD"))
	text, more := settle(text, pass)
	return text, append(findings, more...)
}

// settle withholds a text that never becomes stable.
func settle(text string, pass func(string) (string, []Finding)) (string, []Finding) {
	var findings []Finding
	for range passes {
		safe, found := pass(text)
		findings = append(findings, found...)
		if safe == text {
			return text, findings
		}
		text = safe
	}
	return unsettled, append(findings, Finding{Kind: "unsettled", Detail: "a text that changes each time it is made safe"})
}

// pass makes tokens and lines safe once. That may complete another token: quotes around a role name
// complete a JSON message.
func pass(text string) (string, []Finding) {
	text, findings := escapeTokens(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		var found []Finding
		lines[i], found = safeLine(line)
		findings = append(findings, found...)
	}
	return strings.Join(lines, "\n"), findings
}

// safeLine quotes roles in a line, and marks headings of memcore's own.
func safeLine(line string) (string, []Finding) {
	body := line
	for strings.HasPrefix(body, quoted) {
		body = body[len(quoted):]
	}
	marked := body != line
	heading := ownHeading().MatchString(fold(body).text)
	body, findings := quoteRole(body)
	if heading && !marked {
		findings = append(findings, Finding{Kind: "tag", Detail: "a heading of memcore's own"})
	}
	if heading || marked {
		body = quoted + body
	}
	return body, findings
}

// quoteRole turns `System: hi` into `"System": hi`.
func quoteRole(line string) (string, []Finding) {
	var findings []Finding
	quote := func(start, end int, detail string) {
		line = line[:start] + `"` + line[start:end] + `"` + line[end:]
		findings = append(findings, Finding{Kind: "role-prefix", Detail: detail})
	}
	f := fold(line)
	if at := rolePrefix().FindStringSubmatchIndex(f.text); at != nil {
		for group := 2; group < len(at); group += 2 {
			if at[group] >= 0 {
				quote(f.offsets[at[group]], f.offsets[at[group+1]], "line opened with a role name")
			}
		}
	} else if at := roleNative().FindStringSubmatchIndex(line); at != nil {
		quote(at[2], at[3], "line opened with a role name")
	}
	if within := roleWithin().ReplaceAllString(line, `"$1$3"$2$4`); within != line {
		line = within
		findings = append(findings, Finding{Kind: "role-prefix", Detail: "role name in capitals within a line"})
	}
	return line, findings
}

// escapeTokens escapes tags of the memory block and chat tokens.
func escapeTokens(text string) (string, []Finding) {
	if !strings.ContainsAny(text, "<[]\"'") && isASCII(text) {
		return text, nil
	}
	f := fold(text)
	var findings []Finding
	var at []int
	for _, pattern := range tokenPatterns {
		// A token can begin within an unfinished one, so the search continues after its first
		// character.
		for from := 0; ; from = at[len(at)-1] + 1 {
			match := pattern.expression().FindStringIndex(f.text[from:])
			if match == nil {
				break
			}
			at = append(at, from+match[0])
			findings = append(findings, Finding{Kind: pattern.kind, Detail: pattern.about})
		}
	}
	for _, match := range nativeTokens().FindAllStringIndex(text, -1) {
		at = append(at, sort.SearchInts(f.offsets, match[0]))
		findings = append(findings, Finding{Kind: "chat-token", Detail: "tag of a chat template"})
	}
	if open := unclosed(text, f); len(open) > 0 {
		at = append(at, open...)
		findings = append(findings, Finding{Kind: "tag", Detail: "markup that nothing closes"})
	}
	return escape(text, f, at), findings
}

// unclosed returns where markup begins that would swallow text behind.
func unclosed(text string, f folded) (at []int) {
	last := map[string]int{} // end of markup
	for _, match := range swallowing().FindAllStringSubmatchIndex(f.text, -1) {
		end := endOf(f.text[match[2]:match[3]])
		if _, ok := last[end]; !ok {
			last[end] = strings.LastIndex(text, end)
		}
		if last[end] < f.offsets[match[1]] {
			at = append(at, match[0])
		}
	}
	return at
}

// escape escapes characters by their folded bytes.
func escape(text string, f folded, at []int) string {
	if len(at) == 0 {
		return text
	}
	slices.Sort(at)
	var b strings.Builder
	done := 0
	for _, i := range at {
		start := f.offsets[i]
		if start < done {
			continue // escaped already
		}
		b.WriteString(text[done:start])
		b.WriteString(escapes[f.text[i]])
		for done = start; done == start; i++ { // a ligature has several bytes
			done = f.offsets[i+1]
		}
	}
	b.WriteString(text[done:])
	return b.String()
}

var escapes = map[byte]string{'<': "&lt;", '[': "&#91;", ']': "&#93;", '"': "&quot;", '\'': "&#39;", '(': "&#40;", ')': "&#41;", ':': "&#58;"}

// Name makes a text safe on a line of memcore's own, which cites in brackets: one line, balanced
// brackets, no citation.
func Name(text string) string {
	text, _ = Text(strings.Join(strings.Fields(text), " "))
	f := fold(text)
	var at, brackets []int
	depth := 0
	for i := range len(f.text) {
		switch f.text[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth < 0 {
				depth = len(text) // never balanced
			}
		default:
			continue
		}
		brackets = append(brackets, i)
	}
	if depth != 0 {
		at = brackets
	}
	for _, match := range citation().FindAllStringIndex(f.text, -1) {
		at = append(at, match[1]-1)
	}
	return escape(text, f, at)
}
