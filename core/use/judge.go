package use

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// An Answer is what followed a prompt, and what the agent knew before.
type Answer struct {
	// Before are texts that the agent had: the prompt, and of the session before it what was said
	// and what tools returned.
	Before []string
	// Steps are what the agent did, in order.
	Steps []Step
}

// A Step is something an agent said, did or was told.
type Step struct {
	Said  string // to the person
	Call  string // arguments of a tool
	Shown string // what a tool returned: known from then on, whatever memory says
}

// Known reports whether there is anything to judge by.
func (a Answer) Known() bool {
	return slices.ContainsFunc(a.Steps, func(s Step) bool { return s.Said != "" || s.Call != "" })
}

// An Index is what a Judge asks about the workspace's memory.
type Index interface {
	// Texts returns the chunks of a document by ID; none if it is not in the index.
	Texts(ctx context.Context, path string) (map[string]string, error)
	// Frequencies returns in how many chunks each word is, and how many chunks there are.
	Frequencies(ctx context.Context, words []string) (holders []int, chunks int, err error)
}

// A Judge decides which hits of a turn were used.
type Judge struct {
	Index Index
	// Project and Home are absolute: paths of hits are relative to the project, or "~/…".
	Project, Home string
}

// What a word of a hit is worth that the agent has written and had from nowhere else. It takes
// enough of that to call a hit used.
const (
	ownFact   = 3.0 // a number, identifier or path of four characters or more that hardly any other chunk has
	otherFact = 2.0
	shortFact = 1.5 // one of two or three characters; a name
	year      = 1.0
	rareWord  = 1.0
	fewWord   = 0.5 // a rare word where there are few chunks, in which any word is rare
	enough    = 2.5
)

const (
	fewChunks = 100
	// shareOfWords is how much of a hit's rare words has to come back before any of them counts: a
	// long answer has some words of everything.
	shareOfWords = 0.3
	// shortestWord is from how many letters on an ordinary word counts.
	shortestWord = 5
	// shownWords is how many words a reason names.
	shownWords = 4
)

// Hits returns the hits of a turn with their verdicts. Without an answer there is nothing to judge,
// and all are unknown.
func (j Judge) Hits(ctx context.Context, t Turn, a Answer) ([]Hit, error) {
	hits := slices.Clone(t.Hits)
	if !a.Known() {
		for i := range hits {
			hits[i].Used, hits[i].Why = Unknown, "no answer was seen"
		}
		return hits, nil
	}
	w := j.writtenIn(a)
	texts := map[string]map[string]string{}
	for i := range hits {
		h := &hits[i]
		if how := j.touched(h.Path, a); how != "" {
			h.Used, h.Why = Yes, clean(how, longestWhy)
			continue
		}
		if texts[h.Path] == nil {
			found, err := j.Index.Texts(ctx, h.Path)
			if err != nil {
				return nil, fmt.Errorf("judge the use of %s: %w", h.Source, err)
			}
			texts[h.Path] = found
		}
		text, ok := texts[h.Path][h.ID]
		if !ok {
			h.Used, h.Why = Unknown, "it is no longer in the index"
			continue
		}
		var err error
		if h.Used, h.Why, err = j.words(ctx, text, w); err != nil {
			return nil, fmt.Errorf("judge the use of %s: %w", h.Source, err)
		}
		h.Why = clean(h.Why, longestWhy)
	}
	return hits, nil
}

// longestWhy is how long a reason may be, in bytes.
const longestWhy = 200

// A written is the words that an agent wrote.
type written struct {
	own   words // that it had from nowhere else
	after words // that are not in the prompt or in the session before: the own ones, and those that a tool had returned
	all   words
}

func (j Judge) writtenIn(a Answer) written {
	w := written{own: words{}, after: words{}, all: words{}}
	before, shown := words{}, words{}
	for _, text := range a.Before {
		before.add(j.within(text))
	}
	for _, s := range a.Steps {
		said := words{}
		said.add(j.within(s.Said))
		said.add(j.within(s.Call))
		for word, k := range said {
			w.all.one(word, k)
			if _, known := before[word]; known {
				continue
			}
			w.after.one(word, k)
			if _, known := shown[word]; !known {
				w.own.one(word, k)
			}
		}
		shown.add(j.within(s.Shown))
	}
	return w
}

// within is a text without the path of the project, whose name would be taken for a word.
func (j Judge) within(text string) string {
	if j.Project == "" {
		return text
	}
	return strings.ReplaceAll(text, j.Project, "")
}

// touched says how a tool was used on a document; "" if none was, or if the prompt or the session
// before named the document.
func (j Judge) touched(path string, a Answer) string {
	if path == "" || slices.ContainsFunc(a.Before, func(text string) bool { return j.names(text, path) }) {
		return ""
	}
	for _, s := range a.Steps {
		if j.names(s.Call, path) {
			return "file " + path + " of it was touched"
		}
		if j.names(s.Shown, path) {
			return "" // a search has found it
		}
	}
	return ""
}

