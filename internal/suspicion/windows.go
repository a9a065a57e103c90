package suspicion

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sizes of what is judged, in bytes.
const (
	// longestUnit is where a line without the end of a sentence is cut.
	longestUnit = 320
	// enough is how long a window is at least, if the text is: an order is rarely longer, and what it is about stands
	// near it.
	enough = 160
	// least is how long a unit is that is judged alone.
	least = 12
	// mostUnits is how many units a window has at most. It bounds the work: each byte is in so many windows.
	mostUnits = 5
)

// A span is a part of a text, in bytes.
type span struct{ start, end int }

// A Window is a part of a text that is judged by itself.
type Window struct {
	Start, End int // in bytes
	Text       string
}

// unitsOf cuts a text into sentences and lines, without blank ones, and those that are too long where it must.
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
		case c == '\n' && (i-start >= least || strings.TrimSpace(text[start:i]) == ""):
			add(i + 1)
		case c == '.' || c == '!' || c == '?':
			if (i+1 == len(text) || text[i+1] <= ' ') && i-start >= least {
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
		if i-start >= longestUnit {
			add(cutAt(text, start, i))
		}
	}
	add(len(text))
	return units
}

// cutAt is the last blank before end, if it is in the second half, or end.
func cutAt(text string, start, end int) int {
	if at := strings.LastIndexFunc(text[start:end], unicode.IsSpace); at > (end-start)/2 {
		return start + at
	}
	return end
}

// windows are the parts of a text that are judged: from each unit on as many as it takes to be enough, and each unit alone that says
// enough by itself, since an order that stands among other things is diluted by them.
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
		for to < len(units) && to-from < mostUnits && size < enough {
			size += units[to].end - units[to].start
			to++
		}
		if from == 0 || to != last || size >= enough { // else a shorter end of the window before
			last = to
			add(from, to)
		}
		if to-from > 1 && units[from].end-units[from].start >= least {
			add(from, from+1)
		} else if to-from == 1 && all[len(all)-1].Start != units[from].start {
			add(from, to)
		}
	}
	return all
}
