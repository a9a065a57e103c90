package notes

import (
	"strings"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/markdown/statement"
	"github.com/memcore/memcore/internal/text/secret"
)

// A Block of a memory file is what a person corrects: a heading, a paragraph, a list item, code.
type Block struct {
	First, Last int    // lines, from 1
	Level       int    // of a heading, from 1
	Depth       int    // of an item in items
	Statement   bool   // that can be struck through
	Struck      bool   // superseded
	Front       bool   // frontmatter
	Secrets     string // kinds of secrets in it
}

// BlocksOf returns the blocks of a text, in order.
func BlocksOf(text string) []Block {
	_, body, skipped, _ := chunker.SplitFrontmatter([]byte(text))
	lines := strings.Split(body, "\n")
	var all []Block
	if skipped > 0 {
		all = append(all, Block{First: 1, Last: skipped, Front: true})
	}
	for b := range chunker.Blocks(body) {
		if !b.List {
			all = append(all, Block{First: skipped + b.Start + 1, Last: skipped + b.End, Level: b.Level})
			continue
		}
		all = append(all, itemsOf(lines[b.Start:b.End], skipped+b.Start+1)...)
	}
	is := map[[2]int]bool{}
	for _, s := range statement.Of(body, 1) {
		is[[2]int{skipped + s.Start + 1, skipped + s.End}] = true
	}
	_, found := secret.Redact(text)
	for i := range all {
		b := &all[i]
		if is[[2]int{b.First, b.Last}] {
			b.Statement = true
			b.Struck = statement.IsStruck(strings.Join(lines[b.First-1-skipped:b.Last-skipped], "\n"))
		}
		var in []secret.Finding
		for _, f := range found {
			if f.Line >= b.First && f.Line <= b.Last {
				in = append(in, f)
			}
		}
		b.Secrets = secret.Kinds(in)
	}
	return all
}

// deepest bounds the depth of items.
const deepest = 6

// itemsOf returns a block for each list item, and one for lines before the first. line is that of
// lines[0].
func itemsOf(lines []string, line int) (all []Block) {
	var indents []int // of the items that an item is in
	for i, l := range lines {
		switch {
		case statement.IsItem(l):
			indent := len(l) - len(strings.TrimLeft(l, " \t"))
			for len(indents) > 0 && indents[len(indents)-1] >= indent {
				indents = indents[:len(indents)-1]
			}
			all = append(all, Block{First: line + i, Last: line + i, Depth: min(len(indents), deepest)})
			indents = append(indents, indent)
		case len(all) == 0:
			all = append(all, Block{First: line + i, Last: line + i})
		case strings.TrimSpace(l) != "":
			all[len(all)-1].Last = line + i
		}
	}
	return all
}