// names reports whether a text has the path of a document, relative or absolute.
func (j Judge) names(text, path string) bool {
	text = strings.ReplaceAll(strings.ReplaceAll(text, `\\`, "/"), `\`, "/")
	full := path
	if rest, ok := strings.CutPrefix(path, "~/"); ok && j.Home != "" {
		full = strings.TrimSuffix(j.Home, "/") + "/" + rest
	} else if !ok && !strings.HasPrefix(path, "/") && j.Project != "" {
		full = strings.TrimSuffix(j.Project, "/") + "/" + path
	}
	for _, name := range []string{path, "./" + path, full} {
		for rest := text; ; {
			before, after, found := strings.Cut(rest, name)
			if !found {
				break
			}
			if !continues(before, true) && !continues(after, false) {
				return true
			}
			rest = after
		}
	}
	return false
}

// continues reports whether a path goes on at the end of a text, or at its start.
func continues(text string, atEnd bool) bool {
	r, _ := utf8.DecodeRuneInString(text)
	if atEnd {
		r, _ = utf8.DecodeLastRuneInString(text)
	}
	if text == "" {
		return false
	}
	if !atEnd && r == '.' { // the end of a sentence, or an extension
		next, size := utf8.DecodeRuneInString(text[1:])
		return size > 0 && inWord(next)
	}
	return inWord(r) || strings.ContainsRune("/-_~.", r)
}

// words judges a hit by its words.
func (j Judge) words(ctx context.Context, text string, w written) (Verdict, string, error) {
	of := words{}
	of.add(j.within(text))
	candidates := of.telling(w.all)
	holders, chunks, err := j.Index.Frequencies(ctx, candidates)
	if err != nil {
		return "", "", err
	}
	rare := map[string]int{} // chunks that have it
	for i, word := range candidates {
		if n := holders[i]; n > 0 && n <= max(2, chunks/50) {
			rare[word] = n
		}
	}
	if found := of.found(w.own, rare, chunks); found.worth >= enough {
		return Yes, "names " + strings.Join(found.named, ", ") + " of it", nil
	}
	if found := of.found(w.after, rare, chunks); found.worth >= enough {
		return Unknown, "a tool had shown " + strings.Join(found.named, ", ") + " before", nil
	}
	return No, "", nil
}

// telling are the words that may tell something and are among others.
func (w words) telling(among words) []string {
	var all []string
	for word, k := range w {
		if _, ok := among[word]; ok && (k != ordinary || tells(word)) {
			all = append(all, word)
		}
	}
	slices.Sort(all)
	return all
}

// tells reports whether an ordinary word may tell something.
func tells(word string) bool {
	n := utf8.RuneCountInString(word)
	r, _ := utf8.DecodeRuneInString(word)
	return n >= shortestWord && !common[word] || n >= 3 && unspaced(r)
}

// A finding is what of a hit an agent has written.
type finding struct {
	worth float64
	named []string
}

// found says what of the words of a hit is among others.
func (w words) found(among words, rare map[string]int, chunks int) finding {
	worth := map[string]float64{}
	ordinaryWords, back := 0, 0
	names := w.names()
	for word, k := range w {
		if k == ordinary && tells(word) {
			ordinaryWords++
		}
		written, ok := among[word]
		n, isRare := rare[word]
		if !ok || !isRare || w.partOf(word, among) {
			continue
		}
		switch {
		case k == fact && isYear(word):
			worth[word] = year
		case k == fact && utf8.RuneCountInString(word) < 4:
			worth[word] = shortFact
		case k == fact && n <= 2:
			worth[word] = ownFact
		case k == fact:
			worth[word] = otherFact
		case k == name && written == name && names:
			worth[word] = shortFact
		case tells(word):
			back++
			worth[word] = rareWord
			if chunks < fewChunks {
				worth[word] = fewWord
			}
		}
	}
	if float64(back) < shareOfWords*float64(ordinaryWords) {
		maps.DeleteFunc(worth, func(word string, _ float64) bool {
			return w[word] == ordinary || worth[word] <= rareWord && w[word] == name
		})
	}
	var f finding
	for _, v := range worth {
		f.worth += v
	}
	f.named = slices.SortedFunc(maps.Keys(worth), func(a, b string) int {
		return cmp.Or(cmp.Compare(worth[b], worth[a]), cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	f.named = f.named[:min(len(f.named), shownWords)]
	return f
}

// partOf reports whether a word is a part of another that counts for both: it says nothing more.
func (w words) partOf(word string, among words) bool {
	for other := range w {
		if len(other) > len(word) && strings.ContainsAny(other, connectors) && strings.Contains(other, word) {
			if _, ok := among[other]; ok && hasPart(other, word) {
				return true
			}
		}
	}
	return false
}

func hasPart(word, part string) bool {
	at := strings.Index(word, part)
	before, after := word[:at], word[at+len(part):]
	ends := func(r rune, size int) bool { return size == 0 || strings.ContainsRune(connectors, r) }
	return ends(utf8.DecodeLastRuneInString(before)) && ends(utf8.DecodeRuneInString(after))
}

// names reports whether a capital says that a word is a name: not where many words have one, as
// German nouns and titles do.
func (w words) names() bool {
	capitals := 0
	for _, k := range w {
		if k == name {
			capitals++
		}
	}
	return capitals*5 <= len(w)
}
