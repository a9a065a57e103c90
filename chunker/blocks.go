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
	// Inner are the blocks of a list, item or quote (Tree).
	Inner []Block
}

// Blocks yields the top-level blocks of Markdown without frontmatter, in linear time. They hold all
// lines that are not blank.
func Blocks(text string) iter.Seq[Block] { return blocksOf(text, false) }

// Tree yields the same as Blocks, with inner blocks.
func Tree(text string) iter.Seq[Block] { return blocksOf(text, true) }

func blocksOf(text string, inner bool) iter.Seq[Block] {
	return func(yield func(Block) bool) {
		line, at, on := 0, 0, true
		eachBlock(text, 0, func(b block) {
			if !on {
				return
			}
			line += strings.Count(text[at:b.start], "\n")
			at = b.start
			on = yield(b.exported(text, line, inner))
		})
	}
}

// exported describes a block that begins on a line.
func (b block) exported(text string, line int, inner bool) Block {
	e := Block{Start: line, End: line + 1 + strings.Count(b.of(text), "\n"), Level: b.level, Title: b.title, Prose: b.kind == prose, List: b.kind == nest,
		Code: b.kind == lines, Comment: b.kind == comment, Table: b.kind == table, Intro: b.kind == rule || b.kind == prose && b.keepWithNext(text)}
	if !inner {
		return e
	}
	at := b.start
	for _, in := range b.inner {
		line += strings.Count(text[at:in.start], "\n")
		at = in.start
		e.Inner = append(e.Inner, in.exported(text, line, true))
	}
	return e
}
