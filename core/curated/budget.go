package curated

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/markdown/fence"
)

// A size is what counts against the limits.
type size struct{ lines, tokens, runes int }

func (s size) plus(o size) size {
	return size{s.lines + o.lines, s.tokens + o.tokens, s.runes + o.runes}
}

// over names the limit that a size exceeds, or returns "".
func over(s size, l Limits) string {
	switch {
	case l.Lines >= 0 && s.lines > l.Lines:
		return fmt.Sprintf("%d lines are more than %d", s.lines, l.Lines)
	case l.Tokens >= 0 && s.tokens > l.Tokens:
		return fmt.Sprintf("%d tokens are more than %d", s.tokens, l.Tokens)
	case l.Runes > 0 && s.runes > l.Runes:
		return fmt.Sprintf("%d characters are more than %d", s.runes, l.Runes)
	}
	return ""
}

func fits(s size, l Limits) bool { return over(s, l) == "" }

// maxList, in bytes, is a small part of the limits.
func (l Limits) maxList() int {
	longest := maxList
	if l.Tokens >= 0 {
		longest = min(longest, l.Tokens/4)
	}
	if l.Runes > 0 {
		longest = min(longest, l.Runes/10)
	}
	return max(longest, 1)
}

// A portion is what a budget gives of one body: its beginning, or all of it.
type portion struct {
	*body
	path     string // as shown
	tier     Tier
	priority int
	context  bool // of the project
	given    int  // lines
	measured bool
	size     size // of the given text with its note, if measured
	whole    size // uncut, about; zero until it is measured
}

// give gives the first lines.
func (p *portion) give(lines int) { p.given, p.measured = lines, false }

// shown returns the given text, with a note about the rest.
func (p *portion) shown() string {
	text := textOf(trimmed(p.lines[:p.given]))
	if note := noteOf(p.behind(p.given), p.longest); note != "" {
		text += "\n\n" + note
	}
	return text
}

// A budget divides the limits: each file gets what those of higher priority leave.
type budget struct {
	*reader
	portions []*portion // in the order of the text; later ones have the higher priority
	limits   Limits
	longest  int // list in a note, in bytes
	stated   statementIndex
	repeated int
}

func (r *reader) budget(all []candidate, limits Limits) *budget {
	b := &budget{reader: r, limits: limits, longest: limits.maxList(), stated: statementIndex{}}
	priorities := prioritiesOf(all)
	for _, c := range all {
		c.longest = b.longest
		b.portions = append(b.portions, &portion{body: c.body, path: r.names.Of(c.file), tier: c.tier, priority: priorities[c.file], context: isContext(c.tier)})
	}
	return b
}

// shrink removes repeated statements and cuts the bodies to the limits. It returns the paths of
// empty bodies.
func (r *reader) shrink(all []candidate, limits Limits) (gone []string, repeated int) {
	originals := make([]body, len(all))
	stated := statementIndex{}
	for i, c := range slices.Backward(all) {
		originals[i] = *c.body
		repeated += stated.removeFrom(c.body)
		stated.add(c.body.text(), i)
	}
	b := r.budget(all, limits)
	for _, p := range b.portions {
		p.give(len(p.lines))
	}
	why := over(b.total(0), limits)
	if why == "" {
		return nil, repeated
	}
	// A cut statement's other copy must stay: begin again.
	for i, c := range all {
		*c.body = originals[i]
	}
	b = r.budget(all, limits)
	b.divide()
	gone = b.finish()
	r.warn("", 0, "memory is cut: "+why)
	for _, c := range all {
		if len(c.leftOut) > 0 {
			r.warn(r.names.Of(c.file), 0, "left out: "+linesOfGaps(c.leftOut, maxList))
		}
	}
	return gone, b.repeated
}

// measure returns the size of a text; its tokens only if they have a limit.
func (b *budget) measure(text string) size {
	s := size{lines: strings.Count(text, "\n") + 1, runes: utf8.RuneCountInString(text)}
	if b.limits.Tokens >= 0 {
		s.tokens = b.o.Count(text + "\n\n") // counts rounding up
	}
	return s
}

