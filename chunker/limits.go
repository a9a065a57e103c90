package chunker

import (
	"unicode"
	"unicode/utf8"
)

const (
	defaultTarget  = 160
	defaultMax     = 240
	defaultOverlap = 24
	leastMax       = 32      // below it, speaker, date and heading leave no room for text
	greatestMax    = 1 << 20 // no model reads more, and no product of it overflows

	// bytesPerToken bounds a text that has many bytes but few tokens, such as a word of a megabyte
	// that a tokeniser does not know, or a line of blanks: such a text is not small.
	bytesPerToken = 16
)

// limits are Options with every default in its place.
type limits struct {
	target, max, overlap int
	count                func(string) int
}

func newLimits(o Options) limits {
	l := limits{target: o.Target, max: o.Max, overlap: o.Overlap, count: o.Count}
	if l.max <= 0 {
		l.max = max(defaultMax, l.target)
	}
	l.max = min(max(l.max, leastMax), greatestMax)
	if l.target <= 0 {
		l.target = min(defaultTarget, l.max*2/3)
	}
	l.target = min(l.target, l.max)
	if l.overlap == 0 {
		l.overlap = defaultOverlap
	}
	l.overlap = min(max(l.overlap, 0), l.target/4)
	if l.count == nil {
		l.count = estimate
	}
	return l
}

func estimate(text string) int { return (len(text) + 3) / 4 }

// size is what a text costs: its tokens, or more if they stand for very many bytes.
func (l limits) size(text string) int {
	return max(l.count(text), (len(text)+bytesPerToken-1)/bytesPerToken)
}

// fit returns the length of a beginning of text that has at most the given size, not much shorter
// than need be and at least one character. It looks at no more of text than could fit.
func (l limits) fit(text string, limit int) int {
	n := min(len(text), max(limit, 1)*bytesPerToken)
	for {
		n = characterBorder(text, n)
		size := l.size(text[:n])
		if size <= limit {
			return n
		}
		smaller := characterBorder(text, min(n*max(limit, 1)/size, n-1-n/16))
		if smaller >= n {
			return n
		}
		n = smaller
	}
}

// shorten cuts text to the given size and marks the cut. It counts no more of text than could fit.
func (l limits) shorten(text string, limit int) string {
	if len(text) <= limit*bytesPerToken && l.size(text) <= limit {
		return text
	}
	const mark = "…"
	return trimEnd(text[:l.fit(text, limit-1)]) + mark
}

// head is the beginning of text, of about n bytes at most.
func head(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return text[:characterBorder(text, n)]
}

// characterBorder returns the last place at or before n where text may be cut without taking a
// character apart, or else the first one after its first character.
func characterBorder(text string, n int) int {
	const longest = 64 // bytes of a character with its marks; beyond, marks are no character
	for i := min(n, len(text)); i > 0 && i > n-longest; i-- {
		if isCharacterBorder(text, i) {
			return i
		}
	}
	for n = min(max(n, 0), len(text)); n > 0 && n < len(text) && !utf8.RuneStart(text[n]); {
		n--
	}
	if n <= 0 {
		_, n = utf8.DecodeRuneInString(text)
	}
	return n
}

func isCharacterBorder(text string, i int) bool {
	if i >= len(text) {
		return true
	}
	if !utf8.RuneStart(text[i]) {
		return false
	}
	if text[i] < utf8.RuneSelf && text[i-1] < utf8.RuneSelf {
		return true
	}
	const joiner = '\u200d'
	after, _ := utf8.DecodeRuneInString(text[i:])
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	return !unicode.Is(unicode.M, after) && after != joiner && before != joiner
}
