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

// An Answer is what an agent did, and knew before.
type Answer struct {
	// Before has the prompt and the session before it.
	Before []string
	// Steps are in order.
	Steps []Step
}

// A Step is something that an agent said, did or saw.
type Step struct {
	Said  string // to the person
	Call  string // arguments of a tool
	Shown string // what a tool returned; repeating it later proves nothing
}

// Known reports whether the agent did anything to judge by.
func (a Answer) Known() bool {
	return slices.ContainsFunc(a.Steps, func(s Step) bool { return s.Said != "" || s.Call != "" })
}

// An Index has the chunks of the workspace's memory.
type Index interface {
	// Texts returns a document's chunks by ID, if indexed.
	Texts(ctx context.Context, path string) (map[string]string, error)
	// Frequencies returns how many chunks hold each word, and all chunks.
	Frequencies(ctx context.Context, words []string) (holders []int, chunks int, err error)
}

// A Judge decides which hits of a turn were used.
type Judge struct {
	Index Index
	// Project and Home are what hits' paths are relative to.
	Project, Home string
}

// The worth of a hit's word that the agent wrote and knew from nowhere else. The hit was used if it
// reaches enough.
const (
	run       = 3.0 // a quotation of runWords words
	ownFact   = 3.0 // a number, identifier or path of four or more characters, in at most two chunks
	otherFact = 2.0
	shortFact = 1.5 // one of two or three characters; a name
	weakFact  = 0.5 // a year, a number of one or two digits
	rareWord  = 0.8
	fewWord   = 0.5 // a rare word among few chunks, where all words are rare
	enough    = 2.5
)

const (
	fewChunks = 100
	// With minWords rare words or more, half of them suffice.
	minWords = 4
	// In an answer of at most shortAnswer telling words, one suffices.
	shortAnswer = 2
	// runWords is the length of a quotation.
	runWords = 5
	// shareOfWords is the least share of a hit's ordinary words: a long answer has some words of
	// everything.
	shareOfWords = 0.3
	minWord      = 5 // letters of an ordinary word that counts
	shownWords   = 4 // in a reason
)

// Hits returns verdicts on a turn's hits; Unknown without an answer.
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
			h.Used, h.Why = Yes, clean(how, maxWhy)
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
		h.Why = clean(h.Why, maxWhy)
	}
	return hits, nil
}

const maxWhy = 200

// written is what an agent wrote.
type written struct {
	own   wording // and knew from nowhere else
	after wording // and did not know before the turn; a tool may have shown it
}

// A wording is the words and runs of some texts.
type wording struct {
	words
	runs  map[string]bool
	stems map[string]bool // of the ordinary words
}

func newWording() wording {
	return wording{words: words{}, runs: map[string]bool{}, stems: map[string]bool{}}
}

func (w wording) add(text string) {
	fresh := words{}
	fresh.add(text)
	for word, k := range fresh {
		w.one(word, k)
		if k != fact {
			w.stems[stem(word)] = true
		}
	}
	for run := range runsOf(text) {
		w.runs[run] = true
	}
}

// has also finds other forms, but not of facts.
func (w wording) has(word string, k kind) bool {
	_, ok := w.words[word]
	return ok || k != fact && w.stems[stem(word)]
}

// addNew adds what the known wordings lack.
func (w wording) addNew(other wording, known ...wording) {
	for word, k := range other.words {
		if !slices.ContainsFunc(known, func(n wording) bool { return n.has(word, k) }) {
			w.one(word, k)
		}
	}
	for run := range other.runs {
		if !slices.ContainsFunc(known, func(n wording) bool { return n.runs[run] }) {
			w.runs[run] = true
		}
	}
}

func (j Judge) writtenIn(a Answer) written {
	w := written{own: newWording(), after: newWording()}
	before, shown := newWording(), newWording()
	for _, text := range a.Before {
		before.add(j.within(text))
	}
	for _, s := range a.Steps {
		said := newWording()
		said.add(j.within(s.Said))
		said.add(j.within(s.Call))
		w.after.addNew(said, before)
		w.own.addNew(said, before, shown)
		shown.add(j.within(s.Shown))
	}
	return w
}

// within removes the project's path, which is not text.
func (j Judge) within(text string) string {
	if j.Project == "" {
		return text
	}
	return strings.ReplaceAll(text, j.Project, "")
}

