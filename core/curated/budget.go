package curated

import (
	"fmt"
	"slices"
	"sort"
	"unicode/utf8"

	"github.com/memcore/memcore/internal/markdown/statement"
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

// A portion is what a budget gives of one body.
type portion struct {
	*body
	path     string // as shown
	tier     Tier
	priority int
	context  bool  // of the project
	order    []int // units, in the order in which they are given
	given    int   // how many of them are
	measured bool
	size     size // of the given text with its note, if measured
	noteSize size
	whole    size // uncut, about; zero until it is measured
}

// A budget gives each unit that fits, by priority, then in order.
type budget struct {
	*reader
	portions []*portion // in the order of the text; later ones have the higher priority
	limits   Limits
	count    func(string) int // nil if tokens have no limit
	longest  int              // list in a note, in bytes
	stated   statementIndex
	repeated int
}

func (r *reader) budget(all []candidate, limits Limits) *budget {
	b := &budget{reader: r, limits: limits, longest: limits.maxList(), stated: statementIndex{}}
	if limits.Tokens >= 0 {
		b.count = r.o.Count
	}
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
	whole := r.budget(all, limits).whole()
	why := over(whole, limits)
	if why == "" {
		return nil, repeated
	}
	// A cut statement's other copy must stay: begin again.
	for i, c := range all {
		*c.body = originals[i]
	}
	b := r.budget(all, limits)
	if whole.tokens+maxNote*(len(all)+1) < limits.Tokens {
		b.count = nil // tokens cannot reach their limit
	}
	b.chooseUnits()
	gone = b.finish()
	r.warn("", 0, "memory is cut: "+why)
	for _, c := range all {
		if len(c.leftOut) > 0 {
			r.warn(r.names.Of(c.file), 0, "left out: "+linesOfGaps(joinGaps(c.leftOut, c.body.lines), maxList))
		}
	}
	return gone, b.repeated
}

// whole returns the size of all bodies uncut.
func (b *budget) whole() size {
	for _, p := range b.portions {
		p.given, p.size, p.measured = 1, b.measure(p.lines, p.note()), true
	}
	total := b.total(0)
	for _, p := range b.portions {
		p.given, p.measured = 0, false
	}
	return total
}

func (b *budget) measure(lines []line, note string) (s size) {
	text := textOf(lines)
	if note != "" {
		text += "\n\n" + note
	}
	s = sizeOf(text)
	if b.count != nil {
		s.tokens = b.count(text + "\n\n") // counts rounding up
	}
	return s
}

// current returns the given lines, and the note about the others.
func (p *portion) current() (lines []line, note string) {
	if p.given == len(p.order) {
		return p.lines, p.note()
	}
	lines = p.kept()
	return lines, noteOf(p.gaps(), lines, p.longest)
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
	for i, p := range b.portions {
		if len(p.lines) == 0 || i < from || p.given == 0 {
			continue
		}
		if !p.measured {
			lines, note := p.current()
			p.size, p.measured = b.measure(lines, note), true
			p.noteSize = b.measure([]line{{text: note}}, "")
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
		put(b.measure([]line{{text: note}}, ""))
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

func (p *portion) set(unit int, yes bool) {
	p.give(unit, yes)
	p.measured = false
	if yes {
		p.given++
	} else {
		p.given--
	}
}

// setFirst works if only first units are given.
func (p *portion) setFirst(n int) {
	for p.given < n {
		p.set(p.order[p.given], true)
	}
	for p.given > n {
		p.set(p.order[p.given-1], false)
	}
}

const (
	// maxRounds bounds how often leftover units are tried again.
	maxRounds = 4
	// maxWork bounds a round on a portion, in units and counted characters.
	maxWork = 400_000
)

// chooseUnits decides what is given, highest priority first.
func (b *budget) chooseUnits() {
	for i := len(b.portions) - 1; i >= 0 && b.ctx.Err() == nil; i-- {
		b.fill(i)
	}
	// A portion given whole needs no note: others may fit.
	for range maxRounds {
		any := false
		for i, p := range slices.Backward(b.portions) {
			any = p.given < len(p.order) && b.giveFitting(i, 0, b.limits) || any
		}
		if !any {
			break
		}
	}
}

// fill gives the units that fit beside those of higher priority.
func (b *budget) fill(i int) {
	p := b.portions[i]
	b.repeated += b.stated.removeFrom(p.body)
	if len(p.lines) == 0 {
		return
	}
	p.split(b.limits)
	p.order = p.body.order()
	p.setFirst(len(p.order))
	limits := b.besideFloors(i)
	if !fits(b.total(i), limits) {
		n := sort.Search(len(p.order)-1, func(n int) bool {
			p.setFirst(n + 1)
			return !fits(b.total(i), limits)
		})
		p.setFirst(n)
		b.giveFitting(i, i, limits)
	}
	if p.given > 0 {
		lines, _ := p.current()
		b.stated.add(textOf(lines), i)
	}
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
				p.whole = b.measure(p.lines, "").plus(size{lines: 1, tokens: 8, runes: utf8.RuneCountInString(heading(p.context)) + 4})
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

// giveFitting reports whether a unit fitted; portions before from are left out.
func (b *budget) giveFitting(i, from int, limits Limits) (any bool) {
	p := b.portions[i]
	used, work := b.total(from), 0
	for _, unit := range p.order {
		if work > maxWork || b.ctx.Err() != nil {
			break
		}
		if !p.available(unit) || b.statedElsewhere(i, unit) || !mayFit(p, unit, used, b.count, limits) {
			continue
		}
		p.set(unit, true)
		if total := b.total(from); fits(total, limits) {
			any, used = true, total
			continue
		}
		p.set(unit, false)
		if work += len(p.units); b.count != nil {
			work += used.runes
		}
	}
	return any
}

// mayFit judges a unit by its own size.
func mayFit(p *portion, unit int, used size, count func(string) int, limits Limits) bool {
	if p.given+1 >= len(p.order) || p.given == 0 {
		return true // a note may become unnecessary
	}
	least := p.minSize(unit, count).plus(used)
	least.runes -= p.noteSize.runes // the note may become shorter
	least.tokens -= p.noteSize.tokens
	return fits(least, limits)
}

// statedElsewhere reports whether another portion says what a unit says.
func (b *budget) statedElsewhere(i, unit int) bool {
	if len(b.portions) == 1 {
		return false
	}
	by, known := b.stated[statement.Words(b.portions[i].textOf(unit))]
	return known && by != i
}

// finish leaves the given lines, and returns empty bodies' paths.
func (b *budget) finish() (gone []string) {
	gone = b.gone(0)
	if !fits(b.total(0), b.limits) {
		gone = nil // not even a note fits
	}
	for _, p := range b.portions {
		if p.given < len(p.order) {
			p.lines, p.leftOut = p.kept(), p.gaps()
		}
		p.units = nil
	}
	return gone
}
