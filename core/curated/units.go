package curated

import (
	"strings"
	"unicode/utf8"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/text/lazy"
)

// A unit is given whole: a list item with its nested items, a table row, a short paragraph, a
// sentence, a fence.
type unit struct {
	start, end int    // lines of the body, end exclusive
	from, to   int    // first byte on the first line, end on the last
	blanks     int    // blank lines before it
	block      bool   // begins a block at the top level
	title      string // of its section

	parent int // the unit that it needs: the heading above it, the sentence before it; or -1
	closer int // the unit that must follow it, such as the last line of a fence; or -1
	// A support, such as a heading, is given only with dependents.
	support bool
	closing bool // is the closer of another unit
	last    bool // is given after all others: a line of a fence that is too long for the limits

	needed int // of a support: how many given units need it
	given  bool
	tokens int // once counted
}

// Blocks up to this size are one unit.
const (
	wholeLines = 6
	wholeBytes = 500
)

type splitter struct {
	*body
	limits Limits
	title  string
}

// split keeps a fence within limits whole.
func (d *body) split(limits Limits) {
	c := &splitter{body: d, limits: limits}
	d.units = nil
	type section struct{ level, unit int }
	var above []section
	heading := func() int {
		if len(above) > 0 {
			return above[len(above)-1].unit
		}
		return -1
	}
	intro := -1 // the unit that announces the next block
	parent := func() int {
		if intro >= 0 {
			return intro
		}
		return heading()
	}
	for b := range chunker.Tree(d.text()) {
		first := len(d.units)
		switch {
		case b.Level > 0:
			for len(above) > 0 && above[len(above)-1].level >= b.Level {
				above = above[:len(above)-1]
			}
			c.title = b.Title
			above = append(above, section{b.Level, c.support(b.Start, b.End, parent())})
			intro = -1
		case b.Intro && c.short(b):
			intro = c.support(b.Start, b.End, heading())
		default:
			c.add(b, parent())
			intro = -1
		}
		if first < len(d.units) {
			d.units[first].block = true
		}
	}
	d.freeSupports()
}

// freeSupports turns unneeded supports, such as empty sections, into ordinary units.
func (d *body) freeSupports() {
	used := make([]bool, len(d.units))
	for i := len(d.units) - 1; i >= 0; i-- {
		u := &d.units[i]
		if u.support && !used[i] && !u.closing {
			u.support = false
		}
		if u.parent >= 0 {
			used[u.parent] = true
		}
	}
}

func (c *splitter) short(b chunker.Block) bool {
	if b.End-b.Start > wholeLines {
		return false
	}
	return len(textOf(c.lines[b.Start:b.End])) < wholeBytes
}

// whole, like the functions below, returns the unit's index.
func (c *splitter) whole(start, end, parent int) int {
	return c.put(unit{start: start, end: end, to: len(c.lines[end-1].text), parent: parent})
}

func (c *splitter) support(start, end, parent int) int {
	at := c.whole(start, end, parent)
	c.units[at].support = true
	return at
}

func (c *splitter) put(u unit) int {
	taken := 0 // lines before it that are of other units, even if one looks blank, such as \f
	if n := len(c.units); n > 0 {
		taken = c.units[n-1].end
	}
	for at := u.start - 1; u.from == 0 && at >= taken && blank(c.lines[at]); at-- {
		u.blanks++
	}
	u.closer, u.title = -1, c.title
	c.units = append(c.units, u)
	return len(c.units) - 1
}

// add returns the first unit that others may need, or -1.
func (c *splitter) add(b chunker.Block, parent int) int {
	switch {
	case b.Table:
		return c.table(b, parent)
	case b.Code:
		return c.code(b, parent)
	case b.List && len(b.Inner) > 0:
		return c.list(b, parent)
	case b.Prose && !c.short(b):
		return c.sentences(b, parent)
	}
	return c.whole(b.Start, b.End, parent)
}

var ordered = lazy.Regexp(`^\s*\d{1,9}[.)]\s`)

