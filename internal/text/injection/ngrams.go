package injection

import (
	"unicode"
	"unicode/utf8"
)

// buckets is the number of weights that n-grams share.
const buckets = 1 << 16

const (
	hashStart = 2166136261
	hashPrime = 16777619
)

func hashRune(h uint32, r rune) uint32 {
	h = (h ^ uint32(r&0xff)) * hashPrime
	return (h ^ uint32(r>>8)) * hashPrime
}

func bucket(h uint32) uint32 {
	h ^= h >> 15
	h *= 0x2c1b3c6d
	h ^= h >> 12
	return h & (buckets - 1)
}

// longestWord cuts longer runs of letters, in characters.
const longestWord = 40

// ngrams visits the bucket of each n-gram of a text: words, pairs of words, and three characters of
// a word; in scripts without blanks, one to three characters. It ignores case and treats all digits
// alike.
func ngrams(text string, visit func(bucket uint32)) {
	var word [longestWord + 2]rune
	n := 0
	before := uint32(0)
	end := func() {
		if n == 0 {
			return
		}
		whole := uint32(hashStart)
		for _, r := range word[:n] {
			whole = hashRune(whole, r)
		}
		visit(bucket(whole))
		if before != 0 {
			visit(bucket(before*31 + whole))
		}
		before = whole
		if n > 3 {
			for i := -1; i+3 <= n+1; i++ {
				h := uint32(hashStart) ^ 0x55
				for k := i; k < i+3; k++ {
					h = hashRune(h, at(word[:n], k))
				}
				visit(bucket(h))
			}
		}
		n = 0
	}
	var dense [3]rune // the last characters of a script without blanks
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[i:])
		}
		i += size
		switch {
		case isDense(r):
			end()
			before = 0
			dense[0], dense[1], dense[2] = dense[1], dense[2], r
			h := uint32(hashStart) ^ 0xaa
			for k := 2; k >= 0 && dense[k] != 0; k-- {
				h = hashRune(h, dense[k])
				visit(bucket(h))
			}
			continue
		case r >= '0' && r <= '9':
			r = '0'
		case r < utf8.RuneSelf:
			if r >= 'A' && r <= 'Z' {
				r += 'a' - 'A'
			} else if r < 'a' || r > 'z' {
				r = 0
			}
		case unicode.IsLetter(r) || unicode.IsMark(r):
			r = unicode.ToLower(r)
		default:
			r = 0
		}
		dense = [3]rune{}
		if r == 0 {
			end()
			continue
		}
		if word[n] = r; n+1 == longestWord {
			n++
			end()
			continue
		}
		n++
	}
	end()
}

// at returns a character of a word, or "_" beyond its ends.
func at(word []rune, i int) rune {
	if i < 0 || i >= len(word) {
		return '_'
	}
	return word[i]
}

// isDense reports whether r's script has no blanks between words.
func isDense(r rune) bool {
	switch {
	case r < 0x0E00:
		return false
	case r <= 0x0EFF: // Thai, Lao
		return true
	case r >= 0x3040 && r <= 0x30FF, r >= 0x3400 && r <= 0x9FFF, r >= 0xF900 && r <= 0xFAFF, r >= 0x20000 && r <= 0x3FFFF:
		return true
	}
	return false
}
