package view

import (
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"strings"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/internal/paths"
)

// documentPage is a part of a file.
type documentPage struct {
	File
	Rows  []blockRow
	Whole bool // it can be edited as a whole
}

// A blockRow is a block with its chunks.
type blockRow struct {
	Block
	HTML   template.HTML
	Chunks []chunkRow // that begin in it
	// End is the last line that its links change: of a heading, that of its section.
	End int
}

// A chunkRow is an indexed chunk.
type chunkRow struct {
	core.MemoryHit
	Anchor int // line for links; 0 if another element has it
}

// maxWhole is the longest file that is edited whole, in lines.
const maxWhole = 600

func (v visit) document() error {
	q := v.r.URL.Query()
	if _, first, _, cited := paths.ParseCitation(q.Get("at")); cited {
		line := strconv.Itoa(first)
		return v.redirect("document?" + url.Values{"path": {q.Get("path")}, "line": {line}}.Encode() + "#L" + line)
	}
	file := func(first int) (File, error) {
		return v.memory.File(v.r.Context(), FileRequest{Path: q.Get("path"), First: first})
	}
	f, err := file(numberOf(q.Get("first")))
	if line := numberOf(q.Get("line")); err == nil && line > f.Last && f.Next > 0 {
		f, err = file(line)
	}
	if err != nil {
		return err
	}
	return v.show("memory", "document", "Memory: "+clean(f.Path), documentOf(f))
}

// numberOf reads a line number; 0 if there is none.
func numberOf(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

func documentOf(f File) documentPage {
	p := documentPage{File: f}
	if f.Fixed == "" {
		p.Whole = f.Lines <= maxWhole && f.Previous == 0 && f.Next == 0
		p.Rows = rowsOf(f)
	}
	return p
}

func rowsOf(f File) (rows []blockRow) {
	lines := strings.Split(f.Text, "\n")
	next, anchored := 0, 0
	for i, b := range f.Blocks {
		text := strings.Join(dedented(lines[b.First-f.First:b.Last-f.First+1]), "\n")
		row := blockRow{Block: b, End: b.Last}
		if b.Front {
			row.HTML = verbatim(text)
		} else {
			row.HTML = render(f.Path, text)
		}
		if b.Level > 0 {
			row.End = endOfSection(f, i)
		}
		for ; next < len(f.Chunks) && (f.Chunks[next].StartLine <= b.Last || i == len(f.Blocks)-1); next++ {
			chunk := chunkRow{MemoryHit: f.Chunks[next]}
			if chunk.StartLine > anchored && chunk.StartLine > b.First {
				chunk.Anchor, anchored = chunk.StartLine, chunk.StartLine
			}
			row.Chunks = append(row.Chunks, chunk)
		}
		rows = append(rows, row)
	}
	return rows
}

// endOfSection returns the last line before the next heading.
func endOfSection(f File, heading int) int {
	last := f.Blocks[heading].Last
	for _, b := range f.Blocks[heading+1:] {
		if b.Level > 0 {
			break
		}
		last = b.Last
	}
	return last
}

// dedented removes the first line's indentation from all.
func dedented(lines []string) []string {
	if len(lines) == 0 {
		return nil
	}
	indent := lines[0][:len(lines[0])-len(strings.TrimLeft(lines[0], " \t"))]
	if indent == "" || !isItem(lines[0]) {
		return lines
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.TrimPrefix(l, indent)
	}
	return out
}

// isItem reports whether a line begins a list item. Elsewhere indentation is code.
func isItem(line string) bool {
	line = strings.TrimLeft(line, " \t")
	return line != "" && strings.ContainsRune("-*+0123456789", rune(line[0]))
}

// linesText names the lines of a chunk or block.
func linesText(first, last int) string {
	if last <= first {
		return fmt.Sprintf("line %d", first)
	}
	return fmt.Sprintf("lines %d to %d", first, last)
}
