package digest

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/memcore/memcore/internal/text/lazy"
	"github.com/memcore/memcore/internal/text/stated"
)

// A Claim is a text taken apart into what it says of what, to tell whether a later one says
// otherwise. Make it with ClaimOf.
type Claim struct {
	said    []assertion
	changes bool    // it says that something is so from now on, or no longer
	tokens  []token // of all that is said
}

// An assertion is what one clause says: the words that tell, without articles, auxiliaries and
// verbs that only assign, such as "use" and "runs on".
type assertion struct {
	is      []token // what is so
	isNot   []token // what is not so, or no longer
	subject []token // what is so, without values
	// skeleton has all words but marks of change, for clauses that differ in one place alone.
	skeleton  []string
	withdrawn bool // isNot need not be heeded any more: "forget about X"
	freed     bool // is need not be avoided any more: "X is fine again"
}

// A token is a word that tells, or a value: a number or a day.
type token struct {
	text string
	// value is what a value measures: its unit, "day", or "number"; "" for a word.
	value string
	// slot is how the token is joined to what stands before it: "=" after "is", "in" after "at"
	// and the like; "" at the beginning, or after a word that tells.
	slot string
	// instead means that something else is so in its place: Y of "X, not Y" and "X instead of Y".
	instead bool
}

// Marks that phrases are replaced by.
const (
	markNow  = "\x00now"
	markNot  = "\x00not"
	markThan = "\x00than" // of "X rather than Y"
	markFrom = "\x00from" // of "from X to Y"
	// of "forget about X" and of "X is fine again"
	markForget = "\x00forget"
	markAgain  = "\x00again"
)

// maxClaim bounds the words of a text that are taken apart.
const maxClaim = 80

// ClaimOf takes a sentence or two apart.
func ClaimOf(text string) (c Claim) {
	for _, words := range clausesOfWords(wordsOfClaim(text)) {
		if slices.Contains(words, markNow) {
			c.changes = true
		}
		if one := assertionOf(words); len(one.is)+len(one.isNot) > 0 {
			one.subject = subjectOf(one.is)
			c.said = append(c.said, one)
			c.tokens = append(append(c.tokens, one.is...), one.isNot...)
		}
	}
	return c
}

// Replaces reports whether a claim supersedes an earlier one, or says it again with the same words,
// more or fewer of them.
func (c Claim) Replaces(earlier Claim) bool { return c.Supersedes(earlier) || c.restates(earlier) }

func (c Claim) restates(earlier Claim) bool {
	shared, fresh, left := compare(c.tokens, earlier.tokens)
	return min(fresh, left) == 0 && shared > max(fresh, left)
}

// Supersedes reports whether a claim says otherwise than an earlier one on the same subject. It
// does so only where the words show it: another value in the same place; "X, not Y" and the like,
// of an earlier Y; "no longer", of all that was said. That two rules are about one thing is not
// enough: most add to each other.
func (c Claim) Supersedes(earlier Claim) bool {
	for _, now := range c.said {
		for _, before := range earlier.said {
			if c.revalues(now, before) || c.rejects(now, before) || c.substitutes(now, before) || c.turns(now, before) || now.withdraws(before) {
				return true
			}
		}
	}
	return false
}

// revalues: "the preview server runs on 3044", "from now on the preview server on 3055". What is
// said of a subject with one word more is of another subject.
func (c Claim) revalues(now, before assertion) bool {
	for _, value := range now.is {
		if value.value == "" || count(now.is, value.value) != 1 || count(before.is, value.value) != 1 {
			continue
		}
		old := before.is[slices.IndexFunc(before.is, func(t token) bool { return t.value == value.value })]
		shared, fresh, left := compare(now.subject, before.subject)
		switch {
		case old.text == value.text || shared == 0 || fresh > 0:
		case left == 0, c.changes && shared > 1 && left <= shared:
			return true
		}
	}
	return false
}

