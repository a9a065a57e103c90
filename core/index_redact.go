package core

import (
	"cmp"
	"strings"
	"unicode"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/markdown/statement"
	"github.com/memcore/memcore/internal/markdown/summary"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/text/sanitize"
	"github.com/memcore/memcore/internal/text/secret"
	"github.com/memcore/memcore/store"
)

// redaction is part of Cutter.Fingerprint: a change rebuilds the index.
func (c *Cutter) redaction() string {
	if c.keepSecrets {
		return "/secrets-kept"
	}
	return "/secrets11" // count up when other secrets are found, or in other places
}

// redactContent works before the cut, to find keys of many lines.
// chunker.Session redacts answers, since it keeps few, and package digest what it takes of tools.
// A speaker with a name that is none, or that of a role, speaks by their own role; a session whose
// name may say something is known by a hash.
func (c *cutting) redactContent(content *source.Content) {
	name := c.redactNames()
	if content.Markdown != nil {
		content.Markdown = searchable(content.Markdown, func(text string) string { return c.redact(0, text) })
	}
	for i, turn := range content.Turns {
		if !content.Agent || turn.Role == "user" {
			content.Turns[i].Text = c.redact(turn.Line, turn.Text)
		}
		content.Turns[i].Asked = c.redactQuietly(turn.Asked) // the turn that asks counts it
		if content.Turns[i].Session = name(turn.Session); !isID(content.Turns[i].Session) {
			content.Turns[i].Session = hashOf([]byte(content.Turns[i].Session))
		}
		if content.Turns[i].Speaker = sanitize.Speaker(name(turn.Speaker)); relevance.IsRole(turn.Speaker) && turn.Speaker != turn.Role {
			content.Turns[i].Speaker = ""
		}
		for j, use := range turn.Tools {
			turn.Tools[j].Name = name(use.Name)
		}
	}
	if c.entry.Session == "" && len(content.Turns) > 0 {
		c.entry.Session = content.Turns[0].Session
	}
}

// searchable redacts a Markdown file, and empties struck statements and a generated summary, which
// repeats what others say.
func searchable(text []byte, redact func(string) string) []byte {
	return []byte(statement.WithoutStruck(summary.Without(redact(string(text)))))
}

// isID reports whether a session's name says nothing.
func isID(name string) bool {
	const longest = 128
	return len(name) <= longest && !strings.ContainsFunc(name, func(r rune) bool {
		return !('a' <= r|0x20 && r|0x20 <= 'z') && !unicode.IsDigit(r) && !strings.ContainsRune("-_.:/@+=", r)
	})
}

// redactNames returns redactQuietly for names, most of which come again and again.
func (c *Cutter) redactNames() func(string) string {
	known := map[string]string{}
	return func(name string) string {
		clean, ok := known[name]
		if !ok {
			clean = c.redactQuietly(name)
			known[name] = clean
		}
		return clean
	}
}

// redactedBranch returns the name of a branch, or "" if it holds a secret.
func redactedBranch(name string) string {
	if _, findings := secret.Redact(name); len(findings) > 0 {
		return ""
	}
	return name
}

// redactRecords works after the cut: searching all output of tools takes too long. Secrets in
// neighbours are counted with their own record.
func (c *cutting) redactRecords(records []store.Record) {
	if c.doc.Kind != source.KindConversation {
		return
	}
	for i := range records {
		r := &records[i]
		r.Text, r.Before, r.After = c.redact(r.StartLine, r.Text), c.redactQuietly(r.Before), c.redactQuietly(r.After)
		for j := range r.Headings {
			r.Headings[j] = c.redactQuietly(r.Headings[j])
		}
	}
}

// redact takes secrets out of a text of the document and notes their places. line is that of the
// message whose text it is, and 0 for the text of a whole file.
func (c *cutting) redact(line int, text string) string {
	if c.keepSecrets {
		return text
	}
	clean, findings := secret.Redact(text)
	for _, f := range findings {
		at := cmp.Or(line, f.Line)
		c.redacted[f.Rule] = append(c.redacted[f.Rule], paths.Citation(c.doc.Path, at, at))
	}
	return clean
}
