package stated

import (
	"math"
	"strings"
	"unicode"

	"github.com/memcore/memcore/internal/text/ngram"
)

// Buckets is how many weights the features share, for each output.
const Buckets = 1 << 14

// A Place says where in a conversation a sentence stands: what opens a task is mostly part of it, what
// follows an answer tells more often how things are.
type Place struct {
	Opens   bool // the message opens a task: no answer of the agent precedes it
	Answers bool // the message answers a question of the agent
	First   bool // the sentence is the message's first
	Last    bool // and last
}

// A Feature is a bucket with a value.
type Feature struct {
	Bucket uint32
	Value  float32
}

// Tokens that no word equals.
const (
	begin  = "\x01"
	end    = "\x02"
	number = "0"
	code   = "\x03" // a path, a name of code, an option, a quotation of code
)

var straight = strings.NewReplacer("’", "'", "‘", "'")

// Straight returns a text as Features reads it, with "'" for the apostrophes that editors make of
// that. Patterns beside the model take the same text.
func Straight(text string) string { return straight.Replace(text) }

// tokens returns the words of a sentence in lower case, its punctuation, and the characters of
// scripts without blanks. Numbers are one token, names of code another.
func tokens(text string) (all []string) {
	all = append(all, begin)
	text = Straight(text)
	inCode := false
	for _, field := range strings.Fields(text) {
		if strings.Count(field, "`")%2 == 1 {
			if inCode = !inCode; !inCode {
				all = appendCode(all, field)
			}
			continue
		}
		if inCode {
			continue
		}
		bare := strings.Trim(field, `.,:;!?()[]{}"'*_`)
		if isCode(bare) {
			all = appendCode(all, field)
			continue
		}
		all = appendWords(all, field)
	}
	return append(all, end)
}

// appendCode appends the token of code that ends a field, and the punctuation behind it.
func appendCode(all []string, field string) []string {
	all = append(all, code)
	if last := field[len(field)-1:]; strings.ContainsAny(last, ",:;!?") {
		all = append(all, last)
	}
	return all
}

// isCode reports whether a word is a path, an option or a name of a program.
func isCode(word string) bool {
	if strings.Contains(word, "`") || strings.HasPrefix(word, "--") && len(word) > 2 || strings.Contains(word, "::") || strings.Contains(word, "()") {
		return true
	}
	letters, inner, upper := 0, false, false
	for i, r := range word {
		switch {
		case unicode.IsLetter(r):
			letters++
			upper = upper || i > 0 && unicode.IsUpper(r) && letters > 1 && word[i-1] >= 'a' && word[i-1] <= 'z'
		case i > 0 && (r == '_' || r == '/' || r == '.' || r == '@' || r == '=' || r == '\\'):
			inner = true
		}
	}
	return letters > 1 && (inner || upper)
}

func appendWords(all []string, field string) []string {
	var word strings.Builder
	digits := false
	flush := func() {
		if word.Len() > 0 {
			all = append(all, word.String())
			word.Reset()
		}
		digits = false
	}
	for _, r := range field {
		switch {
		case ngram.IsDense(r):
			flush()
			all = append(all, string(r))
		case unicode.IsDigit(r):
			if !digits {
				flush()
				all = append(all, number)
				digits = true
			}
		case unicode.IsLetter(r) || unicode.IsMark(r) || r == '\'' && word.Len() > 0:
			digits = false
			word.WriteRune(unicode.ToLower(r))
		default:
			flush()
			if strings.ContainsRune(",:;!?…–—。，、：；？！？()\"*-", r) {
				all = append(all, string(r))
			}
		}
	}
	flush()
	return all
}

func hash(kind uint32, parts ...string) uint32 {
	h := uint32(ngram.Start) ^ kind*0x9e3779b1
	for _, p := range parts {
		for i := range len(p) {
			h = (h ^ uint32(p[i])) * ngram.Prime
		}
		h = (h ^ 0xff) * ngram.Prime
	}
	return ngram.Mix(h) & (Buckets - 1)
}

// Kinds of features.
const (
	ofWord = iota
	ofPair
	ofTriple
	ofSkip
	ofPrefix
	ofSuffix
	ofPlace
	ofLength
	ofShape
)

// scale is the L2 norm of the features of words.
const scale = 3

// Features returns the features of a sentence: its words, two and three neighbours, two with a word
// between, beginnings and ends of long words, and, each with the value 1, its place, its length and
// whether it asks.
func Features(sentence string, at Place) (all []Feature) {
	words := tokens(sentence)
	seen := map[uint32]bool{}
	add := func(bucket uint32) {
		if !seen[bucket] {
			seen[bucket] = true
			all = append(all, Feature{bucket, 1})
		}
	}
	count := 0
	for i, w := range words {
		if len(w) > 1 || w[0] > 3 {
			add(hash(ofWord, w))
			count++
		}
		if i+1 < len(words) {
			add(hash(ofPair, w, words[i+1]))
		}
		if i+2 < len(words) {
			add(hash(ofTriple, w, words[i+1], words[i+2]))
			add(hash(ofSkip, w, words[i+2]))
		}
		if runes := []rune(w); len(runes) > 4 {
			add(hash(ofPrefix, string(runes[:4])))
			add(hash(ofSuffix, string(runes[len(runes)-3:])))
		}
	}
	each := float32(scale / math.Sqrt(float64(len(all))))
	for i := range all {
		all[i].Value = each
	}
	flag := func(kind uint32, name string) { all = append(all, Feature{hash(kind, name), 1}) }
	switch {
	case at.Opens:
		flag(ofPlace, "opens")
	case at.Answers:
		flag(ofPlace, "answers")
	}
	if at.First {
		flag(ofPlace, "first")
	}
	if at.Last {
		flag(ofPlace, "last")
	}
	for _, max := range []int{3, 6, 10, 16, 25} {
		if count <= max {
			flag(ofLength, string(rune('0'+max)))
		}
	}
	if strings.HasSuffix(strings.TrimRight(sentence, ")! "), "?") {
		flag(ofShape, "question")
	}
	return all
}
