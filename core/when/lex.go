package when

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A token may be part of a date.
type token struct {
	piece
	start, end int  // bytes of the text
	capital    bool // begins with a capital letter
	apart      bool // follows the end of a sentence
}

// A lexer cuts a text into tokens.
type lexer struct {
	text   string
	at     int
	apart  bool
	tokens []token
	words  []foldedWord // of the run of words that is not yet looked up
}

// A foldedWord is as in the table.
type foldedWord struct {
	text       string
	start, end int
	capital    bool
	apart      bool
}

func lex(text string) []token {
	l := &lexer{text: text}
	for l.at < len(text) {
		l.next()
	}
	l.lookUp()
	return l.tokens
}

func (l *lexer) next() {
	r, size := utf8.DecodeRuneInString(l.text[l.at:])
	switch {
	case isCJK(r):
		l.lookUp()
		l.cjk()
	case isDigit(r):
		l.lookUp()
		l.number()
	case inWord(r):
		l.word()
	default:
		switch {
		case r == '\'' || r == '’' || r == ',' || r == '、' || r == '-' || unicode.IsSpace(r) && r != '\n':
		case r == '.' && len(l.tokens) > 0 && len(l.words) == 0 && l.tokens[len(l.tokens)-1].kind == number && l.tokens[len(l.tokens)-1].end == l.at:
			// 7. Mai
		default:
			l.apart = true
		}
		l.at += size
	}
}

func (l *lexer) add(start, end int, pieces ...piece) {
	for _, p := range pieces {
		l.tokens = append(l.tokens, token{piece: p, start: start, end: end, apart: l.apart})
		l.apart = false
	}
}

// word reads letters. "_", "." or "/" make a name.
func (l *lexer) word() {
	start := l.at
	var folded strings.Builder
	first, name := rune(0), false
	for l.at < len(l.text) {
		r, size := utf8.DecodeRuneInString(l.text[l.at:])
		if !inWord(r) && !isDigit(r) || isCJK(r) {
			break
		}
		if first == 0 {
			first = r
		}
		name = name || isDigit(r) || r == '_'
		if !unicode.Is(unicode.Mn, r) {
			fold(&folded, r)
		}
		l.at += size
	}
	w := foldedWord{text: folded.String(), start: start, end: l.at, capital: unicode.IsUpper(first), apart: l.apart}
	l.apart = false
	if name || l.joined(start, l.at) {
		w.text = ""
	}
	l.words = append(l.words, w)
}

// joined means part of a longer name, such as a path.
func (l *lexer) joined(start, end int) bool {
	if start > 0 && strings.IndexByte("./@#$\\:=", l.text[start-1]) >= 0 {
		if l.text[start-1] != ':' && l.text[start-1] != '.' || start > 1 && !isSpace(l.text[start-2]) {
			return true
		}
	}
	if end+1 < len(l.text) && strings.IndexByte("./\\(=:", l.text[end]) >= 0 {
		return !isSpace(l.text[end+1]) && l.text[end] != ':' || l.text[end] == ':' && l.text[end+1] == ':'
	}
	return false
}

func isSpace(b byte) bool { return b == ' ' || b == '\n' || b == '\t' || b == '\r' }

// lookUp makes tokens, the longest phrases first.
func (l *lexer) lookUp() {
	last := l.apart
	for at := 0; at < len(l.words); {
		end, pieces := at+1, []piece{{}}
		for n := min(longest()[l.words[at].text], len(l.words)-at); n >= 1; n-- {
			if found, ok := words()[phrase(l.words[at:at+n])]; ok {
				end, pieces = at+n, found
				break
			}
		}
		w := l.words[at]
		l.apart = w.apart
		from := len(l.tokens)
		l.add(w.start, l.words[end-1].end, pieces...)
		for i := range l.tokens[from:] {
			l.tokens[from+i].capital = w.capital
		}
		at = end
	}
	l.words, l.apart = l.words[:0], last
}

// phrase is "" if the words are apart.
func phrase(all []foldedWord) string {
	if len(all) == 1 {
		return all[0].text
	}
	var b strings.Builder
	for i, w := range all {
		if i > 0 && (w.apart || w.text == "") {
			return ""
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.text)
	}
	return b.String()
}

// maxCJK is the most characters of an entry without spaces.
const maxCJK = 6

// cjk reads an entry, a number, or one character.
func (l *lexer) cjk() {
	ends := make([]int, 0, maxCJK)
	at := l.at
	for range maxCJK {
		r, size := utf8.DecodeRuneInString(l.text[at:])
		if size == 0 || !isCJK(r) {
			break
		}
		at += size
		ends = append(ends, at)
	}
	start := l.at
	for i := len(ends) - 1; i >= 0; i-- {
		if pieces, ok := words()[l.text[start:ends[i]]]; ok {
			l.at = ends[i]
			l.add(start, l.at, pieces...)
			return
		}
	}
	if n, size := chineseNumber(l.text[start:]); size > 0 {
		l.at = start + size
		l.add(start, l.at, piece{kind: number, value: n})
		return
	}
	l.at = ends[0]
	l.add(start, l.at, piece{})
}

