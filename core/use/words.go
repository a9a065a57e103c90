package use

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A kind says how telling a word is.
type kind int

const (
	ordinary kind = iota
	name          // written with a capital within a sentence
	fact          // a number, an identifier, a path
)

// words are a text's words in lower case, compounds such as ops/proxy.conf, and their parts.
// Scripts without spaces give every three characters.
type words map[string]kind

// connectors join the parts of a compound.
const connectors = `-_./:@'’+\`

// maxText is how many bytes of a text are read.
const maxText = 256 << 10

func (w words) add(text string) {
	if len(text) > maxText {
		text = text[:maxText]
	}
	begins := true // the next word begins a sentence
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		if !inWord(r) {
			if strings.ContainsRune(".!?:\n#*•|>\"“(", r) {
				begins = true
			}
			at += size
			continue
		}
		end := compound(text, at)
		w.compound(text[at:end], begins)
		at, begins = end, false
	}
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

func compound(text string, at int) int {
	for at < len(text) {
		r, size := utf8.DecodeRuneInString(text[at:])
		if !inWord(r) {
			next, _ := utf8.DecodeRuneInString(text[at+size:])
			if !strings.ContainsRune(connectors, r) || !inWord(next) {
				break
			}
		}
		at += size
	}
	return at
}

// compound adds a word and its parts.
func (w words) compound(word string, begins bool) {
	if strings.ContainsFunc(word, unspaced) {
		for _, part := range strings.FieldsFunc(word, func(r rune) bool { return !unspaced(r) }) {
			runes := []rune(part)
			for i := 0; i+3 <= len(runes); i++ {
				w.one(string(runes[i:i+3]), ordinary)
			}
		}
		return
	}
	w.one(word, kindOf(word, begins))
	if !strings.ContainsAny(word, connectors) {
		return
	}
	for _, signs := range []string{`/\`, connectors} {
		for _, part := range strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune(signs, r) }) {
			w.one(part, kindOf(part, true))
		}
	}
}

// one keeps the more telling of two spellings.
func (w words) one(word string, k kind) {
	word = strings.ToLower(word)
	if known, ok := w[word]; !ok || known < k {
		w[word] = k
	}
}

func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// runsOf returns every run of runWords words.
func runsOf(text string) map[string]bool {
	if len(text) > maxText {
		text = text[:maxText]
	}
	all := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !inWord(r) && r != '\'' && r != '’' })
	runs := map[string]bool{}
	for i := 0; i+runWords <= len(all); i++ {
		runs[strings.Join(all[i:i+runWords], " ")] = true
	}
	return runs
}

// everywhere are names that many projects have.
var everywhere = setOf(`
	readme.md claude.md agents.md gemini.md changelog.md package.json go.mod go.sum cargo.toml pyproject.toml main.go main.py index.js index.ts index.html .gitignore localhost 127.0.0.1
	0.0.0.0 utf-8 utf8 github.com example.com node.js i.e e.g x86 x64 arm64 amd64 sha256 http2 base64 int64 uint64 int32 float64 javascript typescript
`)

// common words of five letters or more are in any answer.
var common = setOf(`
	about above across actually added adding after again against agent allow already along although always among another answer anything around asked based because
	become before begin being below better between beyond bring called calls cannot cause certain change changed changes check checked checking clean clear
	close code comes command commands common complete contains copy could correct course create created current currently default details different directly
	doing during early either empty ended enough entire error errors every everything exactly example existing expected explicitly extra failed fails field
	fields files final finally first fixed folder follow following found fresh function given gives going group handle having hence however important include included
	includes including input inside instead issue issues itself keeps known large later least leave leaves level lines list little local longer looking looks making
	matches maybe means might missing moved multiple names needed needs never newer night nothing number often older option options order original other others otherwise output
	outside paths people perhaps place please point possible present previous probably problem process project proper properly provide question quickly quite rather
	reading ready really reason related relevant remain remove removed replace report request required requires return returned returns right rules running
	second section seems sense separate several shall short should shown shows similar simple simply since single small something sometimes specific start started
	state still support system taken takes talking tests their themselves there therefore these thing things think third those though three through times
	together total toward tries under understand unless until update updated useful using usually value values version wants where whether which while whole
	within without words works would write writes writing written wrong years
	aber alle allem aller alles auch beim dann dass dein deine dieser dieses durch eine einem einen einer eines etwas immer jetzt keine konnte kannst könnte
	mehr muss müssen nach nicht nichts noch oder ohne schon sehr sein seine sich sind soll sollte über unter viele vom wenn werden wieder wird worden wurde wurden zwischen
	alors ainsi aussi autre autres avant avec cette ceux chaque comme comment contre dans depuis donc encore entre être faire leurs mais même moins parce pendant peut plus pour
	quand quelle sans seront sont sous toujours tous tout toute très était vers vous
	ahora algo antes aquí aunque cada como cuando cuenta dentro desde donde ella ellos entonces entre esta estaba estado este esto estos hacer hacia hasta luego mientras mismo mucho
	nada otra otro para pero porque puede pueden según sido siempre sobre también tener tiene todas todo todos
`)

func setOf(list string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(list) {
		set[word] = true
	}
	return set
}

// kindOf judges a word by how it is written.
func kindOf(word string, begins bool) kind {
	var digits, inner, underscore, slashes, dots int
	var before rune
	for _, r := range word {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsUpper(r) && unicode.IsLower(before):
			inner++
		case r == '_':
			underscore++
		case r == '/' || r == '\\':
			slashes++
		case r == '.':
			dots++
		}
		before = r
	}
	n := utf8.RuneCountInString(word)
	first, _ := utf8.DecodeRuneInString(word)
	switch {
	case everywhere[strings.ToLower(word)]:
		return ordinary
	case digits > 0 && n >= 2, inner > 0, underscore > 0, slashes > 1, dots > 0 && n >= 5:
		return fact
	case !begins && unicode.IsUpper(first) && n >= 3 && before != unicode.ToUpper(before):
		return name
	}
	return ordinary
}

// stem removes common European endings.
func stem(word string) string {
	for i := 0; i < len(endings); i++ {
		if rest, ok := strings.CutSuffix(word, endings[i]); ok && utf8.RuneCountInString(rest) >= 4 {
			word, i = rest, -1 // try all endings again
		}
	}
	return word
}

var endings = []string{"ing", "ed", "es", "en", "er", "s", "e", "n"}

// isCommonNumber: at most two digits, or a year.
func isCommonNumber(word string) bool {
	digits := strings.ReplaceAll(word, ".", "")
	if strings.Trim(digits, "0123456789") != "" {
		return false
	}
	return len(digits) <= 2 || len(word) == 4 && (strings.HasPrefix(word, "19") || strings.HasPrefix(word, "20"))
}
