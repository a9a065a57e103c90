// Package unigram cuts text into the pieces of a SentencePiece model of the kind Unigram: of all
// ways to cut a word, it takes the one with the most probable pieces (Kudo 2018).
package unigram

import (
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A Tokenizer is safe for concurrent use.
type Tokenizer struct {
	pieces  trie
	scores  []float32 // by id
	normal  map[rune]string
	ascii   [utf8.RuneSelf]class
	unknown int32
	penalty float32 // score of a character that no piece has
	scans   sync.Pool
}

// wordStart is what a word begins with in place of the space before it.
const wordStart = "▁"

// unknownPenalty is how much less probable a character without a piece is than the rarest piece.
const unknownPenalty = 10

// A class is how an ASCII character is read.
type class uint8

const (
	letter class = iota // of a word, as it is
	space
	other // its replacement is in normal
)

// Append appends the ids of at most limit pieces. It takes invalid UTF-8 for white space.
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

// Tokens is how many ids there are.
func (t *Tokenizer) Tokens() int { return len(t.scores) }

// A scan is a pass over a text.
type scan struct {
	t        *Tokenizer
	limit    int  // stop at this many ids
	counting bool // keep no ids, never stop
	ids      []int32
	count    int     // of ids counted and dropped
	pending  []byte  // characters that may compose with the next
	one      []byte  // of them together
	word     []byte  // from wordStart on
	paths    []path  // by end
	total    float32 // score of all words so far: cuts that tie are decided by rounding, as elsewhere
}

// A path is the best cut of a word's beginning: its last piece begins at from.
type path struct {
	score float32
	id    int32
	from  int32 // -1: none is known
}

// keep bounds the buffers kept for the next text.
const keep = 1 << 16

func (s *scan) free() {
	for _, b := range []*[]byte{&s.pending, &s.one, &s.word} {
		if *b = (*b)[:0]; cap(*b) > keep {
			*b = nil
		}
	}
	if cap(s.paths) > keep {
		s.paths = nil
	}
	s.ids, s.count, s.counting, s.total = s.ids[:0], 0, false, 0
	s.t.scans.Put(s)
}

// text reads to its end or the limit.
func (s *scan) text(text string) {
	for len(text) > 0 && len(s.ids) < s.limit {
		n, plain := s.t.run(text)
		if plain {
			s.word = append(s.word, text[:n]...)
		} else {
			s.normalise(text[:n])
		}
		s.flush()
		text = text[min(n+1, len(text)):]
	}
}

// run returns the length of text up to an ASCII space, and whether all of it stays as it is.
func (t *Tokenizer) run(text string) (n int, plain bool) {
	plain = true
	for n < len(text) {
		c := text[n]
		if c >= utf8.RuneSelf {
			plain = false
		} else if class := t.ascii[c]; class == space {
			break
		} else if class == other {
			plain = false
		}
		n++
	}
	return n, plain
}

// normalise replaces and composes characters, and cuts at what becomes a space. As SentencePiece
// does, it composes only what is a whole decomposition, in its order.
func (s *scan) normalise(text string) {
	for _, r := range text {
		to, replaced := s.t.normal[r]
		if !replaced {
			s.pending = utf8.AppendRune(s.pending[:s.composes(r)], r)
			continue
		}
		if first, size := utf8.DecodeRuneInString(to); size == len(to) && size > 0 && to != " " {
			s.pending = utf8.AppendRune(s.pending[:s.composes(first)], first)
			continue
		}
		s.compose()
		for word, rest, more := strings.Cut(to, " "); ; word, rest, more = strings.Cut(rest, " ") {
			if s.word = append(s.word, word...); !more {
				break
			}
			s.flush()
		}
	}
	s.compose()
}

// composes returns the length of pending if r completes or continues a decomposition with it, or
// else empties it.
func (s *scan) composes(r rune) int {
	if len(s.pending) > 0 {
		n := len(s.pending)
		both := utf8.AppendRune(s.pending, r)
		if !norm.NFC.Properties(both[n:]).BoundaryBefore() {
			s.one = norm.NFC.Append(s.one[:0], both...)
			if utf8.RuneCount(s.one) == 1 && string(norm.NFD.Bytes(s.one)) == string(both) {
				return n
			}
		}
		s.compose()
	}
	return 0
}

// compose moves pending to the word.
func (s *scan) compose() {
	if len(s.pending) > 0 {
		s.one = norm.NFC.Append(s.one[:0], s.pending...) // not to the word, whose end must not compose
		s.word = append(s.word, s.one...)
		s.pending = s.pending[:0]
	}
}

// flush cuts the word.
func (s *scan) flush() {
	if len(s.word) == 0 || len(s.ids) >= s.limit {
		s.word = s.word[:0]
		return
	}
	s.word = append(s.word, wordStart...) // at the end for a moment, to keep the buffer
	copy(s.word[len(wordStart):], s.word)
	copy(s.word, wordStart)
	s.search()
	s.emit()
	s.word = s.word[:0]
}

// search finds the best path to every character's end (Viterbi).
func (s *scan) search() {
	n := len(s.word)
	s.paths = append(s.paths[:0], make([]path, n+1)...)
	for i := range s.paths {
		s.paths[i].from = -1
	}
	s.paths[0].score = s.total
	for i := 0; i < n; {
		_, size := utf8.DecodeRune(s.word[i:])
		s.pieces(i, size)
		i += size
	}
	s.total = s.paths[n].score
}

// pieces offers all pieces that begin at a character of size bytes.
func (s *scan) pieces(at, size int) {
	t, before := s.t, s.paths[at].score
	known := false
	node := t.pieces.root(s.word[at])
	for end := at + 1; node != 0; end++ {
		if id := t.pieces.id(node); id >= 0 {
			known = known || end == at+size
			s.offer(end, path{before + t.scores[id], id, int32(at)})
		}
		if end == len(s.word) {
			break
		}
		node = t.pieces.child(node, s.word[end])
	}
	if !known {
		s.offer(at+size, path{before + t.penalty, t.unknown, int32(at)})
	}
}

func (s *scan) offer(end int, p path) {
	if known := &s.paths[end]; known.from < 0 || p.score > known.score {
		*known = p
	}
}

// emit takes the ids along the best path. Unknown characters in a row are one token.
func (s *scan) emit() {
	first := len(s.ids)
	for at := len(s.word); at > 0; at = int(s.paths[at].from) {
		id := s.paths[at].id
		if id == s.t.unknown && len(s.ids) > first && s.ids[len(s.ids)-1] == id {
			continue
		}
		s.ids = append(s.ids, id)
	}
	if s.counting {
		s.count += len(s.ids)
		s.ids = s.ids[:0]
		return
	}
	for i, j := first, len(s.ids)-1; i < j; i, j = i+1, j-1 {
		s.ids[i], s.ids[j] = s.ids[j], s.ids[i]
	}
}
