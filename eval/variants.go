package eval

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memcore/memcore/internal/text/lazy"
)

// A Variant is another way to say the same.
type Variant struct {
	Name   string
	Prompt string
}

// variants change a prompt, but not what it wants of memory. A function returns its argument where
// its change would be odd.
var variants = []struct {
	name string
	// orders are for requests in English of at least four words only.
	orders bool
	say    func(prompt, file string) string
}{
	{"please", true, func(p, _ string) string { return "please " + lowerFirst(p) }},
	{"can you", true, func(p, _ string) string { return "can you " + lowerFirst(withoutEnd(p)) + "?" }},
	{"ok", false, func(p, _ string) string { return "ok, " + lowerFirst(p) }},
	{variantCommit, true, func(p, _ string) string { return withoutEnd(p) + " and commit" }},
	{"thanks", false, func(p, _ string) string { return p + " thanks" }},
	{"capitals and full stop", false, func(p, _ string) string {
		if begin := lowerFirst(p); begin != p {
			return withoutEnd(begin)
		}
		return upperFirst(withoutEnd(p)) + "."
	}},
	{"file or quotes", false, func(p, file string) string {
		if file == "" {
			return `"` + p + `"`
		}
		return withoutEnd(p) + " (" + file + ")"
	}},
}

// variantCommit also asks for what was said about commits.
const variantCommit = "and commit"

var (
	asks = lazy.Regexp(`(?i)^(what|which|who|whom|whose|where|when|why|how|is|are|was|were|do|does|did|may|should)\b|\?\s*$`)
	// foreign are words by which a prompt in Latin letters is not English.
	foreign = lazy.Regexp(`(?i)(^|\s)(der|die|das|und|wie|wir|nicht|ist|ein|eine|für|bitte|el|la|los|las|que|qué|por|para|cómo|una|le|les|est|une)(\s|$)`)
)

// minOrderWords is the least length of an order that more can be added to: "commit" and "ok" become
// another prompt.
const minOrderWords = 4

// Variants returns a prompt in up to seven other ways. file is the name of a file that exists; ""
// is none.
func Variants(prompt, file string) []Variant {
	prompt = strings.TrimSpace(prompt)
	fits := len(strings.Fields(prompt)) >= minOrderWords && english(prompt) && !asks().MatchString(prompt)
	var all []Variant
	for _, v := range variants {
		if v.orders && !fits || v.name == "ok" && !english(prompt) {
			continue
		}
		if said := v.say(prompt, file); said != prompt {
			all = append(all, Variant{v.name, said})
		}
	}
	return all
}

func english(prompt string) bool {
	return !foreign().MatchString(prompt) && !strings.ContainsFunc(prompt, func(r rune) bool { return unicode.IsLetter(r) && r >= 0x250 })
}

// lowerFirst begins a prompt with a small letter, but not a name in capitals such as "SMS".
func lowerFirst(prompt string) string {
	first, size := utf8.DecodeRuneInString(prompt)
	second, _ := utf8.DecodeRuneInString(prompt[size:])
	if unicode.IsUpper(second) || !unicode.IsUpper(first) {
		return prompt
	}
	return string(unicode.ToLower(first)) + prompt[size:]
}

func upperFirst(prompt string) string {
	first, size := utf8.DecodeRuneInString(prompt)
	return string(unicode.ToUpper(first)) + prompt[size:]
}

func withoutEnd(prompt string) string { return strings.TrimRight(prompt, ".!?。！？ ") }

// sameAs reports whether a variant of a turn was given the same. "And commit" may add what was said
// about commits.
func (a AskedTurn) sameAs(original AskedTurn, variant string) bool {
	given := func(a AskedTurn) (hits, said []string) {
		for _, g := range a.Given {
			if g.Said {
				said = append(said, citation(g.Path, g.Lines))
			} else {
				hits = append(hits, citation(g.Path, g.Lines))
			}
		}
		slices.Sort(hits)
		slices.Sort(said)
		return hits, said
	}
	hits, said := given(a)
	wantHits, wantSaid := given(original)
	if variant == variantCommit {
		said = slices.DeleteFunc(said, func(s string) bool { return !slices.Contains(wantSaid, s) })
	}
	return slices.Equal(hits, wantHits) && slices.Equal(said, wantSaid)
}
