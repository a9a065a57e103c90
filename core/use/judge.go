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
	run       = 3.0 // runWords words one after the other
	ownFact   = 3.0 // a number, identifier or path of four characters or more that hardly any other chunk has
	otherFact = 2.0
	shortFact = 1.5 // one of two or three characters; a name
	weakFact  = 0.5 // a year, a number of one or two digits
	rareWord  = 0.8
	fewWord   = 0.5 // a rare word where there are few chunks, in which any word is rare, unless half of the hit's come back
	enough    = 2.5
)

const (
	fewChunks = 100
	// leastWords is how many rare words there have to be where half of them are enough.
	leastWords = 4
	// shortAnswer is up to how many telling words of an answer half of them may be one.
	shortAnswer = 2
	// runWords is how many words one after the other make a quotation.
	runWords = 5
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

// A written is what an agent wrote.
type written struct {
	own   wording // that it had from nowhere else
	after wording // that is not in the prompt or in the session before: the own one, and what a tool had returned
}

// A wording is the words of texts, and what stands one after the other in them.
type wording struct {
	words
	runs  map[string]bool
	stems map[string]bool // of its ordinary words, by stem
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

// has reports whether a word is in a wording; of one that is no fact another form will do.
func (w wording) has(word string, k kind) bool {
	_, ok := w.words[word]
	return ok || k != fact && w.stems[stem(word)]
}

// addNew adds what of another wording is in none of some.
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

// names reports whether a text has the path of a document, relative or absolute. Nothing has "".
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
	return n >= shortestWord && !common[word] && !everywhere[word] || n >= 3 && unspaced(r)
}

// A finding is what of a hit an agent has written.
type finding struct {
	worth float64
	named []string
}

// found says what of a hit's wording is in another one.
func (w wording) found(in wording, rare map[string]int, chunks int) finding {
	facts, others := map[string]float64{}, map[string]float64{}
	telling := 0 // ordinary words
	names := w.names()
	for word, k := range w.words {
		if k == ordinary && tells(word) {
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
		case tells(word):
			others[word] = rareWord
		}
	}
	share := float64(len(others)) / float64(max(telling, 1))
	half := share >= 0.5 && len(others) >= leastWords
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

// countTelling is how many words may tell something.
func (w wording) countTelling() (n int) {
	for word := range w.words {
		if tells(word) {
			n++
		}
	}
	return n
}

// quoted is a run of words that is in both, and says something that was not known; "" if there is none.
func (w wording) quoted(in wording, rare map[string]int) string {
	longest := ""
	for run := range w.runs {
		if !in.runs[run] {
			continue
		}
		news, telling := 0, 0 // words of it that were not known before
		for word := range strings.FieldsSeq(run) {
			if _, ok := in.words[word]; ok {
				news++
				if rare[word] > 0 {
					telling++
				}
			}
		}
		if news < 2 || telling < 2 {
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

// sum adds up what is worth something, and names the most telling of it.
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
