package view

import (
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"strings"

	"github.com/memcore/memcore/core"
)

// documentPage is a part of a file.
type documentPage struct {
	File
	Rows []blockRow
	// Whole, Hide and Unhide are addresses to change the whole file; "" for none.
	Whole, Hide, Unhide string
	Previous, Next      string
	Messages            []messageRow // of a log
}

// A blockRow is a block with its chunks and the addresses that change it.
type blockRow struct {
	Block
	HTML                        template.HTML
	Chunks                      []chunkRow // that begin in it
	Edit, Section, Strike, Drop string     // addresses; "" for none
}

// A chunkRow is an indexed chunk.
type chunkRow struct {
	core.MemoryHit
	Anchor int // line for links; 0 if another element has it
}

// A messageRow is a message of a log.
type messageRow struct {
	core.MemoryHit
	Hide string
}

// mostWhole is the longest file that is edited whole, in lines.
const mostWhole = 600

func (v visit) document() error {
	q := v.r.URL.Query()
	if at := q.Get("at"); strings.Contains(at, "#L") { // a citation, of a file that may have # in its name
		first, _, _ := strings.Cut(at[strings.LastIndex(at, "#L")+2:], "-")
		to := address("document", "path", q.Get("path"), "line", strconv.Itoa(numberOf(first)))
		return v.redirect(to + "#L" + strconv.Itoa(numberOf(first)))
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

// address returns a page's address with a query of names and values.
func address(page string, query ...string) string {
	q := url.Values{}
	for i := 0; i < len(query); i += 2 {
		q.Set(query[i], query[i+1])
	}
	return page + "?" + q.Encode()
}

func documentOf(f File) documentPage {
	p := documentPage{File: f}
	if f.Previous > 0 {
		p.Previous = address("document", "path", f.Path, "first", strconv.Itoa(f.Previous))
	}
	if f.Next > 0 {
		p.Next = address("document", "path", f.Path, "first", strconv.Itoa(f.Next))
	}
	if len(f.Chunks) > 0 {
		p.Hide = address("change", "how", Hide, "path", f.Path)
	}
	if f.Hidden > 0 {
		p.Unhide = address("change", "how", Unhide, "path", f.Path)
	}
	if f.Fixed != "" {
		for _, h := range f.Chunks {
			p.Messages = append(p.Messages, messageRow{h, address("change", "how", Hide, "path", f.Path, "id", h.ID)})
		}
		return p
	}
	if f.Lines <= mostWhole && f.Previous == 0 && f.Next == 0 {
		p.Whole = address("edit", "path", f.Path)
	}
	p.Rows = rowsOf(f)
	return p
}

func rowsOf(f File) (rows []blockRow) {
	lines := strings.Split(f.Text, "\n")
	next, anchored := 0, 0
	for i, b := range f.Blocks {
		at := func(page, how string, last int) string {
			return address(page, "how", how, "path", f.Path, "first", strconv.Itoa(b.First), "last", strconv.Itoa(last))
		}
		text := strings.Join(dedented(lines[b.First-f.First:b.Last-f.First+1]), "\n")
		row := blockRow{Block: b, Edit: at("edit", EditLines, b.Last), Drop: at("change", ForgetLines, b.Last)}
		if b.Front {
			row.HTML = verbatim(text)
		} else {
			row.HTML = render(f.Path, text)
		}
		if b.Statement {
			row.Strike = at("change", StrikeLines, b.Last)
		}
		if b.Level > 0 {
			end := endOfSection(f, i)
			row.Section, row.Drop = at("edit", EditLines, end), at("change", ForgetLines, end)
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
