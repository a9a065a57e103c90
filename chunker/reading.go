package chunker

import (
	"sort"
	"strings"
	"unicode"

	"github.com/memcore/memcore/internal/markdown/fence"
	"github.com/memcore/memcore/internal/text/lazy"
	"github.com/memcore/memcore/internal/text/payload"
)

// A cut is bytes of a document that chunks do not show, and what stands for them.
type cut struct {
	payload.Span
	mark string
}

// A reading is a document without its cuts, which still knows the lines of the document.
type reading struct {
	text string
	gaps []gap
}

// A gap is where something was cut.
type gap struct {
	at    int // the byte of reading.text after the mark
	lines int // that were cut, up to here
}

// read takes cuts in order.
func read(text string, cuts []cut) reading {
	if len(cuts) == 0 {
		return reading{text: text}
	}
	var r reading
	var b strings.Builder
	from, lines := 0, 0
	for _, c := range cuts {
		b.WriteString(text[from:c.Start])
		b.WriteString(c.mark)
		lines += strings.Count(text[c.Start:c.End], "\n") - strings.Count(c.mark, "\n")
		r.gaps = append(r.gaps, gap{b.Len(), lines})
		from = c.End
	}
	b.WriteString(text[from:])
	r.text = b.String()
	return r
}

// cutLines returns how many lines of the document were cut before a byte.
func (r reading) cutLines(at int) int {
	n := sort.Search(len(r.gaps), func(i int) bool { return r.gaps[i].at > at })
	if n == 0 {
		return 0
	}
	return r.gaps[n-1].lines
}

// The definition of a link that is a payload, as editors write them for images.
var payloadLink = lazy.Regexp(`(?m)^[ >]*\[[^\]\n]*\]:[ \t]*<?data:[^,\n]*,…>?`)

// isPayload reports whether nothing but a mark is left of a block.
func (r reading) isPayload(b block) bool {
	first := sort.Search(len(r.gaps), func(i int) bool { return r.gaps[i].at > b.start })
	if first == len(r.gaps) || r.gaps[first].at > b.end {
		return false
	}
	text := b.of(r.text)
	if line, rest, _ := strings.Cut(text, "\n"); b.kind == lines && fence.Opens(line).Open() {
		text = rest
	}
	return isWordless(payloadLink().ReplaceAllString(text, ""))
}

func isWordless(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

// payloads returns the cuts that replace data such as base64 (package payload) in text[from:].
func payloads(text string, from int) (cuts []cut) {
	for _, s := range payload.Find(text[from:]) {
		cuts = append(cuts, cut{payload.Span{Start: from + s.Start, End: from + s.End}, payload.Mark})
	}
	return cuts
}
