package injection

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/memcore/memcore/internal/text/ngram"
)

// A class is a word's role in an order to a model.
type class uint

const (
	classDrop      class = iota // ignore, forget, override
	classOrders                 // instructions, prompt, rules
	classBefore                 // previous, above, all
	classSecret                 // password, key, token
	classPersonal               // birth date, address, bank balance
	classReveal                 // reveal, print, repeat
	classAnswer                 // answer, respond, output
	classOnly                   // only, exactly, nothing else
	classMachine                // assistant, AI, model
	classYou                    // you, your
	classUser                   // user, reader, customer
	classRole                   // pretend, act, role
	classFree                   // jailbroken, unrestricted, without filter
	classSend                   // send, upload, forward
	classSystem                 // system, developer, administrator
	classConceal                // do not tell, secretly
	classSuppose                // imagine, suppose, hypothetical
	classNow                    // now, instead, from now on
	classUrgent                 // important, urgent, attention
	classCode                   // encode, base64, rot13
	classGrant                  // access granted, denied
	classRun                    // execute, run, download, insert
	classSpell                  // backwards, letters, vowels
	classAllow                  // permission, agree, forbidden
	classPretext                // police, test, emergency, study
	classArt                    // song, poem, play
	classPay                    // transfer, account, money
	classKeep                   // remember, always, never again
	classFollowing              // the following code, below, this line
	classes
)

var classNames = [classes]string{"drop", "orders", "before", "secret", "personal", "reveal", "answer", "only", "machine", "you", "user", "role", "free",
	"send", "system", "conceal", "suppose", "now", "urgent", "code", "grant", "run",
	"spell", "allow", "pretext", "art", "pay", "keep", "following"}

// wordLists are the words of each class.
//
//go:embed words.txt
var wordLists string

// A lexicon maps words to classes.
type lexicon struct {
	whole   map[string]classSet // one word, or two with a blank
	stems   map[string]classSet
	dense   map[string]classSet // words in scripts without blanks
	twoWord map[string]bool     // first words of entries of two
}

type classSet uint32

func (s classSet) has(c class) bool { return s&(1<<c) != 0 }

// known returns the lexicon. Most processes do not need it.
var known = sync.OnceValue(func() *lexicon {
	l := &lexicon{whole: map[string]classSet{}, stems: map[string]classSet{}, dense: map[string]classSet{}, twoWord: map[string]bool{}}
	var is classSet
	for line := range strings.Lines(wordLists) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		if name, heads := strings.CutSuffix(line, ":"); heads {
			is = classSet(1) << slices.Index(classNames[:], name)
			continue
		}
		for word := range strings.SplitSeq(line, ",") {
			word = fold(strings.TrimSpace(word))
			first, _ := utf8.DecodeRuneInString(word)
			switch stem, isStem := strings.CutSuffix(word, "*"); {
			case word == "":
			case ngram.IsDense(first):
				l.dense[word] |= is
			case isStem:
				l.stems[stem] |= is
			default:
				l.whole[word] |= is
				if one, _, two := strings.Cut(word, " "); two {
					l.twoWord[one] = true
				}
			}
		}
	}
	return l
})

// Lengths of entries, in bytes.
const (
	minStem  = 3
	maxStem  = 48
	maxDense = 36
)

// of returns the classes of a folded word.
func (l *lexicon) of(word string) classSet {
	found := l.whole[word]
	for n := min(len(word), maxStem); n >= minStem; n-- {
		if n == len(word) || utf8.RuneStart(word[n]) {
			found |= l.stems[word[:n]]
		}
	}
	return found
}

// startOf returns the classes and the length of the longest entry at the start of a text in a
// script without blanks.
func (l *lexicon) startOf(text string) (classSet, int) {
	for n := min(len(text), maxDense); n >= minStem; n-- {
		if n == len(text) || utf8.RuneStart(text[n]) {
			if is := l.dense[text[:n]]; is != 0 {
				return is, n
			}
		}
	}
	return 0, 0
}