// rejects: "use tofu, not terraform" of "we deploy with terraform". What is rejected has to be,
// with what both name, half of what was said: "the state of terraform is in that bucket" stays so.
// What the later one names besides is what holds instead: one phrase. A number alone is on no
// subject.
func (c Claim) rejects(now, before assertion) bool {
	found, words := 0, 0
	for _, t := range now.isNot {
		if t.instead && holds(before.is, t) {
			found++
			if t.value == "" {
				words++
			}
		}
	}
	if found == 0 {
		return false
	}
	shared, fresh, left := compare(now.is, before.is)
	subject, _, _ := compare(now.subject, before.subject)
	return words+subject > 0 && fresh > 0 && !holdsAny(before.isNot, now.isNot) &&
		(left == found || oneSpan(now.is, before.is, 3) && 2*(shared+found) >= len(before.is))
}

// substitutes: "the default branch is main", "the default branch is trunk now". Without a word of
// change both have to be the same but for one phrase after a verb that assigns.
func (c Claim) substitutes(now, before assertion) bool {
	if len(now.isNot) > 0 && !c.changes || len(before.isNot) > 0 {
		return false
	}
	shared, fresh, left := compare(now.is, before.is)
	if shared == 0 || fresh == 0 || left == 0 || !oneSpan(now.is, before.is, 2) || !oneSpan(before.is, now.is, 2) {
		return false
	}
	value, old := now.is[firstOnly(now.is, before.is)], before.is[firstOnly(before.is, now.is)]
	if value.value != old.value {
		return false
	}
	if !c.changes {
		return value.slot != "" && value.slot == old.slot && sameButOne(now.skeleton, before.skeleton)
	}
	if value.slot != "" { // or "use X for Y", "Y is Z from now on"
		return value.slot == old.slot || value.slot == "=" && old.slot == "" && shared > 1 && holds(before.is[:1], old)
	}
	// "Ben reviews it now, Anna is on leave": the one who did is named as well.
	return old.slot == "" && slices.ContainsFunc(c.said, func(other assertion) bool { return holds(other.is, old) })
}

// turns: "don't squash anymore when you merge" of "always squash before you merge", and the other
// way round.
func (c Claim) turns(now, before assertion) bool {
	if !c.changes {
		return false
	}
	all := func(some, within, others []token) bool {
		return len(some) > 0 && len(others) == 0 && !slices.ContainsFunc(some, func(t token) bool { return !holds(within, t) })
	}
	_, fresh, _ := compare(now.is, before.isNot)
	return len(before.is) > 1 && all(before.is, now.isNot, before.isNot) || fresh == 0 && all(before.isNot, now.is, before.is)
}

// withdraws: "forget about the changelog" of "update the changelog with each fix", and "pushing to
// main is fine again" of "never push to main". The later clause has to name a third of the words of
// the earlier one, and no others.
func (now assertion) withdraws(before assertion) bool {
	what := now.isNot
	switch {
	case now.freed && len(before.isNot) > 0:
		what = now.is
	case !now.withdrawn:
		return false
	}
	shared, fresh, left := compare(what, slices.Concat(before.is, before.isNot))
	return shared > 0 && fresh == 0 && 2*shared >= left
}

// withdrawing matches sentences that may take something back, so that ClaimOf takes few apart.
var withdrawing = lazy.Regexp(`(?i)\b(?:forget|never mind|again|vergiss|wieder|olvida|olvídate|oublie|otra vez|de nouveau)\b`)

// withdraws reports whether a sentence takes back what was said.
func withdraws(sentence string) bool {
	return withdrawing().MatchString(sentence) && !isQuestion(sentence) && ClaimOf(sentence).Withdraws()
}

// Withdraws reports whether a claim takes back what was said of something, without saying what
// holds instead.
func (c Claim) Withdraws() bool {
	return slices.ContainsFunc(c.said, func(a assertion) bool { return a.withdrawn && len(a.isNot) > 0 || a.freed && len(a.is) > 1 })
}

// sameButOne reports whether word lists are equal outside of one stretch of at most two words.
func sameButOne(a, b []string) bool {
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return max(len(a), len(b))-head-tail <= 2 && min(len(a), len(b)) > head+tail
}

func count(all []token, value string) (n int) {
	for _, t := range all {
		if t.value == value {
			n++
		}
	}
	return n
}

// subjectOf returns the tokens that are no values.
func subjectOf(all []token) (words []token) {
	for _, t := range all {
		if t.value == "" {
			words = append(words, t)
		}
	}
	return words
}

