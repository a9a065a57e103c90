// Package ngram has what the classifiers of words have in common: hashes of features, and scripts
// whose characters stand for words. Models are fitted to both, so a change asks for all of them anew.
package ngram

// Start and Prime are those of the FNV-1a hash of 32 bits.
const (
	Start = 2166136261
	Prime = 16777619
)

// Mix spreads a hash over its low bits, of which a classifier takes a few.
func Mix(h uint32) uint32 {
	h ^= h >> 15
	h *= 0x2c1b3c6d
	return h ^ h>>12
}

// IsDense reports whether r's script has no blanks between words.
func IsDense(r rune) bool {
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
