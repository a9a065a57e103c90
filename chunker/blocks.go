package chunker

import (
	"iter"
	"strings"
)

// A Block is a heading, paragraph, list, fence or such.
type Block struct {
	Start, End int    // lines from 0, End exclusive, without blank lines around the block
	Level      int    // of a heading, 1 to 6; 0 for other blocks
	Title      string // of a heading, without markup
	Prose      bool   // a paragraph
	List       bool   // a list, an item of one, or a quote
	Code       bool   // code or HTML
	Comment    bool   // an HTML comment
	Table      bool
	Intro      bool // a paragraph that announces the next block ("as follows:"), or a thematic break
}

// Blocks yields the top-level blocks of Markdown without frontmatter, in linear time. They hold all
// lines that are not blank.
func Blocks(text string) iter.Seq[Block] {
	return func(yield func(Block) bool) {
		line, at, on := 0, 0, true
		eachBlock(text, 0, func(b block) {
			if !on {
				return
			}
			line += strings.Count(text[at:b.start], "\n")
			at = b.start
			on = yield(b.exported(text, line))
		})
	}
}

// exported describes a block that begins on a line.
func (b block) exported(text string, line int) Block {
	return Block{Start: line, End: line + 1 + strings.Count(b.of(text), "\n"), Level: b.level, Title: b.title, Prose: b.kind == prose, List: b.kind == nest,
		Code: b.kind == lines, Comment: b.kind == comment, Table: b.kind == table, Intro: b.kind == rule || b.kind == prose && b.keepWithNext(text)}
}
