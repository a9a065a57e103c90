package curated

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A gap is lines of a file that are left out.
type gap struct {
	path        string
	first, last int      // lines in the file
	titles      []string // of their sections
}

// gaps returns the lines of the units that are not given.
func (d *body) gaps() (all []gap) {
	joins := false // the unit before is left out as well
	for i := range d.units {
		u := &d.units[i]
		if u.given {
			joins = false
			continue
		}
		for _, l := range d.lines[u.start:u.end] {
			if l.number == 0 {
				continue
			}
			if n := len(all) - 1; joins && all[n].path == l.from.path && all[n].titles[0] == u.title && all[n].last <= l.number {
				all[n].last = l.number
			} else {
				all = append(all, gap{l.from.path, l.number, l.number, []string{u.title}})
			}
			joins = true
		}
	}
	return all
}

// joinGaps joins gaps without a given line between, in order.
func joinGaps(gaps []gap, given []line) []gap {
	if len(gaps) == 0 {
		return nil
	}
	order, numbers := map[string]int{}, map[string][]int{}
	for _, l := range given {
		if l.number > 0 {
			if _, known := order[l.from.path]; !known {
				order[l.from.path] = len(order)
			}
			if !blank(l) {
				numbers[l.from.path] = append(numbers[l.from.path], l.number)
			}
		}
	}
	for _, g := range gaps {
		if _, known := order[g.path]; !known {
			order[g.path] = len(order)
		}
	}
	gaps = slices.Clone(gaps)
	slices.SortStableFunc(gaps, func(a, b gap) int {
		return cmp.Or(cmp.Compare(order[a.path], order[b.path]), cmp.Compare(a.first, b.first))
	})
	var joined []gap
	for _, g := range gaps {
		n := len(joined) - 1
		if n < 0 || joined[n].path != g.path || anyBetween(numbers[g.path], joined[n].last, g.first) {
			joined = append(joined, gap{path: g.path, first: g.first})
			n++
		}
		j := &joined[n]
		j.last = max(j.last, g.last)
		if m, title := len(j.titles), g.titles[0]; title != "" && (m == 0 || j.titles[m-1] != title) {
			j.titles = append(j.titles, title)
		}
	}
	return joined
}

// anyBetween excludes a and b.
func anyBetween(sorted []int, a, b int) bool {
	i, _ := slices.BinarySearch(sorted, a+1)
	return i < len(sorted) && sorted[i] < b
}

const (
	maxTitles = 8
	maxPlaces = 12
	// maxList is in bytes, without its first name.
	maxList = 400
	// maxNote is about the longest note.
	maxNote = maxList + 200
	// noteLines counts a note and the blank line before it.
	noteLines = 2
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
func (d *body) note() string { return noteOf(d.leftOut, d.lines, d.longest) }

func noteOf(gaps []gap, given []line, longest int) string {
	if len(gaps) == 0 {
		return ""
	}
	return leftOutNote(linesOfGaps(joinGaps(gaps, given), cmp.Or(longest, maxList)))
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