// total counts headings and notes; portions before from are left out.
func (b *budget) total(from int) size {
	var sum size
	sections, inSection, last := 0, 0, false
	begin := func(context bool) {
		if sections > 0 {
			sum.runes += 2
		}
		sections, inSection, last = sections+1, 0, context
		sum.runes += utf8.RuneCountInString(heading(context)) + 2
	}
	put := func(s size) {
		if inSection > 0 {
			sum = sum.plus(size{lines: 1, runes: 2})
		}
		inSection++
		sum = sum.plus(s)
	}
	for _, p := range b.portions[from:] {
		if p.given == 0 {
			continue
		}
		if !p.measured {
			p.size, p.measured = b.measure(p.shown()), true
		}
		if sections == 0 || p.context != last {
			begin(p.context)
		}
		put(p.size)
	}
	if note := goneNote(b.gone(from), b.longest); note != "" {
		if sections == 0 {
			begin(true)
		}
		put(b.measure(note))
	}
	return sum
}

// gone returns the paths of the portions with nothing given.
func (b *budget) gone(from int) (gone []string) {
	for i, p := range b.portions {
		if len(p.lines) > 0 && (i < from || p.given == 0) {
			gone = append(gone, p.path)
		}
	}
	return gone
}

// divide decides what is given, highest priority first.
func (b *budget) divide() {
	for i, p := range slices.Backward(b.portions) {
		if b.ctx.Err() != nil {
			return
		}
		b.repeated += b.stated.removeFrom(p.body)
		b.fill(p, i, b.besideFloors(i))
		b.stated.add(textOf(p.lines[:p.given]), i)
	}
	for _, p := range slices.Backward(b.portions) { // what floors have left
		if p.given < len(p.lines) {
			b.fill(p, 0, b.limits)
		}
	}
}

// fill gives as much of a portion as fits beside the portions from a place on.
func (b *budget) fill(p *portion, from int, limits Limits) {
	p.give(len(p.lines))
	if fits(b.total(from), limits) {
		return
	}
	ends := append([]int{0}, p.ends()...)
	at := sort.Search(len(ends), func(n int) bool {
		p.give(ends[n])
		return !fits(b.total(from), limits)
	})
	p.give(ends[max(at-1, 0)])
}

// floorShare is the part of each limit that a tier has for itself.
const floorShare = 5

// besideFloors returns the limits for the portion i and those of higher priority: tiers of which
// nothing is given yet keep a floor, or what they have if that is less, so that one long file
// leaves something of each. Memory of an explicitly lower priority has none.
func (b *budget) besideFloors(i int) Limits {
	sizes := map[Tier]size{}
	for _, p := range b.portions[:i] {
		begun := slices.ContainsFunc(b.portions[i:], func(other *portion) bool { return other.tier == p.tier })
		if !begun && p.priority >= b.portions[i].priority && len(p.lines) > 0 {
			if p.whole == (size{}) {
				p.whole = b.measure(p.text()).plus(size{lines: 1, tokens: 8, runes: utf8.RuneCountInString(heading(p.context)) + 4})
			}
			sizes[p.tier] = sizes[p.tier].plus(p.whole)
		}
	}
	l := b.limits
	for _, s := range sizes {
		if l.Lines > 0 {
			l.Lines -= min(s.lines, b.limits.Lines/floorShare)
		}
		if l.Tokens > 0 {
			l.Tokens -= min(s.tokens, b.limits.Tokens/floorShare)
		}
		if l.Runes > 0 {
			l.Runes -= min(s.runes, b.limits.Runes/floorShare)
		}
	}
	return l
}

// finish leaves the given lines, and returns empty bodies' paths.
func (b *budget) finish() (gone []string) {
	gone = b.gone(0)
	if !fits(b.total(0), b.limits) {
		gone = nil // not even a note fits
	}
	for _, p := range b.portions {
		p.lines, p.leftOut = trimmed(p.lines[:p.given]), p.behind(p.given)
	}
	return gone
}

// longProse is how many lines a paragraph has that is also cut within, at a line.
const longProse = 6

