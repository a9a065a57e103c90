package injection

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// addressed returns a text of the same length, with blanks in place of what it shows instead of
// says: what a line quotes, also as code, that orders nothing itself.
func addressed(text string) string {
	if !strings.ContainsAny(text, "`\"“„«「") {
		return text
	}
	said := []byte(text)
	at := 0
	for line := range strings.Lines(text) {
		for _, s := range quotations(line) {
			blank(said[at+s.start : at+s.end])
		}
		at += len(line)
	}
	return string(said)
}

func blank(text []byte) {
	for i := range text {
		text[i] = ' '
	}
}

// closing are the ends of quotations, by their beginning.
var closing = map[rune]string{'"': `"`, '`': "`", '“': "”", '„': "“”", '«': "»", '「': "」"}

// longQuotation is the most bytes of a quotation. What is longer may begin at a stray mark.
const longQuotation = 160

// quotations returns what a line quotes between words of its own, unless these order something.
func quotations(line string) (all []span) {
	rest := []byte(line)
	end, mark, start, before := "", 0, 0, ' '
	for i, r := range line {
		switch {
		case end == "" && closing[r] != "" && (unicode.IsSpace(before) || before == '('): // no attribute
			end, mark, start = closing[r], i, i+utf8.RuneLen(r)
		case end != "" && i-start > longQuotation:
			end = ""
		case end != "" && strings.ContainsRune(end, r) && before != ' ':
			all = append(all, span{start, i})
			blank(rest[mark : i+utf8.RuneLen(r)]) // with its marks, which would begin a sentence
			end = ""
		}
		before = r
	}
	if len(all) == 0 {
		return nil
	}
	own := &reading{folded: fold(string(rest))}
	own.tokenise(known())
	if len(own.tokens) < ownWords || slices.ContainsFunc(own.tokens, token.orders) {
		return nil
	}
	return all
}

// ownWords is how many words of its own a line that quotes has at least.
const ownWords = 4

// orders reports whether a word addresses a reader, or begins an order.
func (t token) orders() bool {
	return t.is&anyOf(classYou, classConceal) != 0 ||
		t.first && t.is&anyOf(classDrop, classReveal, classAnswer, classOnly, classSend, classRole, classNow, classRun, classUrgent, classSuppose, classKeep) != 0
}
