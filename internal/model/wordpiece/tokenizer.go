// Package wordpiece cuts text into the pieces of an uncased BERT model, as the reference tokeniser
// does: it removes controls, lowers letters, strips accents, separates Chinese characters and
// punctuation, then takes the longest piece repeatedly.
package wordpiece

import (
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxRunes bounds a word; longer ones are unknown.
const maxRunes = 100

// A Tokenizer is safe for concurrent use.
type Tokenizer struct {
	pieces  *pieces
	special []special // found in the unchanged text
	unknown int32
	scans   sync.Pool
}

// A special is a token such as [SEP].
type special struct {
	text string
	id   int32
}

// New takes a vocabulary of a word a line, its id from 0; ## continues a word. BERT's special
// tokens are required.
func New(words string) (*Tokenizer, error) {
	t := &Tokenizer{pieces: newPieces(words)}
	t.scans.New = func() any { return &scan{t: t} }
	for _, text := range []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"} {
		id, ok := t.pieces.find(text)
		if !ok {
			return nil, fmt.Errorf("vocabulary has no %s", text)
		}
		t.special = append(t.special, special{text, id})
		if text == "[UNK]" {
			t.unknown = id
		}
	}
	return t, nil
}

// Append appends the ids of at most limit pieces. It skips invalid UTF-8.
func (t *Tokenizer) Append(ids []int32, text string, limit int) []int32 {
	s := t.scans.Get().(*scan)
	defer s.free()
	s.limit = limit
	s.text(text)
	return append(ids, s.ids[:min(len(s.ids), limit)]...)
}

// Count returns how many pieces text has.
func (t *Tokenizer) Count(text string) int {
	s := t.scans.Get().(*scan)
	defer s.free()
	s.limit, s.counting = 1, true
	s.text(text)
	return s.count
}

// A scan is a pass over a text.
type scan struct {
	t        *Tokenizer
	limit    int  // stop at this many ids
	counting bool // keep no ids, never stop
	ids      []int32
	count    int    // of ids counted and dropped
	run      []byte // cleaned text since the last white space
	ascii    bool   // run is ASCII
	plain    []byte // run decomposed
	word     []byte // lowered, between two punctuation marks
}

// keep bounds the buffers kept for the next text.
const keep = 1 << 16

func (s *scan) free() {
	for _, b := range []*[]byte{&s.run, &s.plain, &s.word} {
		if *b = (*b)[:0]; cap(*b) > keep {
			*b = nil
		}
	}
	s.ids, s.count, s.counting, s.ascii = s.ids[:0], 0, false, true
	s.t.scans.Put(s)
}

// text reads to its end or the limit.
func (s *scan) text(text string) {
	s.ascii = true
	for i := 0; i < len(text) && len(s.ids) < s.limit; {
		c := text[i]
		if c < utf8.RuneSelf {
			if c == '[' {
				if n := s.specialAt(text[i:]); n > 0 {
					i += n
					continue
				}
			}
			s.byte(c)
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		s.rune(r)
		i += n
	}
	s.flush()
}

// specialAt returns the length of an appended special token, or 0.
func (s *scan) specialAt(text string) int {
	for _, sp := range s.t.special {
		if strings.HasPrefix(text, sp.text) {
			s.flush()
			s.emit(sp.id)
			return len(sp.text)
		}
	}
	return 0
}

func (s *scan) byte(c byte) {
	switch asciiClass[c] {
	case drop:
	case space:
		s.flush()
	default:
		s.run = append(s.run, c)
	}
}

func (s *scan) rune(r rune) {
	switch {
	case r == utf8.RuneError || isOther(r):
	case unicode.IsSpace(r):
		s.flush()
	case isChinese(r):
		s.flush()
		s.append(r)
		s.flush()
	default:
		s.append(r)
	}
}

func (s *scan) append(r rune) {
	s.run = utf8.AppendRune(s.run, r)
	s.ascii = false
}

// flush cuts the text since the last white space.
func (s *scan) flush() {
	if len(s.run) == 0 {
		return
	}
	if s.ascii {
		s.flushASCII()
	} else {
		s.flushRunes()
	}
	s.endWord()
	s.run, s.ascii = s.run[:0], true
}

func (s *scan) flushASCII() {
	for _, c := range s.run {
		if asciiClass[c] == punctuation {
			s.endWord()
			s.word = append(s.word, c)
			s.endWord()
			continue
		}
		s.word = append(s.word, asciiLower[c])
	}
}

// decompose sets plain. It decomposes by character if it can: norm.NFD.Append allocates.
func (s *scan) decompose() {
	s.plain = s.plain[:0]
	for rest := s.run; len(rest) > 0; {
		p := norm.NFD.Properties(rest)
		if p.CCC() != 0 || isHangul(rest) {
			s.plain = norm.NFD.Append(s.plain[:0], s.run...)
			return
		}
		if d := p.Decomposition(); d != nil {
			s.plain = append(s.plain, d...)
		} else {
			s.plain = append(s.plain, rest[:p.Size()]...)
		}
		rest = rest[p.Size():]
	}
}

// isHangul reports whether text begins with a character from U+A000 to U+DFFF.
func isHangul(text []byte) bool { return text[0] >= 0xea && text[0] <= 0xed }

func (s *scan) flushRunes() {
	s.decompose()
	for rest := s.plain; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		rest = rest[n:]
		if isAccent(r) {
			continue
		}
		r = unicode.ToLower(r)
		if isPunctuation(r) {
			s.endWord()
			s.word = utf8.AppendRune(s.word, r)
			s.endWord()
			continue
		}
		s.word = utf8.AppendRune(s.word, r)
	}
}

func (s *scan) endWord() {
	if len(s.word) == 0 {
		return
	}
	before, counted := len(s.ids), s.count
	if !s.cut() {
		s.ids, s.count = s.ids[:before], counted
		s.emit(s.t.unknown)
	}
	s.word = s.word[:0]
}

func (s *scan) cut() bool {
	if len(s.word) > maxRunes && utf8.RuneCount(s.word) > maxRunes {
		return false
	}
	from := initial
	for rest := s.word; len(rest) > 0; {
		id, n := s.t.pieces.longest(from, rest)
		if n == 0 {
			return false
		}
		s.emit(id)
		rest = rest[n:]
		from = continued
	}
	return true
}

func (s *scan) emit(id int32) {
	if s.counting {
		s.count++
		return
	}
	s.ids = append(s.ids, id)
}
