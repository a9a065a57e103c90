package chunker

import (
	"unicode"
	"unicode/utf8"
)

const (
	defaultTarget  = 160
	defaultMax     = 240
	defaultOverlap = 24
	minMax         = 32 // speaker, date and heading need room
	greatestMax    = 1 << 20

	// bytesPerToken bounds long texts of few tokens.
	bytesPerToken = 16
)

type limits struct {
	target, max, overlap int
	count                func(string) int
}

func newLimits(o Options) limits {
	l := limits{target: o.Target, max: o.Max, overlap: o.Overlap, count: o.Count}
	if l.max <= 0 {
		l.max = max(defaultMax, l.target)
	}
	l.max = min(max(l.max, minMax), greatestMax)
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

// size returns tokens, or more for very many bytes.
func (l limits) size(text string) int {
	return max(l.count(text), (len(text)+bytesPerToken-1)/bytesPerToken)
}

// fit returns about the longest beginning within limit, at least one character, reading no more
// than could fit.
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

// shorten cuts text to a size and marks the cut.
func (l limits) shorten(text string, limit int) string {
	if len(text) <= limit*bytesPerToken && l.size(text) <= limit {
		return text
	}
	const mark = "…"
	return trimEnd(text[:l.fit(text, limit-1)]) + mark
}

// head returns about the first n bytes of text.
func head(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return text[:characterBorder(text, n)]
}

// characterBorder is the last up to n, but not 0.
func characterBorder(text string, n int) int {
	const longest = 64 // bytes of a character with its marks
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
