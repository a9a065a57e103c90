package keyword

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
)

// A lexer splits texts into words of any script, and names into their parts.
//
// A compound joins words by single connectors or inner capitals, such as core/source/source.go,
// ERR_CONN_42, getCacheStats, 10.0.0.5:5433. It is a token, and so are its parts: split at / \ : @
// # ~ +, then dots, then - _ and apostrophes, then capitals. Tokens omit - and _, so that
// get_cache_stats and getCacheStats are equal.
//
// Scripts without spaces become pairs of characters; so does Hangul, since Korean attaches
// particles.
//
// A word's tokens do not depend on context, so that queries find it.
type lexer struct {
	// characters adds single characters of scripts without spaces. Isolated and Chinese ones, which
	// have a meaning, always are tokens.
	characters bool
}

func (l lexer) Tokenize(text []byte) analysis.TokenStream {
	s := &scan{text: text, characters: l.characters}
	for at := 0; at < len(text); {
		switch r, size := utf8.DecodeRune(text[at:]); {
		case !startsWord(r):
			at += size
		case unspaced(r):
			at = s.run(at)
		default:
			at = s.compound(at)
		}
	}
	return s.tokens
}

type scan struct {
	text       []byte
	characters bool
	tokens     analysis.TokenStream
}

// run consumes characters of scripts without spaces.
func (s *scan) run(start int) (end int) {
	var starts []int
	at := start
	for at < len(s.text) {
		r, size := utf8.DecodeRune(s.text[at:])
		if !unspaced(r) && !unicode.IsMark(r) {
			break
		}
		if !unicode.IsMark(r) {
			starts = append(starts, at)
		}
		at += size
	}
	starts = append(starts, at)
	s.pairs(starts)
	return at
}

func (s *scan) pairs(starts []int) {
	characters := len(starts) - 1
	for i := range characters {
		if s.characters || characters == 1 || s.han(starts[i]) {
			s.add(starts[i], starts[i+1])
		}
		if i+2 <= characters {
			s.add(starts[i], starts[i+2])
		}
	}
}

func (s *scan) han(at int) bool {
	r, _ := utf8.DecodeRune(s.text[at:])
	return unicode.Is(unicode.Han, r)
}

// compound consumes a word and what is connected.
func (s *scan) compound(start int) (end int) {
	end = s.word(start)
	for {
		next := s.connected(end)
		if next == end {
			break
		}
		end = s.word(next)
	}
	if after := s.sharp(start, end); after > end {
		s.add(start, after)
		s.split(start, end, 0)
		return after
	}
	s.split(start, s.withoutPossessive(start, end), 0)
	return end
}

func (s *scan) word(at int) (end int) {
	for at < len(s.text) {
		r, size := utf8.DecodeRune(s.text[at:])
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) || unspaced(r) {
			break
		}
		at += size
	}
	return at
}

// connected returns the start of a compound's next word, else at.
func (s *scan) connected(at int) int {
	rest := s.text[at:]
	next := at
	switch {
	case bytes.HasPrefix(rest, []byte("://")):
		next += 3
	case bytes.HasPrefix(rest, []byte("::")):
		next += 2
	case len(rest) > 0 && level(rest[0]) >= 0:
		next++
	}
	if r, _ := utf8.DecodeRune(s.text[next:]); next == at || !startsWord(r) || unspaced(r) {
		return at
	}
	return next
}

// connectors join words, by level, the outermost first.
var connectors = [...]string{`/\:@#~+`, `.`, `-_'`}

func level(c byte) int {
	for i, set := range connectors {
		if strings.IndexByte(set, c) >= 0 {
			return i
		}
	}
	return -1
}

// sharp returns the end of names such as c++ or f#, else end.
func (s *scan) sharp(start, end int) int {
	if end-start > 4 || bytes.ContainsAny(s.text[start:end], `/\:@#~+.-_'`) {
		return end
	}
	for _, suffix := range []string{"++", "#"} {
		if bytes.HasPrefix(s.text[end:], []byte(suffix)) {
			return end + len(suffix)
		}
	}
	return end
}

func (s *scan) withoutPossessive(start, end int) int {
	if end-start > 2 && s.text[end-2] == '\'' && s.text[end-1]|0x20 == 's' {
		return end - 2
	}
	return end
}

