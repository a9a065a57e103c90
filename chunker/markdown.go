package chunker

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Markdown cuts any document along its structure. name identifies it and enters the IDs.
//
// A section, from one heading to the next, is one chunk if it fits Max. Otherwise blocks fill
// chunks up to Target. Code, tables and list items stay whole if they fit, else are cut at lines,
// long prose at sentences. An empty section joins the next one. Outer headings that exceed a chunk
// are left out.
//
// It takes linear time and bounded memory, and is safe for concurrent use.
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

type markdown struct {
	limits
	doc      *Document
	name     string
	text     string
	outline  outline
	splitter splitter
	packer   *packer
	seen     ordinals
	at, line int // a byte of text, and its line
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
