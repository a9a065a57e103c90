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
// Data such as base64 (package payload) is not indexed: a mark takes its place. The first chunk has
// those fields of the frontmatter that describe the document. A document with only frontmatter
// makes one chunk.
//
// It takes linear time and bounded memory, and is safe for concurrent use.
func Markdown(name string, src []byte, o Options) Document {
	var doc Document
	text, badLine := clean(src)
	if badLine > 0 {
		doc.warn(badLine, "invalid UTF-8, replaced")
	}
	front, cuts, after := doc.frontmatter(text)
	title := doc.Title
	m := &markdown{doc: &doc, name: name, reading: read(text, append(cuts, payloads(text, after)...)), limits: newLimits(o), seen: ordinals{}, line: 1}
	m.packer = newPacker(m.limits, m.text, m.chunk)
	m.enter(title)
	for _, c := range cuts {
		after -= c.End - c.Start - len(c.mark)
	}
	if front.end > front.start {
		m.splitter.block(front)
		m.packer.endSection()
	}
	behind := false // a payload, whose closing marks are no text either
	eachBlock(m.text, after, func(b block) {
		if behind = m.isPayload(b) || behind && isWordless(b.of(m.text)); behind {
			return
		}
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
	doc  *Document
	name string
	reading
	outline  outline
	splitter splitter
	packer   *packer
	seen     ordinals
	at, line int // a byte of text, and its line there
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
	c.StartLine = m.line + m.cutLines(p.start)
	c.EndLine = m.line + strings.Count(text, "\n") + m.cutLines(p.end)
	place := m.seen.next(c.Context, text)
	c.identify(m.name, strconv.Itoa(place), p.section.embed(p.header, text))
	m.doc.Chunks = append(m.doc.Chunks, c)
}