// Numbered items need the one before, nested blocks their item's beginning.
func (c *splitter) list(b chunker.Block, parent int) int {
	items := true
	for _, in := range b.Inner {
		items = items && in.List
	}
	if !items && c.short(b) {
		return c.whole(b.Start, b.End, parent)
	}
	first := -1
	for i, in := range b.Inner {
		under := parent
		steps := items && ordered().MatchString(c.lines[b.Start].text)
		if first >= 0 && (!items || steps) {
			under = first
		}
		at := c.add(in, under)
		if i == 0 || steps && at >= 0 {
			first = at
		}
	}
	return first
}

var tableRule = lazy.Regexp(`^[\s|:-]*-[\s|:-]*$`)

func (c *splitter) table(b chunker.Block, parent int) int {
	header := b.Start + 1
	for header < b.End && !tableRule().MatchString(c.lines[header].text) {
		header++
	}
	if header+1 >= b.End {
		return c.whole(b.Start, b.End, parent)
	}
	head := c.support(b.Start, header+1, parent)
	for at := header + 1; at < b.End; at++ {
		c.whole(at, at+1, head)
	}
	return -1
}

// code adds a fence, indented code or HTML, and splits huge fences.
func (c *splitter) code(b chunker.Block, parent int) int {
	opening, closing := strings.TrimSpace(c.lines[b.Start].text), strings.TrimSpace(c.lines[b.End-1].text)
	html := strings.HasPrefix(opening, "<")
	note := c.limits.maxList() + maxNote - maxList
	alone := sizeOf(textOf(c.lines[b.Start:b.End])).plus(size{lines: noteLines, runes: note + 1})
	if strings.HasPrefix(opening, "<!--") || html && c.short(b) || !html && fits(alone, c.limits) {
		return c.whole(b.Start, b.End, parent)
	}
	fenced := strings.Contains(opening, "```") || strings.Contains(opening, "~~~")
	start, end, open := b.Start, b.End, -1
	if fenced || html {
		start = b.Start + 1
		open = c.support(b.Start, start, parent)
		parent = open
	}
	if fenced && (strings.HasPrefix(closing, "```") || strings.HasPrefix(closing, "~~~")) || html && strings.HasPrefix(closing, "</") {
		end = max(end-1, start)
	}
	for at := start; at < end; at++ {
		if blank(c.lines[at]) {
			continue
		}
		i := c.whole(at, at+1, parent)
		c.units[i].last = !html
		if !html {
			parent = i // code has no gaps
		}
	}
	if end < b.End {
		i := c.support(end, b.End, -1)
		c.units[open].closer, c.units[i].closing = i, true
	}
	return -1
}

// sentences makes each need the one before.
func (c *splitter) sentences(b chunker.Block, parent int) int {
	text := textOf(c.lines[b.Start:b.End])
	first, line, lineAt, at := -1, b.Start, 0, 0 // at is the byte of text that is next, on that line
	for _, end := range sentenceEnds(text) {
		for at < end && strings.IndexByte(" \t\n", text[at]) >= 0 {
			if text[at] == '\n' {
				line, lineAt = line+1, at+1
			}
			at++
		}
		u := unit{start: line, from: at - lineAt, parent: parent}
		if strings.TrimSpace(text[lineAt:at]) == "" {
			u.from = 0 // its indentation belongs to it
		}
		for ; at < end; at++ {
			if text[at] == '\n' {
				line, lineAt = line+1, at+1
			}
		}
		u.end, u.to = line+1, end-lineAt
		parent = c.put(u)
		if first < 0 {
			first = parent
		}
	}
	return first
}

