package chunker

import (
	"bytes"
	"slices"
	"sort"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/memcore/memcore/internal/markdown/fence"
	"github.com/memcore/memcore/internal/text/lazy"
)

// Windows bound memory. One grows while a block fills it.
const (
	firstWindow   = 128 << 10 // bytes
	largestWindow = 1 << 20   // bytes
	manyLines     = 50_000    // a window of so many does not grow
)

// blockParser knows no inline markup, link definitions and tables: goldmark would pad every row
// with thousands of columns.
var blockParser = parser.NewParser(parser.WithBlockParsers(parser.DefaultBlockParsers()...))

// eachBlock yields text[from:] in blocks that hold all nonblank lines.
func eachBlock(text string, from int, yield func(block)) {
	size := firstWindow
	for from < len(text) {
		end := windowEnd(text, from+size)
		blocks := parseWindow(text, from, end)
		last := len(blocks) - 1
		switch {
		case end == len(text) || last < 0:
			from = end
		case last > 0:
			from, blocks = blocks[last].start, blocks[:last] // the last one may continue
			size = firstWindow
		case size < largestWindow && strings.Count(text[from:end], "\n") < manyLines:
			size *= 2
			continue
		default:
			blocks[0].end = max(blocks[0].end, fenceEnd(text, blocks[0].start, end))
			from = max(end, blocks[0].end)
		}
		for _, b := range blocks {
			yield(b)
		}
	}
}

// windowEnd includes the line break.
func windowEnd(text string, at int) int {
	if at >= len(text) {
		return len(text)
	}
	return min(lineEnd(text, at)+1, len(text))
}

// fenceEnd returns the end of a fence that exceeds a window, or 0 without one. It searches from
// from.
func fenceEnd(text string, start, from int) int {
	open := fence.Opens(text[start:lineEnd(text, start)])
	if !open.Open() {
		return 0
	}
	for at := from; at < len(text); at = lineEnd(text, at) + 1 {
		if open.ClosedBy(text[at:lineEnd(text, at)]) {
			return lineEnd(text, at)
		}
	}
	return len(text)
}

// A window is parsed at once. Lines count from 0.
type window struct {
	text   string // the document
	starts []int  // of each line in text, and the end of the last
	copied []byte // for goldmark: the same lines, shortened
	copies []int  // of each line in copied
}

func parseWindow(doc string, from, end int) []block {
	w := newWindow(doc, from, end)
	root := blockParser.Parse(text.NewReader(w.copied))
	return w.children(root, 0, len(w.starts)-1)
}

func newWindow(doc string, from, end int) *window {
	w := &window{text: doc, copied: make([]byte, 0, end-from)}
	for at := from; at < end; {
		next := min(lineEnd(doc, at)+1, end)
		w.starts = append(w.starts, at)
		w.copies = append(w.copies, len(w.copied))
		w.copied = appendBounded(w.copied, doc[at:next])
		at = next
	}
	w.starts = append(w.starts, end)
	return w
}

// line returns the line of a byte of copied.
func (w *window) line(pos int) int {
	return sort.Search(len(w.copies), func(i int) bool { return w.copies[i] > pos }) - 1
}

func (w *window) blank(line int) bool {
	return isBlank(w.text[w.starts[line]:w.starts[line+1]])
}

// span drops blank lines at both ends.
func (w *window) span(first, end int) span {
	for first < end && w.blank(first) {
		first++
	}
	for end > first && w.blank(end-1) {
		end--
	}
	if first == end {
		return span{}
	}
	return span{w.starts[first], w.starts[first] + len(trimNewline(w.text[w.starts[first]:w.starts[end]]))}
}

func trimNewline(s string) string { return strings.TrimSuffix(s, "\n") }

// children reach to the next block: no line is lost.
func (w *window) children(parent ast.Node, first, end int) []block {
	var blocks []block
	add := func(b block) {
		if b.span != (span{}) {
			blocks = append(blocks, b)
		}
	}
	node, start := ast.Node(nil), first
	for c := parent.FirstChild(); c != nil; c = c.NextSibling() {
		at := w.line(c.Pos())
		if node == nil || at > start {
			if node != nil {
				w.convert(node, start, at, add)
				start = at
			}
			node = c
		}
	}
	if node != nil {
		w.convert(node, start, end, add)
	} else {
		add(block{span: w.span(first, end)})
	}
	return blocks
}

