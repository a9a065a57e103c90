package chunker

import "strings"

// A span is a part of a text, from byte start to before byte end.
type span struct{ start, end int }

func (s span) of(text string) string { return text[s.start:s.end] }

// A kind says how a block may be taken apart.
type kind int

const (
	prose   kind = iota // at sentences
	lines               // at lines: code, HTML, tool output
	table               // at rows
	nest                // at the blocks inside: lists, their items, quotes
	heading             // not
	rule                // not: a thematic break
	comment             // at lines: an HTML comment
)

// A block is a whole number of lines that belong together. Its span starts with its first line and
// ends with its last, without the \n. Blank lines between two blocks belong to neither.
type block struct {
	span
	kind   kind
	inner  []block // of a nest, covering its span; nil if it is small
	level  int     // of a heading, 1 to 6
	title  string  // of a heading, without markup
	header string  // of a table: its header row
}

// hollow blocks say nothing by themselves.
func (b block) hollow() bool { return b.kind == heading || b.kind == rule || b.kind == comment }

// binds is true of a block that should not be the last of a chunk: headings, what stands for one
// ("**Note**"), and what announces something ("as follows:").
func (b block) binds(text string) bool {
	if b.kind == heading {
		return true
	}
	if b.kind != prose {
		return false
	}
	t := strings.TrimSpace(b.of(text))
	plain := strings.TrimRight(t, "*_")
	return strings.HasSuffix(plain, ":") || strings.HasSuffix(plain, "：") ||
		strings.HasPrefix(t, "**") && strings.HasSuffix(t, "**") && strings.Count(t, "**") == 2
}
