package injection

import (
	"hash/fnv"
	"strings"
	"unicode"
)

const (
	shingle = 6  // characters, without blanks and marks
	hashes  = 48 // of a signature
	band    = 4  // equal hashes that make two texts candidates
	alike   = 0.5
)

// Group groups near duplicates (minhash of shingles of six characters, half of them shared), and
// attacks with the documents around them.
func Group(texts []*Text) {
	type known struct {
		text      int
		signature [hashes]uint32
	}
	parent := make([]int, len(texts))
	for i := range parent {
		parent[i] = i
	}
	root := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	var all []known
	add := func(i int, text string) {
		if signature, ok := signatureOf(text); ok {
			all = append(all, known{i, signature})
		}
	}
	for i, t := range texts {
		if t.Kind != Buried {
			add(i, t.Text)
			continue
		}
		for _, s := range t.Spans { // many attacks share one document
			add(i, t.Text[s[0]:s[1]])
		}
	}
	for b := 0; b < hashes; b += band {
		buckets := map[[band]uint32][]int{}
		for k := range all {
			key := [band]uint32(all[k].signature[b : b+band])
			for _, other := range buckets[key][:min(len(buckets[key]), 8)] {
				if similarity(&all[k].signature, &all[other].signature) >= alike {
					parent[root(all[k].text)] = root(all[other].text)
				}
			}
			buckets[key] = append(buckets[key], k)
		}
	}
	for i, t := range texts {
		t.group = root(i)
	}
}

func signatureOf(text string) (signature [hashes]uint32, ok bool) {
	var runes []rune
	for _, r := range strings.ToLower(text) {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			runes = append(runes, r)
		}
	}
	for i := range signature {
		signature[i] = ^uint32(0)
	}
	if len(runes) == 0 {
		return signature, false
	}
	h := fnv.New64a()
	for i := 0; i == 0 || i+shingle <= len(runes); i++ {
		h.Reset()
		h.Write([]byte(string(runes[i:min(i+shingle, len(runes))])))
		sum := h.Sum64()
		for k := range signature {
			mixed := (sum + uint64(k)*0x9E3779B97F4A7C15) * 0xBF58476D1CE4E5B9
			if v := uint32((mixed ^ mixed>>29) >> 16); v < signature[k] {
				signature[k] = v
			}
		}
	}
	return signature, true
}

func similarity(a, b *[hashes]uint32) float64 {
	same := 0
	for i := range a {
		if a[i] == b[i] {
			same++
		}
	}
	return float64(same) / hashes
}
