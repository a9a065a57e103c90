package injection

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sizes of units (sentences and lines) and windows, in bytes.
const (
	// Longer units are cut.
	maxUnit = 320
	// minWindow has room for an order and its object.
	minWindow = 160
	// Shorter units are not judged alone.
	minUnit = 12
	// maxUnits in a window also bounds the windows around a byte.
	maxUnits = 5
)

// A Window is a part of a text that is judged alone.
type Window struct {
	Start, End int // in bytes
	Text       string
}

// unitsOf cuts a text into sentences and lines.
func unitsOf(text string) []span {
	var units []span
	start := 0
	add := func(end int) {
		from, to := start, end
		for from < to && text[from] <= ' ' {
			from++
		}
		for to > from && text[to-1] <= ' ' {
			to--
		}
		if from < to {
			units = append(units, span{from, to})
		}
		start = end
	}
	for i := 0; i < len(text); {
		c := text[i]
		size := 1
		switch {
		case c == '\n' && (i-start >= minUnit || strings.TrimSpace(text[start:i]) == ""):
			add(i + 1)
		case c == '.' || c == '!' || c == '?':
			if (i+1 == len(text) || text[i+1] <= ' ') && i-start >= minUnit {
				add(i + 1)
			}
		case c >= utf8.RuneSelf:
			var r rune
			r, size = utf8.DecodeRuneInString(text[i:])
			if strings.ContainsRune("。！？।؟", r) || r == '\u2028' || r == '\u2029' {
				add(i + size)
			}
		}
		i += size
		if i-start >= maxUnit {
			add(cutAt(text, start, i))
		}
	}
	add(len(text))
	return units
}

// cutAt returns the last blank before end if it is in the second half, else end.
func cutAt(text string, start, end int) int {
	if at := strings.LastIndexFunc(text[start:end], unicode.IsSpace); at > (end-start)/2 {
		return start + at
	}
	return end
}

// windows returns the window that starts at each unit, and the unit alone, since other sentences
// dilute an order.
func windows(text string) []Window {
	units := unitsOf(text)
	var all []Window
	add := func(from, to int) {
		s := span{units[from].start, units[to-1].end}
		all = append(all, Window{s.start, s.end, text[s.start:s.end]})
	}
	last := 0
	for from := range units {
		to, size := from, 0
		for to < len(units) && to-from < maxUnits && size < minWindow {
			size += units[to].end - units[to].start
			to++
		}
		if from == 0 || to != last || size >= minWindow { // else the previous window ends with it
			last = to
			add(from, to)
		}
		if to-from > 1 && units[from].end-units[from].start >= minUnit {
			add(from, from+1)
		} else if to-from == 1 && all[len(all)-1].Start != units[from].start {
			add(from, to)
		}
	}
	return all
}