func (w *window) convert(n ast.Node, first, end int, add func(block)) {
	b := block{span: w.span(first, end)}
	switch n := n.(type) {
	case *ast.Heading:
		last := w.headingEnd(n, first, end)
		h := block{span: w.span(first, last), kind: prose}
		h.kind, h.level, h.title = heading, n.Level, headingText(n.Lines().Value(w.copied))
		add(h)
		b.span = w.span(last, end)
	case *ast.List, *ast.ListItem, *ast.Blockquote:
		b.kind = nest
		if b.end-b.start > smallNest {
			b.inner = w.children(n, first, end)
		}
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		b.kind = lines
	case *ast.HTMLBlock:
		b.kind = lines
		if t := strings.TrimSpace(b.of(w.text)); strings.HasPrefix(t, "<!--") && strings.Index(t, "-->") == len(t)-3 {
			b.kind = comment
		}
	case *ast.ThematicBreak:
		b.kind = rule
	default:
		if b.header = w.tableHeader(n); b.header != "" {
			b.kind = table
		}
	}
	add(b)
}

// smallNest is the largest whole list, in bytes.
const smallNest = 64

// headingEnd returns the line after a heading or its underline.
func (w *window) headingEnd(n *ast.Heading, first, end int) int {
	for first < end && w.blank(first) {
		first++
	}
	if strings.HasPrefix(strings.TrimLeft(w.text[w.starts[first]:], " "), "#") || n.Lines().Len() == 0 {
		return min(first+1, end)
	}
	return min(w.line(n.Lines().At(n.Lines().Len()-1).Start)+2, end)
}

var tableRule = lazy.Regexp(`^[ \t]*\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*\n?$`)

// tableHeader returns a table's header row, as on GitHub.
func (w *window) tableHeader(n ast.Node) string {
	rows := n.Lines()
	for i := 1; i < rows.Len(); i++ {
		row := rows.At(i)
		line := row.Value(w.copied)
		if !bytes.ContainsRune(line, '-') || !bytes.ContainsAny(line, "|:") || !tableRule().Match(line) {
			continue
		}
		above := rows.At(i - 1)
		header := string(above.Value(w.copied))
		if cells := tableCells(header); len(cells) == len(tableCells(string(line))) {
			return strings.Join(slices.DeleteFunc(cells, isBlank), " | ")
		}
	}
	return ""
}

func tableCells(row string) []string {
	row = strings.TrimSpace(row)
	row = strings.TrimSuffix(strings.TrimPrefix(row, "|"), "|")
	cells := strings.Split(strings.ReplaceAll(row, `\|`, "¦"), "|")
	for i, c := range cells {
		cells[i] = headingText([]byte(c))
	}
	return cells
}

// Limits of a line: goldmark's work grows with open blocks.
const (
	maxLine       = 4096 // bytes
	deepestIndent = 64   // columns
	deepestNest   = 16   // markers of quotes and list items in a line
)

// appendBounded appends a line within these limits.
func appendBounded(to []byte, line string) []byte {
	line = strings.TrimSuffix(line, "\n")
	indent := len(line) - len(strings.TrimLeft(line, " \t"))
	if indent > deepestIndent {
		line = line[:deepestIndent] + line[indent:]
	}
	if len(line) > maxLine {
		line = line[:maxLine*3/4] + line[len(line)-maxLine/4:]
	}
	start := len(to)
	to = append(to, line...)
	if from := deepNest(line); from < len(line) {
		flatten(to[start+from:])
	}
	return append(to, '\n')
}

// deepNest returns where markers nest too deep, or the end.
func deepNest(line string) int {
	for i, markers := 0, 0; i < len(line); markers++ {
		i += len(line[i:]) - len(strings.TrimLeft(line[i:], " \t"))
		n := markerLength(line[i:])
		if n == 0 {
			break
		}
		if markers == deepestNest {
			return i
		}
		i += n
	}
	return len(line)
}

var marker = lazy.Regexp(`^(>|([-+*]|[0-9]{1,9}[.)])(?:[ \t]|$))`)

// markerLength is of a quote's or item's marker, or 0.
func markerLength(line string) int {
	if line == "" || !strings.ContainsRune(">-+*0123456789", rune(line[0])) {
		return 0
	}
	return len(marker().FindString(line))
}

// flatten replaces the markers at a line's start by letters.
func flatten(line []byte) {
	for i, c := range line {
		if bytes.IndexByte([]byte(">-+*0123456789.) \t"), c) < 0 {
			return
		}
		line[i] = 'x'
	}
}
