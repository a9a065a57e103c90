package core

import "strings"

// words is a text as the set of its words.
type words map[string]struct{}

func wordsOf(text string) words {
	w := words{}
	for _, word := range wordList(text) {
		w[word] = struct{}{}
	}
	return w
}

// wordList returns the words of a text in lower case, without the punctuation around them.
func wordList(text string) []string {
	all := strings.Fields(strings.ToLower(text))
	for i, word := range all {
		all[i] = strings.Trim(word, ".,;:!?*_`\"'()[]")
	}
	return all
}

// hasSentence reports whether a text has the words of a sentence in a row.
func hasSentence(text, sentence string) bool {
	text, sentence = strings.Join(wordList(text), " "), strings.Join(wordList(sentence), " ")
	if strings.ContainsFunc(sentence, unspaced) { // where sentences are written without spaces between them
		return strings.Contains(text, sentence)
	}
	return strings.Contains(" "+text+" ", " "+sentence+" ")
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

// within reports whether other has all words of w.
func (w words) within(other words) bool {
	for word := range w {
		if _, ok := other[word]; !ok {
			return false
		}
	}
	return true
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