// ends returns how many lines a body has where it may be cut: behind paragraphs, items, rows of
// tables and code, within elements of HTML, and not behind what announces something else.
func (d *body) ends() (ends []int) {
	add := func(end int) {
		if text := strings.TrimRight(d.lines[end-1].text, " \t*_"); !strings.HasSuffix(text, ":") && !strings.HasSuffix(text, "：") {
			ends = append(ends, end)
		}
	}
	for b := range chunker.Blocks(d.text()) {
		var open fence.Fence
		for at := b.Start + 1; at < b.End; at++ {
			open, _ = open.Next(bare(d.lines[at-1].text))
			item := b.List && !open.Open() && itemMark().MatchString(strings.TrimLeft(d.lines[at].text, " \t"))
			row := b.Table && at > b.Start+2
			element := b.Code && !b.Comment && strings.HasPrefix(strings.TrimSpace(d.lines[b.Start].text), "<")
			if item || row || element || b.Prose && b.End-b.Start > longProse {
				add(at)
			}
		}
		if b.Level == 0 && !b.Intro {
			add(b.End)
		}
	}
	return ends
}

// A gap is lines of a file that are left out.
type gap struct {
	path        string
	first, last int      // lines in the file
	titles      []string // of their sections
}

// behind returns what is left out if only the first lines are given.
func (d *body) behind(given int) (all []gap) {
	left := d.lines[given:]
	if len(left) == 0 {
		return nil
	}
	titles := make([]string, len(d.lines)) // of the section of each line
	title := ""
	for b := range chunker.Blocks(d.text()) {
		if b.Level > 0 {
			title = b.Title
		}
		for at := b.Start; at < b.End; at++ {
			titles[at] = title
		}
	}
	at := map[string]int{}
	for i, l := range left {
		if l.number == 0 || blank(l) {
			continue
		}
		n, known := at[l.from.path]
		if !known {
			n = len(all)
			at[l.from.path] = n
			all = append(all, gap{path: l.from.path, first: l.number})
		}
		g := &all[n]
		g.last = max(g.last, l.number)
		if title := titles[given+i]; title != "" && (len(g.titles) == 0 || g.titles[len(g.titles)-1] != title) {
			g.titles = append(g.titles, title)
		}
	}
	return all
}

const (
	maxTitles = 8
	maxPlaces = 12
	// maxList is in bytes, without its first name.
	maxList = 400
)

// linesOfGaps names gaps: "lines 20-90 of BEANS.md (Testing; Release)".
func linesOfGaps(gaps []gap, longest int) string {
	var b strings.Builder
	for i, g := range gaps {
		place := fmt.Sprintf("lines %d-%d of %s", g.first, g.last, comment(g.path))
		if g.first == g.last {
			place = fmt.Sprintf("line %d of %s", g.first, comment(g.path))
		}
		if i > 0 && (i == maxPlaces || b.Len()+len(place) > longest) {
			fmt.Fprintf(&b, ", and %d more places", len(gaps)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(place)
		if titles := list(g.titles, maxTitles, longest-b.Len()); titles != "" {
			b.WriteString(" (" + titles + ")")
		}
	}
	return b.String()
}

// list joins names of about room bytes; the first always fits.
func list(names []string, most, room int) string {
	text := ""
	for i, name := range names {
		name = comment(name)
		if i == most || len(text)+len(name) > room {
			if i == 0 {
				return ""
			}
			return text + fmt.Sprintf("; and %d more", len(names)-i)
		}
		if i > 0 {
			text += "; "
		}
		text += name
	}
	return text
}

// note tells what was left out; "" for nothing.
func (d *body) note() string { return noteOf(d.leftOut, d.longest) }

func noteOf(gaps []gap, longest int) string {
	if len(gaps) == 0 {
		return ""
	}
	return leftOutNote(linesOfGaps(gaps, cmp.Or(longest, maxList)))
}

// goneNote names files that were left out whole.
func goneNote(gone []string, longest int) string {
	if len(gone) == 0 {
		return ""
	}
	return leftOutNote("all of " + list(gone, maxPlaces, max(longest, len(comment(gone[0])))))
}

func leftOutNote(what string) string {
	return "<!-- Left out to fit: " + what + ". Read it there when it matters. -->"
}

func blank(l line) bool { return strings.TrimSpace(l.text) == "" }