// touched returns a reason if the agent's call first named a document.
func (j Judge) touched(path string, a Answer) string {
	if slices.ContainsFunc(a.Before, func(text string) bool { return j.names(text, path) }) {
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

// names finds a document's path, relative or absolute.
func (j Judge) names(text, path string) bool {
	if path == "" {
		return false
	}
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

// continues reports whether a path may go on there.
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
	of := newWording()
	of.add(j.within(text))
	candidates := of.telling(w.after.words)
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

// telling returns the words among others that show use.
func (w words) telling(among words) []string {
	var all []string
	for word, k := range w {
		if _, ok := among[word]; ok && (k != ordinary || isTelling(word)) {
			all = append(all, word)
		}
	}
	slices.Sort(all)
	return all
}

// isTelling reports whether an ordinary word can show use.
func isTelling(word string) bool {
	n := utf8.RuneCountInString(word)
	r, _ := utf8.DecodeRuneInString(word)
	return n >= minWord && !common[word] && !everywhere[word] || n >= 3 && unspaced(r)
}

// A finding is a hit's part in an agent's words.
type finding struct {
	worth float64
	named []string
}

// found scores what w shares with another wording.
func (w wording) found(in wording, rare map[string]int, chunks int) finding {
	facts, others := map[string]float64{}, map[string]float64{}
	telling := 0 // ordinary words
	names := w.names()
	for word, k := range w.words {
		if k == ordinary && isTelling(word) {
			telling++
		}
		written, ok := in.words[word]
		n, isRare := rare[word]
		if !ok || !isRare || w.partOf(word, in.words) {
			continue
		}
		switch {
		case k == fact && isCommonNumber(word):
			facts[word] = weakFact
		case k == fact && utf8.RuneCountInString(word) < 4:
			facts[word] = shortFact
		case k == fact && n <= 2:
			facts[word] = ownFact
		case k == fact:
			facts[word] = otherFact
		case k == name && written == name && names:
			facts[word] = shortFact
		case isTelling(word):
			others[word] = rareWord
		}
	}
	share := float64(len(others)) / float64(max(telling, 1))
	half := share >= 0.5 && len(others) >= minWords
	if wrote := in.countTelling(); len(others) > 0 && 2*len(others) >= wrote && (len(others) > 1 || wrote <= shortAnswer) {
		share = 1
		for word := range others {
			others[word] = enough / float64(min(len(others), 2))
		}
	} else if chunks < fewChunks && !half {
		for word := range others {
			others[word] = fewWord
		}
	}
	if share >= shareOfWords {
		maps.Copy(facts, others)
	}
	if quoted := w.quoted(in, rare); quoted != "" {
		facts[quoted] = run
	}
	return sum(facts)
}

func (w wording) countTelling() (n int) {
	for word := range w.words {
		if isTelling(word) {
			n++
		}
	}
	return n
}

// quoted returns the longest common run with rare words.
func (w wording) quoted(in wording, rare map[string]int) string {
	longest := ""
	for run := range w.runs {
		if !in.runs[run] {
			continue
		}
		fresh, telling := 0, 0 // words that were not known before, and those of them that are rare
		for word := range strings.FieldsSeq(run) {
			if _, ok := in.words[word]; ok {
				fresh++
				if rare[word] > 0 {
					telling++
				}
			}
		}
		if fresh < 2 || telling < 2 {
			continue
		}
		if len(run) > len(longest) || len(run) == len(longest) && run < longest {
			longest = run
		}
	}
	if longest == "" {
		return ""
	}
	return "“" + longest + "”"
}

// sum adds up words' worth and names the best.
func sum(worth map[string]float64) (f finding) {
	for _, v := range worth {
		f.worth += v
	}
	f.named = slices.SortedFunc(maps.Keys(worth), func(a, b string) int {
		return cmp.Or(cmp.Compare(worth[b], worth[a]), cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	f.named = f.named[:min(len(f.named), shownWords)]
	return f
}

// partOf finds a longer word with it in both.
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

// names reports whether capitals mark names, unlike in German or titles.
func (w words) names() bool {
	capitals := 0
	for _, k := range w {
		if k == name {
			capitals++
		}
	}
	return capitals*5 <= len(w)
}
