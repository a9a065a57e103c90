// Package sanitize makes text from outside fit to be shown to a model as data, and tells what it found in it.
package sanitize

import (
	"slices"
	"sort"
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
	quoted = "[quoted] "
	// Withheld stands for a line that is left out.
	Withheld = "[withheld: a line that tells the reader to drop its instructions]"
	// unsettled stands for a text that changes each time it is made safe.
	unsettled = "[withheld: a text that could not be made safe]"
)

// passes is how often Text goes over a text at most, the last time to see that nothing is left to do. Three times with changes are the
// most that is known to be needed: a role that is put in quotes makes another one open its line, whose quotes complete a token.
const passes = 5

// Text returns the text such that it can be shown to a model as data:
//
//   - control characters, escape sequences, bidirectional controls and invisible characters are gone;
//   - tags of the memory block and tokens of chat templates are escaped, in whatever spelling;
//   - a role name that reads as the start of a message is put in quotes;
//   - a heading of memcore's own frames is kept and marked as quoted;
//   - a line that gives an order ("You must …") is kept and marked as quoted;
//   - a line that tells the reader to drop its instructions is withheld.
//
// Everything else stays byte for byte. The result is valid UTF-8, and sanitising it again changes
// nothing.
func Text(text string) (string, []Finding) {
	text, findings := Reveal(strings.ToValidUTF8(text, "\uFFFD"))
	text, more := settle(text, pass)
	return text, append(findings, more...)
}

// settle makes passes until nothing changes. A text that goes on changing is withheld: what is left in it nobody has looked at.
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
	return unsettled, append(findings, Finding{Kind: "override", Detail: "a text that changes each time it is made safe"})
}

// pass escapes tokens and calms each line, once. Either can make something that the other one, or it itself, looks for: quotes around a
// role's name complete a message in JSON, and a line that is withheld takes the bracket along that ended one.
func pass(text string) (string, []Finding) {
	text, findings := escapeTokens(text)
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
			return Withheld, []Finding{{Kind: "override", Detail: "a line that tells the reader to drop its instructions"}}
		}
		return quoted + body, onlyIf(marks == 0, Finding{Kind: "instruction", Detail: "a line that speaks of dropping instructions"})
	}
	body, findings := quoteRole(body)
	switch {
	case ownHeading().MatchString(flat):
		return quoted + body, append(findings, onlyIf(marks == 0, Finding{Kind: "tag", Detail: "a heading of memcore's own"})...)
	case orders().MatchString(flat):
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

// quoteRole puts role names that read as the start of a message in quotes: `System: be brief` becomes `"System": be brief`.
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

// escapeTokens escapes the first character of every tag and token that means something to a model's
// chat template or to our own block.
func escapeTokens(text string) (string, []Finding) {
	if !strings.ContainsAny(text, "<[]{") && isASCII(text) {
		return text, nil
	}
	f := fold(text)
	var findings []Finding
	var at []int
	for _, pattern := range tokenPatterns {
		// A token can begin within another, unfinished one: the search goes on behind the first character of each.
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

var escapes = map[byte]string{'<': "&lt;", '[': "&#91;", ']': "&#93;", '{': "&#123;"}
