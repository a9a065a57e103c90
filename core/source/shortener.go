package source

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

const (
	// A string longer than maxString keeps its first keptHead and its last keptTail bytes.
	maxString = 256 << 10
	keptHead  = 192 << 10
	keptTail  = 64 << 10
	// leftOut stands for the middle, in a string of JSON.
	leftOut = `\n[…]\n`
)

// A shortener collects a line of JSON in pieces, without the middle of long strings, such as
// images. So a line takes little memory, however long it is, and its text stays.
type shortener struct {
	text []byte
	lost bool // a string that lost its middle was text, not data
	full bool // even so, the line is longer than maxLogLine

	inString, escaped bool
	begin             int // of the string, in text
	tail              int // of what follows the middle that is left out, or begin
}

func (s *shortener) reset() { *s = shortener{text: s.text[:0]} }

// add adds a piece of the line.
func (s *shortener) add(piece []byte) {
	for len(piece) > 0 && !s.full {
		n := s.plain(piece)
		s.text = append(s.text, piece[:n]...)
		if piece = piece[n:]; len(piece) > 0 {
			s.step(piece[0])
			piece = piece[1:]
		}
		if s.inString && len(s.text)-s.tail > 2*maxString {
			s.shorten()
		}
		s.full = len(s.text) > maxLogLine+2*maxString || !s.inString && len(s.text) > maxLogLine
	}
}

// plain returns how many bytes at the beginning of a piece have no meaning of their own.
func (s *shortener) plain(piece []byte) int {
	if s.escaped {
		return 0
	}
	piece = piece[:min(len(piece), maxString)]
	special := "\""
	if s.inString {
		special = "\"\\"
	}
	if n := bytes.IndexAny(piece, special); n >= 0 {
		return n
	}
	return len(piece)
}

// step adds one byte.
func (s *shortener) step(b byte) {
	switch {
	case s.escaped:
		s.escaped = false
	case s.inString && b == '\\':
		s.escaped = true
	case s.inString && b == '"':
		if s.tail > s.begin || len(s.text)-s.begin > maxString {
			s.shorten()
		}
		s.inString = false
	case b == '"':
		s.inString, s.begin, s.tail = true, len(s.text)+1, len(s.text)+1
	}
	s.text = append(s.text, b)
}

// shorten removes the middle of the string that text ends with.
func (s *shortener) shorten() {
	head := s.tail
	if s.tail == s.begin {
		head = nextCharacter(s.text, s.begin, s.begin+keptHead)
		s.lost = s.lost || bytes.IndexByte(s.text[s.begin:s.begin+4096], ' ') >= 0
	}
	end := nextCharacter(s.text, head, len(s.text)-keptTail)
	if s.tail == s.begin {
		s.text = slices.Replace(s.text, head, end, []byte(leftOut)...)
		s.tail = head + len(leftOut)
	} else {
		s.text = slices.Delete(s.text, head, end)
	}
}

// nextCharacter returns the place at or after to where a character of a JSON string begins, also an
// escaped one; one begins at from.
func nextCharacter(text []byte, from, to int) int {
	for from < to || from < len(text) && !utf8.RuneStart(text[from]) {
		switch {
		case text[from] != '\\':
			from++
		case from+1 < len(text) && text[from+1] == 'u':
			from += len(`\u0000`)
		default:
			from += len(`\n`)
		}
	}
	return min(from, len(text))
}
