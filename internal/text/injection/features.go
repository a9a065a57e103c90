package injection

import (
	"math"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/memcore/memcore/internal/text/ngram"
)

// A Feature is a property of a window. Its ID is below Features.
type Feature struct {
	ID    uint32
	Value float32
}

// The first ID of each kind of feature. Classes begin at 0.
const (
	firstPair  = uint32(classes)
	firstStart = firstPair + uint32(classes*(classes-1)/2)
	firstShape = firstStart + uint32(classes)
	firstRule  = firstShape + uint32(shapes)
)

var (
	firstNgram = firstRule + uint32(len(rules))
	// Features is the number of features.
	Features = int(firstNgram + buckets)
)

// pairID returns the ID of two classes near each other.
func pairID(a, b class) uint32 {
	if a > b {
		a, b = b, a
	}
	return firstPair + uint32(b*(b-1)/2+a)
}

// Names returns those of the features before n-grams, by ID. Do not change it.
var Names = sync.OnceValue(func() (all []string) {
	all = append(all, classNames[:]...)
	for b := range classes {
		for a := range b {
			all = append(all, classNames[a]+" + "+classNames[b])
		}
	}
	for _, name := range classNames {
		all = append(all, "begins with "+name)
	}
	all = append(all, shapeNames[:]...)
	for _, r := range rules {
		all = append(all, r.name)
	}
	return all
})

// A token is a word with its possible classes.
type token struct {
	is    classSet
	first bool // near the start of a sentence
}

// A reading is a window, prepared for rules and features.
type reading struct {
	folded string
	tokens []token // all words, also without a class
	shape  [shapes]bool
	rules  ruleSet
}

func read(text string) *reading {
	r := &reading{folded: fold(text)}
	r.shape = shapesOf(text, r.folded)
	r.tokenise(known())
	r.applyRules()
	return r
}

// tokenise finds the words and their classes.
func (r *reading) tokenise(l *lexicon) {
	text := r.folded
	r.tokens = make([]token, 0, len(text)/5)
	start := -1
	before, beforeAt := "", 0
	words := 0 // since the sentence began
	end := func(to int) {
		if start < 0 {
			return
		}
		word := text[start:to]
		is := l.of(word)
		if before != "" && l.twoWord[before] && start == beforeAt+len(before)+1 {
			r.tokens[len(r.tokens)-1].is |= l.whole[text[beforeAt:to]]
		}
		r.tokens = append(r.tokens, token{is, words < opening})
		before, beforeAt = word, start
		start = -1
		words++
	}
	for i := 0; i < len(text); {
		c, size := rune(text[i]), 1
		if c >= utf8.RuneSelf {
			c, size = utf8.DecodeRuneInString(text[i:])
		}
		switch {
		case ngram.IsDense(c):
			end(i)
			if is, length := l.startOf(text[i:]); is != 0 {
				r.tokens = append(r.tokens, token{is, words < openingDense})
				size = length
			}
			words++
		case isLetter(c) || c == '\'' && start >= 0:
			if start < 0 {
				start = i
			}
		default:
			end(i)
			if isEnd(c) {
				words = 0
			}
		}
		i += size
	}
	end(len(text))
}

// An order begins within so many words of a sentence, or characters of scripts without blanks.
const (
	opening      = 2
	openingDense = 4
)

// isEnd reports whether a sentence may begin after a character.
func isEnd(c rune) bool {
	switch c {
	case '.', '!', '?', ':', ';', '\n', '"', '(', '>', '-', '*', '#', '।', '؟', '¿', '¡', '。', '！', '？', '：':
		return true
	}
	return false
}

func isLetter(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsMark(r)
}

// appendFeatures appends the features of the window.
func (r *reading) appendFeatures(all []Feature) []Feature {
	var found, starts classSet
	for _, t := range r.tokens {
		found |= t.is
		if t.first {
			starts |= t.is
		}
	}
	for c := range classes {
		if found.has(c) {
			all = append(all, Feature{uint32(c), 1})
		}
		if starts.has(c) {
			all = append(all, Feature{firstStart + uint32(c), 1})
		}
	}
	for _, id := range r.pairs() {
		all = append(all, Feature{id, 1})
	}
	for i, is := range r.shape {
		if is {
			all = append(all, Feature{firstShape + uint32(i), 1})
		}
	}
	for i := range rules {
		if r.rules&(1<<i) != 0 {
			all = append(all, Feature{firstRule + uint32(i), 1})
		}
	}
	return r.appendNgrams(all)
}

// ngramScale is the L2 norm of a window's n-grams.
const ngramScale = 3

// counters are all zero. They are reused, since clearing them for each window takes longer than
// counting.
var counters = sync.Pool{New: func() any { return new([buckets]uint8) }}

// appendNgrams counts n-grams in an array, which is twice as fast as sorting.
func (r *reading) appendNgrams(all []Feature) []Feature {
	counts := counters.Get().(*[buckets]uint8)
	first := len(all)
	ngrams(r.folded, func(b uint32) {
		if counts[b] == 0 {
			all = append(all, Feature{ID: firstNgram + b})
		}
		if counts[b] < math.MaxUint8 {
			counts[b]++
		}
	})
	sum := 0.0
	for i := range all[first:] {
		f := &all[first+i]
		weight := ngramWeight(counts[f.ID-firstNgram])
		counts[f.ID-firstNgram] = 0
		f.Value = float32(weight)
		sum += weight * weight
	}
	counters.Put(counts)
	scale := float32(ngramScale / math.Sqrt(sum))
	for i := range all[first:] {
		all[first+i].Value *= scale
	}
	return all
}

// ngramWeight is the weight of an n-gram that occurs n times.
func ngramWeight(n uint8) float64 {
	if n == 1 {
		return 1 // without the cost of a logarithm
	}
	return 1 + math.Log(float64(n))
}

// Words within so many words belong together.
const near = 12

// pairs returns the features of classes near each other.
func (r *reading) pairs() (ids []uint32) {
	var nearby [classes]classSet // the classes near each class
	for i, t := range r.tokens {
		if t.is == 0 {
			continue
		}
		for _, o := range r.tokens[i:min(i+near, len(r.tokens))] {
			for a := range classes {
				if t.is.has(a) {
					nearby[a] |= o.is &^ (1 << a)
				}
			}
		}
	}
	for a := range classes {
		for b := range classes {
			again := b < a && nearby[b].has(a)
			if nearby[a].has(b) && !again {
				ids = append(ids, pairID(a, b))
			}
		}
	}
	return ids
}
