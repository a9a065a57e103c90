package chunker

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Markdown cuts a document along its structure. name is how the document is known; it enters the
// IDs. Nothing in src is refused: what is odd is told in Document.Warnings.
//
// A section (a heading with what follows it up to the next one) is one chunk if it fits Max. Else it
// is filled up to Target block by block; code, tables and list items stay whole where they fit, and
// are cut at lines where they do not, long prose at the ends of sentences. A heading with nothing
// under it, or with comments only, goes with the next section.
//
// Lines are counted as \n counts them; \r\n is read as \n, and Text has no \r before a \n. A split
// table's later chunks have its header row as the last of their Headings. Of headings too long for
// a chunk the outer ones are left out of the path. The title of the frontmatter is the first of
// Headings unless a heading says the same. Time is linear in the size of src, and what is kept
// beside src and the chunks is bounded.
//
// Its result is the caller's. It is safe for concurrent use.
func Markdown(name string, src []byte, o Options) Document {
	var doc Document
	text, badLine := clean(src)
	if badLine > 0 {
		doc.warn(badLine, "invalid UTF-8, replaced")
	}
	body, from := doc.frontmatter(text)
	title := doc.Title
	m := &markdown{doc: &doc, name: name, text: text, limits: newLimits(o), seen: ordinals{}, line: 1}
	m.packer = newPacker(m.limits, text, m.chunk)
	m.enter(title)
	if body < from {
		m.splitter.block(block{span: span{body, len(trimEnd(text[:from]))}, kind: lines})
		m.packer.endSection()
	}
	eachBlock(text, from, func(b block) {
		if b.kind == heading {
			m.packer.endSection()
			m.outline.enter(b.level, b.title)
			m.enter(title)
			if b.level == 1 && doc.Title == "" {
				doc.Title = b.title
			}
		}
		m.splitter.block(b)
	})
	m.packer.finish()
	return doc
}

func (d *Document) warn(line int, format string, args ...any) {
	d.Warnings = append(d.Warnings, Warning{Line: line, Text: fmt.Sprintf(format, args...)})
}

// markdown is one call of Markdown.
type markdown struct {
	limits
	doc      *Document
	name     string
	text     string
	outline  outline
	splitter splitter
	packer   *packer
	seen     ordinals
	at, line int // a place in text, and the line it is on
}

// enter begins a section below the headings of the outline.
func (m *markdown) enter(title string) {
	path := m.outline.path(title, m.limits, m.max/3)
	m.splitter = splitter{m.limits, m.text, newSection(m.limits, path, "", time.Time{}), m.packer.add}
}

func (m *markdown) chunk(p piece) {
	text := p.of(m.text)
	headings := p.section.path(p.header)
	c := Chunk{Text: text, Headings: headings, Context: joinPath(headings), Tokens: m.count(text)}
	m.line += strings.Count(m.text[m.at:p.start], "\n")
	m.at = p.start
	c.StartLine, c.EndLine = m.line, m.line+strings.Count(text, "\n")
	place := m.seen.next(c.Context, text)
	c.identify(m.name, strconv.Itoa(place), p.section.embed(p.header, text))
	m.doc.Chunks = append(m.doc.Chunks, c)
}
