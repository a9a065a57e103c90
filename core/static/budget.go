package static

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/memcore/memcore/chunker"
)

// left is text that was cut.
type left struct {
	path        string
	first, last int // lines in its file
	title       string
}

func (d *doc) text() string {
	var b strings.Builder
	for i, l := range d.lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(l.text)
	}
	return b.String()
}

func (d *doc) bytes() int {
	n := 0
	for _, l := range d.lines {
		n += len(l.text) + 1
	}
	return n
}

// measure counts the tokens of each block; nil counts none.
func (d *doc) measure(count func(string) int) {
	d.tokens = make([]int, len(d.lines))
	if count == nil {
		return
	}
	for b := range chunker.Blocks(d.text()) {
		block := doc{lines: d.lines[b.Start:b.End]}
		d.tokens[b.Start] = count(block.text())
	}
}

func (d *doc) count() int {
	n := 0
	for _, t := range d.tokens {
		n += t
	}
	return n
}

// drop cuts the last section, or the last block of the only one; false if nothing is left to cut. A fence is one block.
func (d *doc) drop() bool {
	if len(d.lines) == 0 {
		return false
	}
	if d.blocks == nil {
		d.blocks = slices.Collect(chunker.Blocks(d.text()))
	}
	last := len(d.blocks) - 1
	section := last
	for section > 0 && d.blocks[section].Level == 0 {
		section--
	}
	switch {
	case last < 0:
		d.lines = nil
		return true
	case section > 0 || last == 0 || last == 1 && d.blocks[0].Level > 0: // a heading alone says nothing
		last = section
	}
	d.cut(d.blocks[last].Start, d.blocks[section].Title)
	d.blocks = d.blocks[:last]
	return true
}

func (d *doc) cut(from int, title string) {
	runs := runsOf(d.lines[from:])
	slices.Reverse(runs)
	for _, run := range runs {
		d.left = append(d.left, left{run.from.path, run.first, run.last, title})
	}
	d.lines = trimmed(d.lines[:from])
	if d.tokens != nil {
		d.tokens = d.tokens[:len(d.lines)]
	}
}

// A run is consecutive lines of one file.
type run struct {
	from        *origin
	first, last int // in the file
	start, end  int // in the doc, end exclusive
}

func runsOf(lines []line) []run {
	var runs []run
	for i, l := range lines {
		if l.number == 0 {
			continue
		}
		last := len(runs) - 1
		if last < 0 || runs[last].from != l.from || l.number < runs[last].last {
			runs = append(runs, run{from: l.from, first: l.number, start: i})
			last++
		}
		runs[last].last, runs[last].end = l.number, i+1
	}
	return runs
}

// leftOut says what was cut: "lines 20-90 of BEANS.md (Testing; Release)".
func (d *doc) leftOut() string {
	type region struct {
		left
		titles []string
	}
	var all []region
	for _, l := range slices.Backward(d.left) {
		last := len(all) - 1
		if last < 0 || all[last].path != l.path || l.first < all[last].last {
			all = append(all, region{left: l})
			last++
		}
		all[last].last = l.last
		if l.title != "" && !slices.Contains(all[last].titles, l.title) {
			all[last].titles = append(all[last].titles, l.title)
		}
	}
	var said []string
	for _, r := range all {
		text := fmt.Sprintf("lines %d-%d of %s", r.first, r.last, r.path)
		if r.first == r.last {
			text = fmt.Sprintf("line %d of %s", r.first, r.path)
		}
		if len(r.titles) > 0 {
			text += " (" + fewOf(r.titles, mostTitles, "; ") + ")"
		}
		said = append(said, text)
	}
	return strings.Join(said, ", ")
}

const (
	mostTitles = 8
	mostFiles  = 12
)

func fewOf(all []string, most int, separator string) string {
	if more := len(all) - most; more > 0 {
		return strings.Join(all[:most], separator) + fmt.Sprintf("%sand %d more", separator, more)
	}
	return strings.Join(all, separator)
}

// noteLines is what a note and the blank line before it take.
const noteLines = 2

// note is what stands in the place of what was cut; "" if nothing was.
func (d *doc) note() string {
	if len(d.left) == 0 {
		return ""
	}
	return leftOutNote(d.leftOut())
}

func leftOutNote(what string) string {
	return "<!-- Left out to fit: " + longComment(what) + ". Read it there when it matters. -->"
}

// longComment is a text of several names as it may stand in an HTML comment.
func longComment(text string) string {
	var parts []string
	for part := range strings.SplitSeq(text, "; ") {
		parts = append(parts, comment(part))
	}
	return strings.Join(parts, "; ")
}

// A size is what counts against limits.
type size struct{ lines, bytes, tokens int }

func (s *size) add(o size, sign int) {
	s.lines += sign * o.lines
	s.bytes += sign * o.bytes
	s.tokens += sign * o.tokens
}

// sizeOf is what a doc takes in the prompt, with the blank line before it and its note.
func (r *reading) sizeOf(d *doc) size {
	if len(d.lines) == 0 {
		return size{}
	}
	s := size{len(d.lines) + 1, d.bytes() + 1, d.count()}
	if note := d.note(); note != "" {
		s.add(size{noteLines, len(note) + 2, r.o.Count(note)}, 1)
	}
	return s
}

// over says by which limit a size is too large; "" if it is not.
func over(s size, l Limits) string {
	switch hard := l.hard(); {
	case l.Lines >= 0 && s.lines > l.Lines:
		return fmt.Sprintf("%d lines are more than %d", s.lines, l.Lines)
	case l.Bytes >= 0 && s.bytes > l.Bytes:
		return fmt.Sprintf("%.1f KB are more than %d KB", float64(s.bytes)/1024, l.Bytes>>10)
	case hard >= 0 && s.tokens > hard:
		return fmt.Sprintf("%d tokens are more than %d", s.tokens, hard)
	}
	return ""
}

// A piece is a candidate that is given, and its text.
type piece struct {
	candidate
	*doc
}

// fit cuts pieces until all are within the limits: of the lowest priority first, of equal ones those of the lowest tier, each from
// its end. It returns the paths of those of which nothing is left.
func (r *reading) fit(pieces []piece, limits Limits) (gone []string) {
	total := size{lines: -1, bytes: -2} // there is no blank line before the first
	for _, p := range pieces {
		p.measure(r.o.Count)
		total.add(r.sizeOf(p.doc), 1)
	}
	why := over(total, limits)
	if why == "" {
		return nil
	}
	reserve := size{noteLines, 600, 150} // for the note about files that are left out as a whole
	order := slices.Clone(pieces)
	slices.SortStableFunc(order, func(a, b piece) int { return cmp.Compare(a.head.Priority, b.head.Priority) })
	for _, p := range order {
		for len(p.lines) > 0 {
			all := total
			if len(gone) > 0 {
				all.add(reserve, 1)
			}
			if over(all, limits) == "" {
				break
			}
			total.add(r.sizeOf(p.doc), -1)
			p.drop()
			total.add(r.sizeOf(p.doc), 1)
			if len(p.lines) == 0 {
				gone = append(gone, r.names.Of(p.file))
			}
		}
	}
	r.warn("", 0, "memory is cut: "+why)
	for _, p := range pieces {
		if len(p.left) > 0 {
			r.warn(r.names.Of(p.file), 0, "left out: "+p.leftOut())
		}
	}
	return gone
}
