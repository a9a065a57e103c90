package secret

import (
	"slices"
	"strings"
	"unicode"

	"github.com/memcore/memcore/internal/text/lazy"
)

// A view is a text without some of its ranges.
type view struct {
	text  string
	under *view    // the text with them; nil for the text itself
	gaps  []int    // offsets in text where a range was
	after [][2]int // those ranges, in under
}

// without returns a view without the given ranges, which are in order and not empty.
func (v view) without(ranges [][2]int) view {
	var b strings.Builder
	shorter := view{under: &v, after: ranges}
	done := 0
	for _, r := range ranges {
		b.WriteString(v.text[done:r[0]])
		shorter.gaps = append(shorter.gaps, b.Len())
		done = r[1]
	}
	b.WriteString(v.text[done:])
	shorter.text = b.String()
	return shorter
}

// place returns where a byte of the view is in the text itself.
func (v view) place(at int) int {
	if v.under == nil {
		return at
	}
	if before, _ := slices.BinarySearch(v.gaps, at+1); before > 0 {
		at = v.after[before-1][1] + at - v.gaps[before-1]
	}
	return v.under.place(at)
}

var escaped = lazy.Regexp(`\\+[!-/:-@\[\]-` + "`" + `{-~]`)

// escapes returns the backslashes before signs: Markdown writes "ghp\_…", and JSON within JSON
// writes three before a quote.
func escapes(text string) (ranges [][2]int) {
	if !strings.Contains(text, `\`) {
		return nil
	}
	for _, at := range escaped().FindAllStringIndex(text, -1) {
		ranges = append(ranges, [2]int{at[0], at[1] - 1})
	}
	return ranges
}

// wraps returns the line breaks within what looks like one long key, with the blanks around them
// and the marks of a continued line, a quote or a list.
func wraps(text string) (ranges [][2]int) {
	for i := 0; i < len(text); i++ {
		if text[i] != '\n' {
			continue
		}
		start := len(strings.TrimRight(text[max(0, i-maxName):i], " \t\r\\")) + max(0, i-maxName)
		after := text[i+1 : min(len(text), i+1+2*maxName)]
		after = strings.TrimLeft(after, " \t>|*#/")
		end := min(len(text), i+1+2*maxName) - len(after)
		before := text[max(0, start-maxName):start]
		before = before[strings.LastIndexFunc(before, isNoKey)+1:]
		if stop := strings.IndexFunc(after, isNoKey); stop >= 0 {
			after = after[:stop]
		}
		if len(before) >= 6 && isPiece(before) && isPiece(after) {
			ranges = append(ranges, [2]int{start, end})
		}
	}
	return ranges
}

func isNoKey(r rune) bool {
	return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.+/=", r)
}

// isPiece reports whether a text may be a part of a key: it has digits, inner capitals, or capitals
// only.
func isPiece(text string) bool {
	if strings.ContainsAny(text, "0123456789") {
		return true
	}
	return len(text) > 2 && strings.ToLower(text[1:]) != text[1:] && (len(text) > 4 || strings.ToUpper(text[1:]) != text[1:])
}
