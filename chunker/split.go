package chunker

import (
	"time"
	"unicode"
	"unicode/utf8"
)

// A section is what one part's chunks share.
type section struct {
	headings []string
	speaker  string
	at       time.Time
	size     int // of EmbeddingText without the text
}

func newSection(l limits, headings []string, speaker string, at time.Time) *section {
	s := &section{headings: headings, speaker: speaker, at: at}
	if before := s.embed("", ""); before != "" {
		s.size = l.size(before) + 1
	}
	return s
}

// header is that of the chunk's table, or "".
func (s *section) embed(header, text string) string {
	return EmbeddingText(s.path(header), s.speaker, s.at, text)
}

func (s *section) path(header string) []string {
	if header == "" {
		return s.headings
	}
	return append(s.headings[:len(s.headings):len(s.headings)], header)
}

// An atom is the smallest part of a chunk.
type atom struct {
	span
	size         int // at least 1
	section      *section
	header       string // of its table, if this is a later row
	headerLen    int    // size of header
	paragraph    int    // start of its paragraph
	continued    bool   // continues a paragraph
	hollow       bool   // means nothing alone
	keepWithNext bool   // should not be the last of a chunk
}

// A splitter cuts blocks into atoms that fit a chunk.
type splitter struct {
	limits
	text    string
	section *section
	add     func(atom)
}

// room returns the largest size of an atom.
func (s *splitter) room() int { return max(s.max-s.section.size-4, 8) }

func (s *splitter) block(b block) {
	for len(b.inner) == 1 && b.inner[0].span == b.span {
		b = b.inner[0]
	}
	size := s.size(b.of(s.text))
	whole := s.room()
	if b.kind == nest && b.inner != nil {
		whole = min(whole, s.target) // smaller parts fill a chunk better
	}
	if b.kind == heading {
		size -= min(s.size(b.title), size-1) // the path counts its words
	}
	switch {
	case size <= whole:
		s.put(atom{span: b.span, size: size, hollow: b.hollow(), keepWithNext: b.keepWithNext(s.text)})
	case b.kind == nest && b.inner != nil:
		for _, inner := range b.inner {
			s.block(inner)
		}
	case b.kind == prose || b.kind == heading:
		s.prose(b)
	default:
		s.lines(b)
	}
}

func (s *splitter) put(a atom) {
	a.size = max(a.size, 1)
	a.section = s.section
	if !a.continued {
		a.paragraph = a.start
	}
	s.add(a)
}

// lines cuts at lines, and long lines anywhere.
func (s *splitter) lines(b block) {
	header := s.shorten(b.header, s.max/6)
	headerLen := 0
	if header != "" {
		headerLen = s.size(header) + 1
	}
	room := max(s.room()-headerLen, 8)
	for at := b.start; at < b.end; at = lineEnd(s.text, at) + 1 {
		line := span{at, min(lineEnd(s.text, at), b.end)}
		if isBlank(line.of(s.text)) {
			continue
		}
		a := atom{span: line, size: s.size(line.of(s.text)), hollow: b.hollow(), keepWithNext: s.goesOn(line.end, b.end)}
		if b.kind == table && at > b.start {
			a.header, a.headerLen = header, headerLen
			a.keepWithNext = a.keepWithNext && tableRule().MatchString(line.of(s.text))
		}
		if a.size <= room {
			s.put(a)
			continue
		}
		s.pieces(line, room, func(piece span, size int) {
			a.span, a.size, a.keepWithNext = piece, size, false
			s.put(a)
		})
	}
}

// goesOn is false before blank lines: cut code there.
func (s *splitter) goesOn(at, end int) bool {
	return at+1 < end && !isBlank(s.text[at+1:lineEnd(s.text, at+1)])
}

// prose cuts at sentences, long ones at clauses or words.
func (s *splitter) prose(b block) {
	text := s.text[:b.end]
	room := max(min(s.room()-s.overlap, s.target), 8)
	for at := b.start; at < b.end; {
		end := sentenceEnd(text, at)
		sentence := span{at, end}
		a := atom{span: sentence, size: s.size(sentence.of(text)), paragraph: b.start, continued: at > b.start}
		if a.size <= room {
			s.put(a)
		} else {
			s.pieces(sentence, room/2, func(piece span, size int) {
				a.span, a.size = piece, size
				s.put(a)
				a.continued = true
			})
		}
		at = afterBlank(text, end)
	}
}

// pieces cuts into parts of at most room.
func (s *splitter) pieces(of span, room int, yield func(span, int)) {
	for at := of.start; at < of.end; {
		rest := s.text[at:of.end]
		n := s.fit(rest, room)
		if n < len(rest) {
			n = softBorder(rest[:n])
		}
		end := at + len(trimEnd(rest[:n]))
		if end > at {
			yield(span{at, end}, s.size(s.text[at:end]))
		}
		at = afterBlank(s.text[:of.end], at+n)
	}
}

// overlapFrom returns where the overlap before byte to begins: at a sentence if possible, else a
// word.
func (l limits) overlapFrom(text string, from, to int) int {
	if l.overlap == 0 {
		return to
	}
	from = max(from, to-l.overlap*bytesPerToken)
	best := to
	for at := to; ; {
		at = wordBefore(text, from, at)
		if at < 0 || l.size(text[at:to]) > l.overlap {
			break
		}
		best = at
	}
	for at := best; at < to; {
		at = afterBlank(text[:to], sentenceEnd(text[:to], at))
		if at < to {
			return at
		}
	}
	return best
}

// wordBefore returns the start of the last word, or -1. In scripts without spaces, a character is a
// word.
func wordBefore(text string, from, to int) int {
	t := trimEnd(text[from:to])
	for at := len(t); at > 0; {
		r, n := utf8.DecodeLastRuneInString(t[:at])
		at -= n
		before, _ := utf8.DecodeLastRuneInString(t[:at])
		if at > 0 && (isWide(r) || unicode.IsSpace(before)) {
			return from + at
		}
	}
	return -1
}

// isWide reports whether a script has no spaces.
func isWide(r rune) bool { return r >= 0x2e80 && r <= 0xfaff || r >= 0x20000 && r <= 0x3ffff }
