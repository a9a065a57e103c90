package injection

import "github.com/memcore/memcore/internal/text/ngram"

// buckets is the number of weights that n-grams share.
const buckets = 1 << 16

func hashRune(h uint32, r rune) uint32 {
	h = (h ^ uint32(r&0xff)) * ngram.Prime
	return (h ^ uint32(r>>8)) * ngram.Prime
}

func bucket(h uint32) uint32 { return ngram.Mix(h) & (buckets - 1) }

// maxWord cuts longer runs of letters, in characters.
const maxWord = 40

// ngrams visits the bucket of each n-gram of a folded text: words, pairs of words, and three
// characters of a word; in scripts without blanks, one to three characters. It treats all digits
// alike.
func ngrams(text string, visit func(bucket uint32)) {
	g := gramReader{visit: visit}
	for _, r := range text {
		if ngram.IsDense(r) {
			g.character(r)
			continue
		}
		g.dense = [3]rune{}
		switch {
		case r >= '0' && r <= '9':
			g.letter('0')
		case isLetter(r):
			g.letter(r)
		default:
			g.endWord()
		}
	}
	g.endWord()
}

// A gramReader visits the n-grams of characters that come one by one.
type gramReader struct {
	visit  func(bucket uint32)
	word   [maxWord + 2]rune // the letters of a word that has not ended
	n      int               // how many
	before uint32            // hash of the word before
	dense  [3]rune           // the last characters of a script without blanks
}

// character takes one of a script without blanks.
func (g *gramReader) character(r rune) {
	g.endWord()
	g.before = 0
	g.dense[0], g.dense[1], g.dense[2] = g.dense[1], g.dense[2], r
	h := uint32(ngram.Start) ^ 0xaa
	for k := 2; k >= 0 && g.dense[k] != 0; k-- {
		h = hashRune(h, g.dense[k])
		g.visit(bucket(h))
	}
}

func (g *gramReader) letter(r rune) {
	g.word[g.n] = r
	if g.n++; g.n == maxWord {
		g.endWord()
	}
}

func (g *gramReader) endWord() {
	if g.n == 0 {
		return
	}
	word := g.word[:g.n]
	whole := uint32(ngram.Start)
	for _, r := range word {
		whole = hashRune(whole, r)
	}
	g.visit(bucket(whole))
	if g.before != 0 {
		g.visit(bucket(g.before*31 + whole))
	}
	g.before = whole
	for i := -1; g.n > 3 && i+3 <= g.n+1; i++ {
		h := uint32(ngram.Start) ^ 0x55
		for k := i; k < i+3; k++ {
			h = hashRune(h, at(word, k))
		}
		g.visit(bucket(h))
	}
	g.n = 0
}

// at returns a character of a word, or "_" beyond its ends.
func at(word []rune, i int) rune {
	if i < 0 || i >= len(word) {
		return '_'
	}
	return word[i]
}
