package chunker

import (
	"iter"
	"strings"
)

// A Block is a whole number of lines of a Markdown text that belong together: a heading, a paragraph, a list, a fence.
type Block struct {
	Start, End int    // lines, from 0, End exclusive; blank lines between two blocks belong to neither
	Level      int    // of a heading, 1 to 6; 0 for what is none
	Title      string // of a heading, without markup
	Prose      bool   // a paragraph
	List       bool   // a list or a quote
}

// Blocks yields the blocks at the top level of a Markdown text without frontmatter, in order. Together they hold all lines that
// are not blank. Lines end with \n. Time is linear in the size of text.
func Blocks(text string) iter.Seq[Block] {
	return func(yield func(Block) bool) {
		line, at, on := 0, 0, true
		eachBlock(text, 0, func(b block) {
			if !on {
				return
			}
			line += strings.Count(text[at:b.start], "\n")
			at = b.start
			end := line + 1 + strings.Count(b.of(text), "\n")
			on = yield(Block{Start: line, End: end, Level: b.level, Title: b.title, Prose: b.kind == prose, List: b.kind == nest})
		})
	}
}
