package chunker

import "strings"

type span struct{ start, end int }

func (s span) of(text string) string { return text[s.start:s.end] }

// A kind says where a block may be split.
type kind int

const (
	prose   kind = iota // at sentences
	lines               // at lines: code, HTML, tool output
	table               // at rows
	nest                // at the blocks inside: lists, their items, quotes
	heading             // nowhere
	rule                // nowhere: a thematic break
	comment             // at lines: an HTML comment
	front               // at lines: what the frontmatter says about the document
)

// A block is lines that belong together, no outer blank ones.
type block struct {
	span
	kind   kind
	inner  []block // of a nest; nil if it is small
	level  int     // of a heading, 1 to 6
	title  string  // of a heading, without markup
	header string  // of a table: its header row
}

// hollow reports whether a block means nothing alone.
func (b block) hollow() bool {
	return b.kind == heading || b.kind == rule || b.kind == comment || b.kind == front
}

// keepWithNext blocks should not end a chunk: headings, paragraphs used as such ("**Note**"),
// announcements ("as follows:").
func (b block) keepWithNext(text string) bool {
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
