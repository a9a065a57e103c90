package static

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/memcore/memcore/chunker"
)

// A region is text of one file that was cut.
type region struct {
	path        string
	first, last int      // lines in the file
	titles      []string // of its sections, the last one first; the most that are named
	more        int      // sections that are not named
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

// measure sums up lines, bytes and tokens of the blocks.
func (d *doc) measure(count func(string) int) {
	tokens := make([]int, len(d.lines))
	for b := range chunker.Blocks(d.text()) {
		block := doc{lines: d.lines[b.Start:b.End]}
		tokens[b.Start] = count(block.text())
	}
	d.size = make([]size, len(d.lines))
	sum := size{}
	for i, l := range d.lines {
		sum.add(size{1, len(l.text) + 1, tokens[i]}, 1)
		d.size[i] = sum
	}
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
	for _, run := range slices.Backward(runsOf(d.lines[from:])) {
		last := len(d.left) - 1
		if last < 0 || d.left[last].path != run.from.path || d.left[last].first < run.last {
			d.left = append(d.left, region{path: run.from.path, last: run.last})
			last++
		}
		r := &d.left[last]
		r.first = run.first
		if n := len(r.titles); title != "" && (n == 0 || r.titles[n-1] != title) {
			if r.titles = append(r.titles, title); n == mostTitles {
				r.titles = r.titles[1:]
				r.more++
			}
		}
	}
	d.lines = d.lines[:from]
	for n := len(d.lines); n > 0 && strings.TrimSpace(d.lines[n-1].text) == ""; n-- {
		d.lines = d.lines[:n-1]
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
	var said []string
	for _, r := range slices.Backward(d.left) {
		if len(said) == mostFiles {
			said = append(said, fmt.Sprintf("and %d more places", len(d.left)-mostFiles))
			break
		}
		text := fmt.Sprintf("lines %d-%d of %s", r.first, r.last, r.path)
		if r.first == r.last {
			text = fmt.Sprintf("line %d of %s", r.first, r.path)
		}
		if len(r.titles) > 0 {
			titles := slices.Clone(r.titles)
			slices.Reverse(titles)
			text += " (" + strings.Join(titles, "; ")
			if r.more > 0 {
				text += fmt.Sprintf("; and %d more", r.more)
			}
			text += ")"
		}
		said = append(said, text)
	}
	return strings.Join(said, ", ")
}

const (
	mostTitles = 8
	mostFiles  = 12
	// longestList is how long a list of files may be, in bytes, but for its first.
	longestList = 400
)

// someOf are as many names as are worth their place.
func someOf(names []string) string {
	text := ""
	for i, name := range names {
		if i > 0 && (i == mostFiles || len(text)+len(name) > longestList) {
			return text + fmt.Sprintf("; and %d more", len(names)-i)
		}
		if i > 0 {
			text += "; "
		}
		text += name
	}
	return text
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
func sizeOf(d *doc) size {
	if len(d.lines) == 0 {
		return size{}
	}
	s := d.size[len(d.lines)-1]
	s.add(size{1, 1, 0}, 1)
	s.add(sizeOfNote(d.note()), 1)
	return s
}

// sizeOfNote is what a note takes; its tokens are estimated, since it is made anew with each cut.
func sizeOfNote(note string) size {
	if note == "" {
		return size{}
	}
	return size{noteLines, len(note) + 2, len(note)/3 + 1}
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

// shrink says what is repeated once, and cuts pieces until they are within the limits. It returns the paths of those of which nothing is left,
// and how many statements were left out because another piece makes them.
func (r *reading) shrink(pieces []piece, limits Limits) (gone []string, repeated int) {
	whole := make([]doc, len(pieces))
	for i, p := range pieces {
		whole[i] = *p.doc
	}
	repeated = sayOnce(pieces)
	total := r.total(pieces)
	if repeated > 0 && over(total, limits) != "" {
		// What keeps a statement may be cut: cut first, then say what is left once.
		for i, p := range pieces {
			*p.doc = whole[i]
		}
		gone = r.fit(pieces, r.total(pieces), limits)
		return gone, sayOnce(pieces)
	}
	return r.fit(pieces, total, limits), repeated
}

// total measures pieces.
func (r *reading) total(pieces []piece) size {
	total := size{lines: -1, bytes: -2} // there is no blank line before the first
	for _, p := range pieces {
		p.measure(r.o.Count)
		total.add(sizeOf(p.doc), 1)
	}
	return total
}

// fit cuts pieces, which take total now, until all are within the limits: of the lowest priority first, of equal ones those of the lowest tier, each from
// its end. It returns the paths of those of which nothing is left.
func (r *reading) fit(pieces []piece, total size, limits Limits) (gone []string) {
	why := over(total, limits)
	if why == "" {
		return nil
	}
	order := slices.Clone(pieces)
	slices.SortStableFunc(order, func(a, b piece) int { return cmp.Compare(a.head.Priority, b.head.Priority) })
	for _, p := range order {
		for len(p.lines) > 0 && r.ctx.Err() == nil {
			all := total
			if len(gone) > 0 {
				all.add(sizeOfNote(goneNote(gone)), 1)
			}
			if over(all, limits) == "" {
				break
			}
			total.add(sizeOf(p.doc), -1)
			p.drop()
			total.add(sizeOf(p.doc), 1)
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

// goneNote tells of files of which nothing is left.
func goneNote(gone []string) string { return leftOutNote("all of " + someOf(gone)) }
