package digest

import (
	_ "embed" // for the words
	"strings"
	"sync"
	"unicode"

	"github.com/memcore/memcore/internal/text/lazy"
)

// Classes of words say nothing of what a sentence is about, but much of what it does: one that tells
// how things are, or are to be done, denies, generalises and gives reasons; one that orders or
// reports has an I, a you and a "still".

// toldClasses are the classes of told.txt with their weights. A class counts twice at most.
var toldClasses = []struct {
	name   string
	weight float64
}{
	{"not", 1.5}, {"every", 0.5}, {"because", 0.9}, {"state", 0.6}, {"change", 0.5},
	{"you", -0.7}, {"me", -0.2}, {"trouble", -0.7},
}

// Further terms of the sum. All weights are of a logistic regression on statements of nine
// workspaces and 7,000 sentences of real users.
const (
	toldBase      = -3.3
	toldReply     = 1.8  // an answer to an agent's work, not the first request of a session
	toldClause    = 1.4  // a second and a third clause: most reasons are given without "because"
	toldNotClause = -0.7 // a clause and a negation
	toldShort     = -0.4
	toldCode      = -1.0
	// minTold is the least sum of a sentence that tells something. Of sentences of real users, one in
	// twelve has it.
	minTold = 1.1
	// shortTold is in words.
	shortTold = 6
	// Of these toldClasses a sentence has at least one; those behind are of what is at hand.
	firstGeneral, lastGeneral = 1, 4
	// perWord is how many characters of scripts without spaces are a word.
	perWord = 2
)

//go:embed told.txt
var toldText string

// toldWords are the words of told.txt with bits for their classes.
type toldWords struct {
	whole, begins map[string]uint16
	anywhere      []string // of scripts without spaces, as in whole
}

var readTold = sync.OnceValue(func() toldWords {
	w := toldWords{whole: map[string]uint16{}, begins: map[string]uint16{}}
	for line := range strings.Lines(toldText) {
		name, words, _ := strings.Cut(strings.TrimSpace(line), " ")
		for i, c := range toldClasses {
			if c.name != name {
				continue
			}
			for word := range strings.FieldsSeq(words) {
				begin, isBegin := strings.CutSuffix(word, "*")
				switch {
				case isBegin:
					w.begins[begin] |= 1 << i
				case strings.ContainsFunc(word, isUnspaced):
					w.anywhere = append(w.anywhere, word)
					fallthrough
				default:
					w.whole[word] |= 1 << i
				}
			}
		}
	}
	return w
})

func isUnspaced(r rune) bool { return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) }

// of returns the classes of a word.
func (w toldWords) of(word string) uint16 {
	bits := w.whole[word]
	for i := range word {
		bits |= w.begins[word[:i]]
	}
	return bits | w.begins[word]
}

var (
	furtherClause = lazy.Regexp(`[,;:–—，；：、] ?[^,;:–—，；：、]{8,}`)
	looksLikeCode = lazy.Regexp("[`@/_#<>{}]|\\w\\.\\w|\\(\\)")
)

// informs reports whether a sentence tells how things are or are to be done, and whether it says with
// a reason what is never or always so, for anybody.
func informs(sentence string, reply bool) (informs, generalises bool) {
	known := readTold()
	sentence = strings.ToLower(straight(sentence))
	counts := make([]int, len(toldClasses))
	count := func(bits uint16) {
		for i := range counts {
			counts[i] += int(bits >> i & 1)
		}
	}
	words, unspaced := 0, 0
	for word := range strings.FieldsFuncSeq(sentence, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(inWords, r)
	}) {
		words++
		count(known.of(strings.Trim(word, inWords)))
	}
	for _, r := range sentence {
		if isUnspaced(r) {
			unspaced++
		}
	}
	if unspaced > 0 {
		for _, word := range known.anywhere {
			if strings.Contains(sentence, word) {
				count(known.whole[word])
			}
		}
	}
	sum := toldBase
	for i, c := range toldClasses {
		sum += c.weight * float64(min(counts[i], 2))
	}
	clauses := min(len(furtherClause().FindAllStringIndex(sentence, 2)), 2)
	sum += toldClause * float64(clauses)
	for _, term := range []struct {
		is     bool
		weight float64
	}{
		{reply, toldReply}, {counts[0] > 0 && clauses > 0, toldNotClause}, {words+unspaced/perWord < shortTold, toldShort}, {looksLikeCode().MatchString(sentence), toldCode},
	} {
		if term.is {
			sum += term.weight
		}
	}
	general := 0 // "not in a.go, put it into b.go" only denies
	for _, n := range counts[firstGeneral : lastGeneral+1] {
		general += n
	}
	personal := 0
	for _, n := range counts[lastGeneral+1:] {
		personal += n
	}
	return sum >= minTold && general > 0, counts[0]+counts[1] > 0 && clauses > 0 && personal == 0
}

// inWords are characters inside words: the "go" of "upload.go" is none.
const inWords = "'-._/"