// compare counts the tokens of a that b has, those that only a has, and those that only b has.
func compare(a, b []token) (shared, onlyA, onlyB int) {
	for _, t := range a {
		if holds(b, t) {
			shared++
		} else {
			onlyA++
		}
	}
	for _, t := range b {
		if !holds(a, t) {
			onlyB++
		}
	}
	return shared, onlyA, onlyB
}

func holds(all []token, t token) bool {
	return slices.ContainsFunc(all, func(o token) bool { return o.value == t.value && sameWord(o.text, t.text) })
}

func holdsAny(all, some []token) bool {
	return slices.ContainsFunc(some, func(t token) bool { return holds(all, t) })
}

// firstOnly returns the first token that others lack, or -1.
func firstOnly(all, others []token) int {
	return slices.IndexFunc(all, func(t token) bool { return !holds(others, t) })
}

// oneSpan reports whether the tokens that others lack stand together, and are at most max.
func oneSpan(all, others []token, max int) bool {
	from := firstOnly(all, others)
	if from < 0 {
		return true
	}
	to := from
	for to < len(all) && !holds(others, all[to]) {
		to++
	}
	return to-from <= max && firstOnly(all[to:], others) < 0
}

// sameWord also takes a plural, another ending of two letters, "ing", and what is in a folder for
// it.
func sameWord(a, b string) bool {
	if len(a) > 0 && len(b) > 0 && a[0] != b[0] { // as most are: each statement is compared with all newer ones
		return false
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	return a == b || strings.HasSuffix(a, "/") && strings.HasPrefix(b, a) || len(a) >= 4 && (len(b)-len(a) <= 2 || b[len(a):] == "ing") && strings.HasPrefix(b, a) && !unicode.IsDigit(rune(a[0]))
}

// wordsOfClaim returns the words of a text in lower case, with marks for phrases of change and of
// denial, and ",", ":" or "." where a clause ends.
func wordsOfClaim(text string) (words []string) {
	if text = strings.ToLower(text); !isASCII(text) {
		text = hanPhrases.Replace(stated.Straight(text))
	}
	for field := range strings.FieldsSeq(text) {
		word := strings.Trim(field, "\"'`*_()[]“”«»„ ")
		bare := strings.TrimRight(word, ".,;:!?？")
		if bare = strings.Trim(bare, "\"'`*_()[]"); bare != "" && (strings.ContainsFunc(bare, isWordly) || bare[0] == 0) {
			words = append(words, bare)
		}
		switch end := word[len(strings.TrimRight(word, ".,;:!?？")):]; {
		case end == "." && isNumeral(bare): // an ordinal
		case strings.ContainsAny(end, "?？"): // a question claims nothing
			words = words[:lastIndex(words, ".")+1]
		case strings.ContainsAny(end, ".!"):
			words = append(words, ".")
		case strings.Contains(end, ":"):
			words = append(words, ":")
		case end != "", strings.Trim(bare, "-–—") == "":
			words = append(words, ",")
		}
		if len(words) >= maxClaim {
			break
		}
	}
	return withMarks(words)
}

func lastIndex(words []string, word string) int {
	for i, w := range slices.Backward(words) {
		if w == word {
			return i
		}
	}
	return -1
}

func isWordly(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// withMarks replaces phrases by marks.
func withMarks(words []string) (marked []string) {
	for i := 0; i < len(words); {
		next := i + 1
		as := []string{words[i]}
		for _, p := range claimPhrases()[words[i]] {
			if n := len(p.words); i+n <= len(words) && slices.Equal(words[i:i+n], p.words) && n >= next-i {
				as, next = p.marks, i+n
			}
		}
		if words[i] == "from" && slices.Contains(words[i:min(i+4, len(words))], "to") {
			as = []string{markFrom}
		}
		marked, i = append(marked, as...), next
	}
	return marked
}

// clausesOfWords parts words at commas and conjunctions. What is not so stays with what is so
// instead.
func clausesOfWords(words []string) (all [][]string) {
	var last []string
	for i, word := range words {
		if word == ":" && i+1 < len(words) && isNumeral(words[i+1]) { // "preview: 3044"
			continue
		}
		isEnd := word == "," || word == "." || word == ":" || joining()[word]
		if !isEnd {
			last = append(last, word)
			continue
		}
		if word == "," && i+1 < len(words) && words[i+1] == markNot && len(last) > 0 {
			last = append(last, markThan)
			continue
		}
		if len(last) > 0 {
			all, last = append(all, last), nil
		}
	}
	if len(last) > 0 {
		all = append(all, last)
	}
	return all
}

// maxRejected is how many tokens a denial is about.
const maxRejected = 2

// maxWithdrawn is how many tokens a withdrawal is about.
const maxWithdrawn = 4

func assertionOf(words []string) (c assertion) {
	slot, denied, from, contrast := "", 0, false, false
	for i := 0; i < len(words); i++ {
		word := words[i]
		switch word {
		case markNow:
			continue
		case markThan:
			contrast = len(c.is) > 0
			continue
		case markNot:
			if i == 0 || words[i-1] != markThan {
				contrast = false
			}
			denied, slot = maxRejected, ""
			c.skeleton = append(c.skeleton, word)
			continue
		case markFrom:
			from = true
			continue
		case markForget: // not in "don't forget about X", nor in "I forget about X"
			c.withdrawn = !slices.ContainsFunc(words[:i], func(w string) bool { return !leading()[w] })
			if denied = 0; c.withdrawn {
				denied = maxWithdrawn
			}
			continue
		case markAgain:
			c.freed = true
			continue
		}
		c.skeleton = append(c.skeleton, word)
		if from && word == "to" {
			from = false
		}
		if as, ok := slots()[word]; ok {
			if slot = as; denied == 1 && !c.withdrawn { // what follows is of the subject again
				denied = 0
			}
			continue
		}
		if auxiliary()[word] {
			continue
		}
		t := token{text: word, slot: slot}
		switch {
		case isDay(word):
			t.value, t.text = "day", strings.TrimSuffix(word, "s")
		case isNumeral(word):
			t.text, t.value = numeral(word)
			if i+1 < len(words) && t.value == number && isUnit(words[i+1]) {
				i++
				t.value = strings.TrimSuffix(words[i], "s")
				c.skeleton = append(c.skeleton, words[i])
			}
		}
		switch slot = ""; {
		case denied > 0:
			t.instead = contrast
			c.isNot = append(c.isNot, t)
			denied--
		case from:
			t.instead = true
			c.isNot = append(c.isNot, t)
		default:
			c.is = append(c.is, t)
		}
	}
	return c
}

const number = "number"

func isNumeral(word string) bool {
	digits := strings.TrimPrefix(word, "v")
	return digits != "" && digits[0] >= '0' && digits[0] <= '9' && utf8.RuneCountInString(strings.TrimLeft(digits, "0123456789.,:_")) <= 3
}

// numeral returns a number without its unit, and the unit: "30s", "28th", "v1.82".
func numeral(word string) (digits, unit string) {
	word = strings.TrimPrefix(word, "v")
	unit = strings.TrimLeft(word, "0123456789.,:_")
	digits = word[:len(word)-len(unit)]
	switch {
	case strings.Contains(digits, ":"):
		unit = ":"
	case unit == "", unit == "st", unit == "nd", unit == "rd", unit == "th", strings.HasPrefix(unit, "-"):
		unit = number
	}
	return strings.Trim(digits, ".,:_"), unit
}

// isUnit reports whether the word after a number may be its unit.
func isUnit(word string) bool {
	_, joins := slots()[word]
	return !joins && !auxiliary()[word] && word[0] != 0 && !isNumeral(word) && !isDay(word)
}

func isDay(word string) bool { return days()[strings.TrimSuffix(word, "s")] }

// The words of claims, in the languages of words.go.
var (
	days = lazy.Set(`monday tuesday wednesday thursday friday saturday sunday montag dienstag mittwoch donnerstag freitag samstag sonntag
		lunes martes miércoles jueves viernes sábado domingo lundi mardi mercredi jeudi vendredi samedi dimanche 周一 周二 周三 周四 周五 周六 周日`)
	// joining words begin another clause.
	joining = lazy.Set(`and but so because since und aber weil denn y pero porque et mais car`)
	// auxiliary words tell neither a subject nor a value.
	auxiliary = lazy.Set(`a an the this that these those our my your their its it i we you they he she please just only always also here there let let's lets me us
		ok okay yes well then again want need should must shall will would can may have has had do does did be been being go goes out make makes made keep keeps
		stick sticks put get gets set up name use uses using used run runs running live lives moved move moves switch switched change changed back everything
		all each every any some fine allowed team new old instead which what where when before after if while port
		der die das dem den des ein eine einen einem wir ihr ich du man bitte immer nur hier alle ab werden wird haben hat müssen soll sollen
		el la los las un una de del se nos por favor siempre ejecutan ejecuta usamos usa va van
		le les des du nous on vous toujours s'il plaît utilise utilisons
		一律 用 都 请 了`)
	// leading words precede an order.
	leading = lazy.Set(`just please ok okay so then well btw actually also you can`)
	// assigning words join a value to its subject; those of place are one slot: "lives in" and
	// "moved to".
	slots = sync.OnceValue(func() map[string]string {
		return map[string]string{
			"is": "=", "are": "=", "was": "=", "called": "=", "named": "=", "ist": "=", "sind": "=", "es": "=", "son": "=", "est": "=", "sont": "=", "prefer": "=", "owns": "=",
			"in": "in", "at": "in", "on": "in", "to": "in", "into": "in", "im": "in", "am": "in", "auf": "in", "nach": "in", "en": "in", "a": "in", "à": "in", "dans": "in", "au": "in",
			"with": "with", "mit": "with", "con": "with", "avec": "with", "by": "with",
			"for": "for", "für": "for", "para": "for", "pour": "for", "of": "of", "von": "of", "under": "under", "as": "as", "from": "from",
		}
	})
	// hanPhrases parts Chinese where words with a mark stand.
	hanPhrases = strings.NewReplacer("，", ", ", "。", ". ", "、", ", ", "；", ", ", "从现在开始", " "+markNow+" ", "以后", " "+markNow+" ", "改回", " "+markNow+" ", "改用", " "+markNow+" ",
		"改成", " "+markNow+" ", "换成", " "+markNow+" ", "现在", " "+markNow+" ", "不再用", " "+markNot+" "+markNow+" ", "不再", " "+markNot+" "+markNow+" ", "不要用", " "+markNot+" ", "不要", " "+markNot+" ",
		"而不是", " "+markNot+" ", "别用", " "+markNot+" ", "不用", " "+markNot+" ", "一律", " ", "统一", " ", "都", " ", "请", " ", "用", " ", "了", " ")
)

// A claimPhrase is a phrase with the marks that stand for it.
type claimPhrase struct{ words, marks []string }

// claimPhrases are phrases by their first word.
var claimPhrases = sync.OnceValue(func() map[string][]claimPhrase {
	by := map[string][]claimPhrase{}
	add := func(phrases string, marks ...string) {
		for phrase := range strings.SplitSeq(phrases, "|") {
			words := strings.Fields(phrase)
			by[words[0]] = append(by[words[0]], claimPhrase{words, marks})
		}
	}
	add("from now on|from here on|now|as of now|henceforth|anymore|any more|from today on|starting today|starting now|back to|"+
		"ab jetzt|ab sofort|jetzt|künftig|in zukunft|a partir de ahora|ahora|desde ahora|désormais|dorénavant|maintenant|à partir de maintenant", markNow)
	add("switched|moved|changed", markNow)
	add("forget about|forget the rule about|forget what i said about|never mind|vergiss|olvida|olvídate de|oublie", markForget)
	add("fine again|ok again|okay again|allowed again|possible again|wieder erlaubt|wieder in ordnung|wieder ok|otra vez permitido|de nouveau permis", markAgain)
	add("not|never|don't|do not|dont|no|nicht|kein|keine|keinen|nie|niemals|nunca|ne pas|pas|jamais", markNot)
	add("instead of|rather than|statt|anstatt|en vez de|en lugar de|au lieu de|plutôt que", markThan, markNot)
	add("no longer|not any more|not anymore|nicht mehr|kein mehr|ya no|ne plus|plus de", markThan, markNot, markNow)
	return by
})
