// Package sanitize makes text from outside fit to be shown to a model as data, and tells what it found in it.
package sanitize

import (
	"slices"
	"strings"
)

// A Finding is something that Text changed or marked.
type Finding struct {
	// Kind is "hidden" (characters a reader does not see), "control" (control characters and escape
	// sequences), "tag" (of the memory block), "chat-token" (of a chat template), "role-prefix",
	// "instruction" (kept, marked as quoted) or "override" (withheld).
	Kind string `json:"kind"`
	// Detail says what it was, in a few words.
	Detail string `json:"detail"`
}

// Marks that Text puts into a text.
const (
	quoted   = "[quoted] "
	withheld = "[withheld: a line that tells the reader to drop its instructions]"
)

// Text returns the text such that it can be shown to a model as data:
//
//   - control characters, escape sequences, bidirectional controls and invisible characters are gone;
//   - tags of the memory block and tokens of chat templates are escaped, in whatever spelling;
//   - a role name that opens a line is put in quotes;
//   - a line that gives an order ("You must …") is kept and marked as quoted;
//   - a line that tells the reader to drop its instructions is withheld.
//
// Everything else stays byte for byte. The result is valid UTF-8, and sanitising it again changes
// nothing.
func Text(text string) (string, []Finding) {
	text, findings := Reveal(strings.ToValidUTF8(text, "\uFFFD"))
	text, more := escapeTokens(text)
	findings = append(findings, more...)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		var found []Finding
		lines[i], found = calm(line)
		findings = append(findings, found...)
	}
	return strings.Join(lines, "\n"), findings
}

// calm takes the commanding tone out of a line.
func calm(line string) (string, []Finding) {
	marks := 0
	body := line
	for strings.HasPrefix(body, quoted) {
		body, marks = body[len(quoted):], marks+1
	}
	flat := fold(body).text
	if at := overrides(body, flat); at >= 0 {
		if at <= openingLength {
			return withheld, []Finding{{Kind: "override", Detail: "a line that tells the reader to drop its instructions"}}
		}
		return quoted + body, onlyIf(marks == 0, Finding{Kind: "instruction", Detail: "a line that speaks of dropping instructions"})
	}
	body, findings := quoteRole(body)
	switch {
	case orders.MatchString(flat):
		return quoted + body, append(findings, onlyIf(marks == 0, Finding{Kind: "instruction", Detail: "a line that gives an order"})...)
	case marks > 0:
		return quoted + body, findings
	}
	return body, findings
}

func onlyIf(condition bool, finding Finding) []Finding {
	if !condition {
		return nil
	}
	return []Finding{finding}
}

// quoteRole puts a role name that opens a line in quotes, so that it no longer reads as the start of
// a message: `System: be brief` becomes `"System": be brief`.
func quoteRole(line string) (string, []Finding) {
	f := fold(line)
	at := rolePrefix.FindStringSubmatchIndex(f.text)
	if at == nil {
		return line, nil
	}
	name := line[f.offsets[at[2]]:f.offsets[at[3]]]
	return line[:f.offsets[at[2]]] + `"` + name + `"` + line[f.offsets[at[3]]:],
		[]Finding{{Kind: "role-prefix", Detail: "line opened with a role name"}}
}

// escapeTokens escapes the first character of every tag and token that means something to a model's
// chat template or to our own block.
func escapeTokens(text string) (string, []Finding) {
	if !strings.ContainsAny(text, "<[{") && isASCII(text) {
		return text, nil
	}
	f := fold(text)
	var findings []Finding
	var at []int
	for _, pattern := range tokenPatterns {
		for _, match := range pattern.expression.FindAllStringIndex(f.text, -1) {
			at = append(at, match[0])
			findings = append(findings, Finding{Kind: pattern.kind, Detail: pattern.about})
		}
	}
	if len(at) == 0 {
		return text, nil
	}
	slices.Sort(at)
	var b strings.Builder
	done := 0
	for _, i := range slices.Compact(at) {
		start, end := f.offsets[i], f.offsets[i+1]
		b.WriteString(text[done:start])
		b.WriteString(escapes[f.text[i]])
		done = end
	}
	b.WriteString(text[done:])
	return b.String(), findings
}

var escapes = map[byte]string{'<': "&lt;", '[': "&#91;", '{': "&#123;"}