// chineseNumber reads a number below 100 in characters.
func chineseNumber(text string) (n, size int) {
	tens := false
	for _, r := range text {
		digit, ok := chineseDigits[r]
		switch {
		case r == '十' && !tens:
			n, tens = max(n, 1)*10, true
		case ok && (size == 0 || tens && n%10 == 0):
			n += digit
		default:
			return n, size
		}
		size += utf8.RuneLen(r)
	}
	return n, size
}

var chineseDigits = map[rune]int{'一': 1, '二': 2, '两': 2, '兩': 2, '三': 3, '四': 4, '五': 5, '六': 6, '七': 7, '八': 8, '九': 9}

// number reads a date in digits, or a number.
func (l *lexer) number() {
	start := l.at
	end := start
	for end < len(l.text) {
		r, size := utf8.DecodeRuneInString(l.text[end:])
		if !isDigit(r) && !strings.ContainsRune("-./", r) {
			break
		}
		end += size
	}
	run := strings.TrimRight(l.text[start:end], "-./")
	end = start + len(run)
	l.at = end
	before, _ := utf8.DecodeLastRuneInString(l.text[:start])
	after, _ := utf8.DecodeRuneInString(l.text[end:])
	glued := start > 0 && strings.ContainsRune("-./_:#$@+\\=", before)
	if strings.ContainsAny(run, "-./") {
		if dates := digitDates(run); !glued && dates != nil && (!inWord(after) || after == 'T' || isCJK(after)) && after != '_' {
			l.skipClock()
			l.add(start, end, piece{kind: date, dates: dates})
			return
		}
		l.add(start, end, piece{})
		return
	}
	n, err := strconv.Atoi(asciiDigits(run))
	if err != nil || n > 9999 || glued {
		l.skipWord()
		l.add(start, l.at, piece{})
		return
	}
	if suffix := l.suffix(); suffix != "" && !ordinals[suffix] {
		l.skipWord()
		l.add(start, l.at, piece{})
		return
	} else {
		l.at += len(suffix)
	}
	l.add(start, l.at, piece{kind: number, value: n, digits: len(run)})
}

// skipClock skips the time of day after a date: 2023-05-07T10:00:00Z.
func (l *lexer) skipClock() {
	if l.at < len(l.text) && l.text[l.at] == 'T' {
		for l.at < len(l.text) && strings.IndexByte("T0123456789:.Z+-", l.text[l.at]) >= 0 {
			l.at++
		}
	}
}

// suffix returns the letters that follow without a space.
func (l *lexer) suffix() string {
	end := l.at
	for end < len(l.text) {
		r, size := utf8.DecodeRuneInString(l.text[end:])
		if !inWord(r) || isCJK(r) {
			break
		}
		end += size
	}
	return l.text[l.at:end]
}

func (l *lexer) skipWord() {
	for l.at < len(l.text) {
		r, size := utf8.DecodeRuneInString(l.text[l.at:])
		if !inWord(r) && !isDigit(r) || isCJK(r) {
			return
		}
		l.at += size
	}
}

var ordinals = map[string]bool{"st": true, "nd": true, "rd": true, "th": true, "er": true, "º": true}

// A ymd is a date as written.
type ymd struct{ year, month, day int }

// digitDates knows 2023-05-07, 2023/5/7, 2023.05.07 and 7.5.2023; 05/07/2023 and 05-07-2023 have
// two meanings.
func digitDates(run string) []ymd {
	separator := strings.IndexAny(run, "-./")
	parts := strings.Split(run, run[separator:separator+1])
	if len(parts) != 3 {
		return nil
	}
	var n [3]int
	for i, part := range parts {
		var err error
		if n[i], err = strconv.Atoi(asciiDigits(part)); err != nil || len(part) > 4 {
			return nil
		}
	}
	var all []ymd
	take := func(year, month, day int) {
		if year >= firstYear && year <= lastYear && month >= 1 && month <= 12 && day >= 1 && day <= 31 {
			all = append(all, ymd{year, month, day})
		}
	}
	switch {
	case len(parts[0]) == 4:
		take(n[0], n[1], n[2])
	case len(parts[2]) != 4:
	case run[separator] == '.':
		take(n[2], n[1], n[0])
	default:
		take(n[2], n[1], n[0])
		if n[0] != n[1] {
			take(n[2], n[0], n[1])
		}
	}
	return all
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' || r >= '０' && r <= '９' }

// asciiDigits makes full-width digits plain ones.
func asciiDigits(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '０' && r <= '９' {
			return r - '０' + '0'
		}
		return r
	}, s)
}

func inWord(r rune) bool { return unicode.IsLetter(r) || r == '_' || unicode.Is(unicode.Mn, r) }

func isCJK(r rune) bool {
	return r >= 0x3000 && (unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r == 'ー' || r == '々')
}

// fold writes a letter in lower case without its accent.
func fold(b *strings.Builder, r rune) {
	switch r = unicode.ToLower(r); r {
	case 'ß':
		b.WriteString("ss")
	case 'œ':
		b.WriteString("oe")
	default:
		if parts := norm.NFD.PropertiesString(string(r)).Decomposition(); parts != nil {
			r, _ = utf8.DecodeRune(parts)
		}
		b.WriteRune(r)
	}
}
