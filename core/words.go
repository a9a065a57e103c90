package core

import "strings"

// words is a text as the set of its words.
type words map[string]struct{}

func wordsOf(text string) words {
	w := words{}
	for _, word := range strings.Fields(strings.ToLower(text)) {
		w[strings.Trim(word, ".,;:!?*_`\"'()[]")] = struct{}{}
	}
	return w
}

// nearDuplicate is the least overlap of texts that say the same. Settings or steps that differ in
// one word are below.
const nearDuplicate = 0.92

// repeats returns the first text that w repeats, or -1.
func (w words) repeats(texts []words) int {
	for i, other := range texts {
		if w.overlap(other) >= nearDuplicate {
			return i
		}
	}
	return -1
}

// overlap is the Jaccard index, |a ∩ b| ÷ |a ∪ b|.
func (w words) overlap(other words) float64 {
	common := 0
	for word := range w {
		if _, ok := other[word]; ok {
			common++
		}
	}
	union := len(w) + len(other) - common
	if union == 0 {
		return 1
	}
	return float64(common) / float64(union)
}