// split adds tokens of the compound in [start, end) and its parts, outermost connectors first.
func (s *scan) split(start, end, outermost int) {
	for at := outermost; at < len(connectors); at++ {
		parts := splitAt(s.text, start, end, connectors[at])
		if len(parts) == 1 {
			continue
		}
		if at == len(connectors)-1 && end-start <= longest && isContraction(s.text, parts) {
			s.addTerm(start, end, joined(s.text, parts), false)
			return
		}
		s.whole(start, end, parts, at)
		for _, part := range parts {
			s.split(part.start, part.end, at+1)
		}
		return
	}
	s.capitals(start, end)
}

func (s *scan) whole(start, end int, parts []span, at int) {
	term := bytes.ReplaceAll(lower(s.text[start:end]), []byte(`\`), []byte(`/`))
	if at == len(connectors)-1 && !allNumbers(s.text, parts) {
		term = joined(s.text, parts)
	}
	s.addWhole(start, end, term)
	if connectors[at] == "." && isVersion(s.text[start:end]) {
		s.addWhole(start+1, end, term[1:])
	}
}

// capitals splits getCacheStats and HTTPServer.
func (s *scan) capitals(start, end int) {
	parts := splitCapitals(s.text, start, end)
	if len(parts) == 1 {
		s.add(start, end)
		return
	}
	s.addWhole(start, end, lower(s.text[start:end]))
	for _, part := range parts {
		s.add(part.start, part.end)
	}
}

// add adds the token of a word.
func (s *scan) add(start, end int) {
	end = start + len(cut(s.text[start:end]))
	s.addTerm(start, end, lower(s.text[start:end]), false)
}

func (s *scan) addWhole(start, end int, term []byte) {
	if len(term) <= longest {
		s.addTerm(start, end, term, true)
	}
}

func (s *scan) addTerm(start, end int, term []byte, whole bool) {
	s.tokens = append(s.tokens, &analysis.Token{
		Start: start, End: end, Term: term, Position: len(s.tokens) + 1, KeyWord: whole,
	})
}

type span struct{ start, end int }

func splitAt(text []byte, start, end int, set string) []span {
	var parts []span
	from := start
	for at := start; at < end; at++ {
		if strings.IndexByte(set, text[at]) < 0 {
			continue
		}
		if at > from {
			parts = append(parts, span{from, at})
		}
		from = at + 1
	}
	return append(parts, span{from, end})
}

// splitCapitals begins a part at a capital after a small letter. Before a small letter it also does
// at the last of several capitals and after a digit.
func splitCapitals(text []byte, start, end int) []span {
	var parts []span
	from := start
	var before rune
	for at := start; at < end; {
		r, size := utf8.DecodeRune(text[at:end])
		after, _ := utf8.DecodeRune(text[at+size : end])
		if at > from && unicode.IsUpper(r) &&
			(unicode.IsLower(before) || (unicode.IsUpper(before) || unicode.IsDigit(before)) && unicode.IsLower(after)) {
			parts = append(parts, span{from, at})
			from = at
		}
		before = r
		at += size
	}
	return append(parts, span{from, end})
}

var contractions = setOf("t d m re ve ll")

func isContraction(text []byte, parts []span) bool {
	return len(parts) == 2 && text[parts[0].end] == '\'' &&
		contractions[string(lower(text[parts[1].start:parts[1].end]))]
}

// isVersion reports whether text is like v1.26.8, which people also call 1.26.8.
func isVersion(text []byte) bool {
	return len(text) > 1 && text[0]|0x20 == 'v' && text[1] >= '0' && text[1] <= '9'
}

func allNumbers(text []byte, parts []span) bool {
	for _, part := range parts {
		for _, c := range text[part.start:part.end] {
			if c < '0' || c > '9' {
				return false
			}
		}
	}
	return true
}

func joined(text []byte, parts []span) []byte {
	var term []byte
	for _, part := range parts {
		term = append(term, text[part.start:part.end]...)
	}
	return lower(term)
}

func lower(text []byte) []byte { return bytes.ToLower(text) }

// cut shortens text to longest bytes of whole characters.
func cut(text []byte) []byte {
	if len(text) <= longest {
		return text
	}
	end := longest
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

func startsWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// unspaced reports whether r is Hangul or of a script without spaces.
func unspaced(r rune) bool {
	if r < 0x0E00 {
		return false
	}
	return r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) && unicode.IsLetter(r)
}
