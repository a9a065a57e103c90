package secret

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"

	"github.com/memcore/memcore/internal/text/lazy"
)

// gitleaksRules are those of gitleaks 8.30.0, unchanged. Folder gitleaks has their licence (MIT);
// gitleaks.sh VERSION brings others.
//
//go:embed gitleaks/gitleaks.toml
var gitleaksRules string

// gitleaksFile is what memcore reads of the rules' file.
type gitleaksFile struct {
	Rules []struct {
		ID          string
		Path        string
		Regex       string
		SecretGroup int
		Entropy     float64
		Keywords    []string
		AllowList   *allowlist
		Allowlists  []allowlist
		SkipReport  bool
	}
	AllowList  *allowlist // for all rules
	Allowlists []allowlist
}

// An allowlist is an exception as the file has it.
type allowlist struct {
	Condition   string
	Commits     []string
	Paths       []string
	RegexTarget string
	Regexes     []string
	StopWords   []string
}

// exceptions returns the lists ready to be applied. Files have them in one of two forms.
func exceptions(one *allowlist, more []allowlist) (all []exception) {
	if one != nil {
		more = append([]allowlist{*one}, more...)
	}
	for _, a := range more {
		all = append(all, newException(a))
	}
	return all
}

// A rule finds secrets of one kind. It is compiled when a text has one of its keywords: to compile
// all takes longer than to search a prompt.
type rule struct {
	id       string
	keywords []string // in lower case; none: the rule is for all texts
	regex    func() *lazy.Expression
	group    int     // of regex, that is the secret; 0 is the first that is not empty
	entropy  float64 // a secret has more; 0 is no limit
	allowed  func() []exception
}

// An exception is what a rule finds, and is no secret.
type exception struct {
	target  string // what the expressions are for: "match", "line", or the secret
	regexes []*regexp.Regexp
	words   []string // in lower case, that are part of the secret
	all     bool     // an expression and a word must match
	files   bool     // something about files or commits must match as well
}

// A ruleSet has the rules of gitleaks and our own.
type ruleSet struct {
	all      []rule
	allowed  func() []exception // for all rules
	keywords finder
	named    map[string]bool // keywords of findNamed
}

// load reads the rules of gitleaks, and our own.
var load = sync.OnceValue(func() ruleSet {
	theirs, own := parseRules(gitleaksRules), parseRules(ownParts.Replace(ownRules))
	set := ruleSet{named: map[string]bool{}, allowed: sync.OnceValue(func() []exception { return exceptions(theirs.AllowList, theirs.Allowlists) })}
	for _, r := range append(theirs.Rules, own.Rules...) {
		if r.Regex == "" || r.Path != "" || r.SkipReport {
			continue // rules of file names, or parts of other rules
		}
		for i, k := range r.Keywords {
			r.Keywords[i] = strings.ToLower(k)
		}
		set.all = append(set.all, rule{id: r.ID, keywords: r.Keywords, regex: lazy.Regexp(r.Regex), group: r.SecretGroup, entropy: r.Entropy,
			allowed: sync.OnceValue(func() []exception { return exceptions(r.AllowList, r.Allowlists) })})
	}
	words := namedKeywords()
	for _, k := range words {
		set.named[k] = true
	}
	for _, r := range set.all {
		words = append(words, r.keywords...)
	}
	set.keywords = newFinder(words)
	return set
})

func parseRules(text string) (file gitleaksFile) {
	if err := toml.Unmarshal([]byte(text), &file); err != nil {
		panic(fmt.Sprintf("secret: rules: %v", err)) // the program contains them
	}
	return file
}

func newException(a allowlist) exception {
	e := exception{target: a.RegexTarget, all: strings.EqualFold(a.Condition, "and") || a.Condition == "&&", files: len(a.Commits)+len(a.Paths) > 0}
	for _, r := range a.Regexes {
		e.regexes = append(e.regexes, regexp.MustCompile(r))
	}
	for _, w := range a.StopWords {
		e.words = append(e.words, strings.ToLower(w))
	}
	return e
}

// applies reports whether what a rule found is no secret. What is about files never applies.
func (e exception) applies(secret, match, line string) bool {
	target := secret
	switch e.target {
	case "match":
		target = match
	case "line":
		target = line
	}
	lower := strings.ToLower(secret)
	byRegex := slices.ContainsFunc(e.regexes, func(r *regexp.Regexp) bool { return r.MatchString(target) })
	byWord := slices.ContainsFunc(e.words, func(w string) bool { return strings.Contains(lower, w) })
	if e.all {
		return !e.files && (byRegex || len(e.regexes) == 0) && (byWord || len(e.words) == 0)
	}
	return byRegex || byWord
}

// A finder finds words of two bytes or more, by their first two bytes.
type finder struct {
	places []uint16 // by the two bytes: one more than the place in words; 0 is none
	words  [][]string
}

func newFinder(words []string) finder {
	f := finder{places: make([]uint16, 1<<16)}
	slices.Sort(words)
	for _, w := range slices.Compact(words) {
		place := &f.places[int(w[0])<<8|int(w[1])]
		if *place == 0 {
			f.words = append(f.words, nil)
			*place = uint16(len(f.words))
		}
		f.words[*place-1] = append(f.words[*place-1], w)
	}
	return f
}

// find calls found with each word in a text, also with those within others, and where it begins.
func (f finder) find(text string, found func(at int, word string)) {
	for at := range max(len(text)-1, 0) {
		place := f.places[int(text[at])<<8|int(text[at+1])]
		if place == 0 {
			continue
		}
		for _, w := range f.words[place-1] {
			if strings.HasPrefix(text[at:], w) {
				found(at, w)
			}
		}
	}
}