// sentenceEnds cuts no emphasis or code. Long sentences also end at line ends, lines over
// maxSentence between words.
func sentenceEnds(text string) []int {
	var ends []int
	bold, code, seen := 0, 0, 0
	put := func(end int) {
		bold, code, seen = bold+strings.Count(text[seen:end], "**"), code+strings.Count(text[seen:end], "`"), end
		if end == len(text) || bold%2 == 0 && code%2 == 0 {
			ends = append(ends, end)
		}
	}
	last := 0
	for start, end := range chunker.Sentences(text) {
		if end-start > wholeBytes || strings.Count(text[start:end], "\n") >= wholeLines {
			from, long := start, lineLonger(text[start:end], maxSentence)
			for i := start; i < end; i++ {
				if text[i] == '\n' || long && i-from >= wholeBytes && text[i] == ' ' {
					put(i)
					from = i
				}
			}
		}
		last = end
		put(end)
	}
	if n := len(ends); n == 0 || ends[n-1] < last {
		ends = append(ends, last)
	}
	return ends
}

// maxSentence is the longest line, in bytes, not split between words.
const maxSentence = 2000

func lineLonger(text string, than int) bool {
	for line := range strings.Lines(text) {
		if len(line) > than {
			return true
		}
	}
	return false
}

func blank(l line) bool { return strings.TrimSpace(l.text) == "" }

// part returns a unit's text on one line.
func (d *body) part(u *unit, at int) string {
	text := d.lines[at].text
	if at == u.end-1 {
		text = text[:u.to]
	}
	if at == u.start {
		text = text[u.from:]
	}
	return text
}

func (d *body) textOf(i int) string {
	u := &d.units[i]
	parts := make([]string, 0, u.end-u.start)
	for at := u.start; at < u.end; at++ {
		parts = append(parts, d.part(u, at))
	}
	return strings.Join(parts, "\n")
}

// minSize counts tokens only if count is set.
func (d *body) minSize(i int, count func(string) int) size {
	u := &d.units[i]
	text := d.textOf(i)
	s := sizeOf(text)
	if u.from > 0 {
		s.lines-- // it continues a line
	}
	if count != nil {
		if u.tokens == 0 {
			u.tokens = count(text)
		}
		s.tokens = max(u.tokens-1, 0) // counts rounding up
	}
	return s
}

// sizeOf does not count tokens.
func sizeOf(text string) size {
	return size{lines: strings.Count(text, "\n") + 1, runes: utf8.RuneCountInString(text)}
}

// available units are not given yet, but their parent is.
func (d *body) available(i int) bool {
	u := &d.units[i]
	if u.given || u.support {
		return false
	}
	for p := u.parent; p >= 0; p = d.units[p].parent {
		if !d.units[p].support {
			return d.units[p].given
		}
	}
	return true
}

// give gives a unit with its supports, or takes them back.
func (d *body) give(i int, yes bool) {
	d.units[i].given = yes
	need := func(at int) {
		if at < 0 {
			return
		}
		u := &d.units[at]
		if yes {
			u.needed++
		} else {
			u.needed--
		}
		u.given = u.needed > 0
	}
	need(d.units[i].closer)
	for p := d.units[i].parent; p >= 0 && d.units[p].support; p = d.units[p].parent {
		need(p)
		need(d.units[p].closer)
	}
}

// order returns units, not supports, first to be given first.
func (d *body) order() []int {
	var order, last []int
	for i, u := range d.units {
		switch {
		case u.support:
		case u.last:
			last = append(last, i)
		default:
			order = append(order, i)
		}
	}
	return append(order, last...)
}

// kept returns the lines of the units that are given.
func (d *body) kept() []line {
	var kept []line
	end := -1 // the last line that is kept
	for i := range d.units {
		u := &d.units[i]
		if !u.given {
			continue
		}
		for at := u.start; at < u.end; at++ {
			l := d.lines[at]
			if at == u.end-1 {
				l.text = l.text[:u.to]
			}
			switch {
			case at == end: // continues a line
				kept[len(kept)-1].text = l.text
				continue
			case at == u.start && len(kept) > 0:
				kept = append(kept, d.lines[u.start-u.blanks:u.start]...)
				if u.block && u.blanks == 0 && !d.units[i-1].given {
					kept = append(kept, line{from: l.from}) // else two paragraphs would join
				}
			}
			kept = append(kept, l)
		}
		end = u.end - 1
	}
	return kept
}
