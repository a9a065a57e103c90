package suspicion

import (
	"iter"
	"math"
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Feature is a property of a window and how much of it there is. Its ID is below Features.
type Feature struct {
	ID    uint32
	Value float32
}

// Shapes are what a text looks like, whatever its words.
const (
	shapeCapitals  = iota // share of capital letters
	shapeExclaims         // exclamation marks
	shapeAsks             // a question mark
	shapeRepeats          // share of words that were there before
	shapeRuns             // a character that is repeated many times
	shapeSymbols          // share of characters that are neither letters, digits nor blanks
	shapeScripts          // letters of more than one script
	shapeBlob             // a long run of letters and digits without blanks
	shapeSpaced           // letters with blanks between them
	shapeHidden           // characters that nobody sees
	shapeTemplate         // tokens of chat templates
	shapeDelimiter        // lines such as "%%% END %%%"
	shapeComment          // a comment of HTML, or styles that hide
	shapeLink             // an address
	shapeCode             // code
	shapeDialogue         // questions and answers, or roles
	shapeQuoted           // text in quotes
	shapeBrackets         // text in brackets
	shapeDigits           // share of digits
	shapeTable            // a table
	shapeList             // a point of a list, or a heading
	shapeShort            // few words
	shapeColon            // a colon at the end of a word
	shapeSecrets          // files that hold secrets
	shapeShell            // what is loaded and run
	shapes
)

var shapeNames = [shapes]string{"capitals", "exclamation", "question", "repetition", "run of a character", "symbols", "scripts mixed", "blob",
	"letters apart", "hidden characters", "chat template", "delimiter", "hidden markup", "link", "source code", "dialogue", "quotes", "brackets", "digits",
	"table", "list", "short", "colon", "files of secrets", "loaded and run"}

// Ranges of the ids of features.
const (
	firstPair  = uint32(classes)
	firstShape = firstPair + uint32(classes*(classes-1)/2)
	firstRule  = firstShape + shapes
	firstNgram = firstRule + uint32(maxRules)
)

// Features is how many features there are.
const Features = int(firstNgram + buckets)

// pairID is the feature of two classes in one window.
func pairID(a, b class) uint32 {
	if a > b {
		a, b = b, a
	}
	return firstPair + uint32(b*(b-1)/2+a)
}

// nameOf says what a feature is; "" for an n-gram, whose feature many share, and for the place of a rule that there is none for.
func nameOf(id uint32) string {
	switch {
	case id < firstPair:
		return classNames[id]
	case id < firstShape:
		for b := class(1); b < classes; b++ {
			for a := range b {
				if pairID(a, b) == id {
					return classNames[a] + " + " + classNames[b]
				}
			}
		}
	case id < firstRule:
		return shapeNames[id-firstShape]
	case id < firstRule+uint32(len(rules)):
		return rules[id-firstRule].name
	}
	return ""
}

// A token is a word and what it can stand for.
type token struct {
	is classSet
	at int // in the folded text
}

// A reading is what is known of a window before it is weighed.
type reading struct {
	folded string
	tokens []token // all words, also of no class
	shape  [shapes]float32
	rules  ruleSet
}

// read looks at a window.
func read(text string) *reading {
	r := &reading{folded: fold(text)}
	r.lookUp(known())
	r.look(text)
	r.apply()
	return r
}

// lookUp finds the words.
func (r *reading) lookUp(l *lexicon) {
	text := r.folded
	start := -1
	before, beforeAt := "", 0
	end := func(to int) {
		if start < 0 {
			return
		}
		word := text[start:to]
		is := l.of(word)
		if before != "" && l.twoWord[before] && start == beforeAt+len(before)+1 {
			if two := l.whole[text[beforeAt:to]]; two != 0 {
				r.tokens[len(r.tokens)-1].is |= two
			}
		}
		r.tokens = append(r.tokens, token{is, start})
		before, beforeAt = word, start
		start = -1
	}
	for i := 0; i < len(text); {
		c, size := rune(text[i]), 1
		if c >= utf8.RuneSelf {
			c, size = utf8.DecodeRuneInString(text[i:])
		}
		switch {
		case isDense(c):
			end(i)
			if e := l.startOf(c, text[i:]); e.is != 0 {
				r.tokens = append(r.tokens, token{e.is, i})
				size = len(e.text)
			}
		case isLetter(c) || c == '\'' && start >= 0:
			if start < 0 {
				start = i
			}
		default:
			end(i)
		}
		i += size
	}
	end(len(text))
}

func isLetter(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsMark(r)
}

// look takes the measures of a window.
func (r *reading) look(text string) {
	s := &r.shape
	var letters, capitals, symbols, digits, exclaims, asks, quotes, brackets, hidden, blob, longest, run, mostRun, single, mostSingle, all int
	var scripts uint
	last := rune(-1)
	word := 0
	for _, c := range text {
		all++
		if c == last && c != ' ' && c != '-' && c != '=' && c != '_' && c != '*' && c != '#' && c != '.' && c != '|' {
			if run++; run > mostRun {
				mostRun = run
			}
		} else {
			run = 0
		}
		last = c
		switch {
		case c >= 'a' && c <= 'z':
			letters++
			scripts |= 1
		case c >= 'A' && c <= 'Z':
			letters++
			capitals++
			scripts |= 1
		case c >= '0' && c <= '9':
			digits++
		case c <= ' ':
		case c < utf8.RuneSelf:
			symbols++
		case isInvisible(c):
			hidden++
		case unicode.IsLetter(c) || unicode.IsMark(c):
			letters++
			scripts |= scriptOf(c)
		case unicode.IsSpace(c):
		default:
			symbols++
		}
		switch c {
		case '!', '！':
			exclaims++
		case '?', '？', '؟':
			asks++
		case '"', '“', '”', '«', '»', '「', '」', '『', '』', '\'', '`':
			quotes++
		case '[', ']', '{', '}', '<', '>', '【', '】':
			brackets++
		}
		if c > ' ' && c < utf8.RuneSelf && (c == '+' || c == '/' || c == '=' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z') {
			if blob++; blob > longest {
				longest = blob
			}
		} else {
			blob = 0
		}
		if c <= ' ' || c == '.' || c == '-' || c == '_' {
			if word == 1 {
				if single++; single > mostSingle {
					mostSingle = single
				}
			} else if word > 1 {
				single = 0
			}
			word = 0
		} else {
			word++
		}
	}
	share := func(n, of int) float32 { return float32(n) / float32(max(of, 1)) }
	s[shapeCapitals] = share(capitals, letters)
	s[shapeExclaims] = float32(min(exclaims, 4)) / 4
	s[shapeAsks] = yes(asks > 0)
	s[shapeRuns] = yes(mostRun >= 8)
	s[shapeSymbols] = share(symbols, all)
	s[shapeScripts] = yes(scripts&(scripts-1) != 0)
	s[shapeBlob] = yes(longest >= 40)
	s[shapeSpaced] = yes(mostSingle >= 5)
	s[shapeHidden] = float32(min(hidden, 8)) / 8
	s[shapeTemplate] = yes(containsAny(r.folded, templateTokens))
	s[shapeDelimiter] = yes(containsAny(r.folded, delimiters))
	s[shapeComment] = yes(containsAny(r.folded, hiding))
	s[shapeLink] = yes(strings.Contains(r.folded, "://") || strings.Contains(r.folded, "www."))
	s[shapeCode] = yes(containsAny(r.folded, codeMarks))
	s[shapeDialogue] = float32(min(countAny(r.folded, dialogue), 4)) / 4
	s[shapeQuoted] = float32(min(quotes, 6)) / 6
	s[shapeBrackets] = float32(min(brackets, 8)) / 8
	s[shapeDigits] = share(digits, all)
	s[shapeTable] = yes(strings.Count(r.folded, "|") >= 4)
	trimmed := strings.TrimLeft(text, " \t")
	s[shapeList] = yes(strings.HasPrefix(trimmed, "- ") || strings.HasPrefix(trimmed, "* ") || strings.HasPrefix(trimmed, "#") || strings.HasPrefix(trimmed, "• "))
	s[shapeShort] = yes(all < 80)
	s[shapeColon] = yes(strings.Contains(r.folded, ": "))
	s[shapeSecrets] = yes(containsAny(r.folded, secretFiles))
	s[shapeShell] = yes(containsAny(r.folded, shells))
	s[shapeRepeats] = r.repetition()
}

// repetition is the share of the words that were there before, if there are many.
func (r *reading) repetition() float32 {
	seen := map[string]bool{}
	n, again := 0, 0
	for word := range strings.FieldsSeq(r.folded) {
		n++
		if seen[word] {
			again++
		}
		seen[word] = true
	}
	if n < 12 {
		return 0
	}
	return float32(again) / float32(n)
}

var (
	templateTokens = []string{"<|", "|>", "[inst]", "[/inst]", "<<sys>>", "<</sys>>", "<start_of_turn>", "<end_of_turn>", "</s>", "### instruction", "### system", "### response",
		"<system>", "</system>", "[system]", "<assistant>", "<user>", "<tool_call>", "<function_call", "</memory>", "begin system", "end of prompt", "end of instructions"}
	delimiters  = []string{"%%%", "####", "@@@", "====", "----- ", "___", "***", "<<<", ">>>", "[[", "]]", "~~~~"}
	hiding      = []string{"<!--", "<! --", "display:none", "display: none", "visibility:hidden", "visibility: hidden", "font-size:0", "font-size: 0", "opacity:0", "opacity: 0", "color:white", "color: white", "aria-hidden"}
	secretFiles = []string{".env", ".ssh", "id_rsa", "id_ed25519", "/etc/passwd", "/etc/shadow", ".aws/", "credentials", ".netrc", ".npmrc", ".kube/config", "keychain", ".gnupg"}
	shells      = []string{"| sh", "| bash", "|sh", "|bash", "| sudo", "$(curl", "iex(", "powershell -e", "rm -rf /", "base64 -d", "eval(atob"}
	codeMarks   = []string{"```", "import ", "def ", "func ", "();", "</", "={", "=>", "$ ", "const ", "return "}
	dialogue    = []string{"q:", "a:", "user:", "assistant:", "human:", "ai:", "system:", "q :", "input:", "output:"}
)

func containsAny(text string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

func countAny(text string, parts []string) (n int) {
	for _, part := range parts {
		n += strings.Count(text, part)
	}
	return n
}

func yes(is bool) float32 {
	if is {
		return 1
	}
	return 0
}

// scriptOf is a bit for the script of a letter; those that are written together have one.
func scriptOf(r rune) uint {
	switch {
	case r < 0x370 || r >= 0x1E00 && r < 0x1F00:
		return 1
	case r < 0x400 || r >= 0x1F00 && r < 0x2000:
		return 2
	case r < 0x530:
		return 4
	case r < 0x600:
		return 8
	case r < 0x780:
		return 16
	case r < 0x980:
		return 32
	case r < 0xA00:
		return 64
	case r < 0xE00:
		return 128
	case r < 0xE80:
		return 256
	case r >= 0x1100 && r < 0x1200 || r >= 0xAC00 && r < 0xD7B0:
		return 512
	case r >= 0x3040 && r < 0xA000:
		return 1024
	}
	return 0
}

// features calls with each feature of a window.
func (r *reading) features(visit func(Feature)) {
	var all classSet
	for _, t := range r.tokens {
		all |= t.is
	}
	for b := range classes {
		if !all.has(b) {
			continue
		}
		visit(Feature{uint32(b), 1})
	}
	for _, id := range r.pairs() {
		visit(Feature{id, 1})
	}
	for i, v := range r.shape {
		if v != 0 {
			visit(Feature{firstShape + uint32(i), v})
		}
	}
	for i := range rules {
		if r.rules&(1<<i) != 0 {
			visit(Feature{firstRule + uint32(i), 1})
		}
	}
	// Counted where they belong, which is twice as fast as sorting them.
	var counts [buckets]uint32
	var found [buckets / 64]uint64
	ngrams(r.folded, func(b uint32) {
		counts[b]++
		found[b/64] |= 1 << (b % 64)
	})
	norm := 0.0
	for b := range set(&found) {
		much := weightOf(counts[b])
		norm += much * much
	}
	norm = math.Sqrt(norm)
	for b := range set(&found) {
		visit(Feature{firstNgram + b, float32(weightOf(counts[b]) / norm * ngramScale)})
	}
}

// set are the n-grams that were found, in order.
func set(found *[buckets / 64]uint64) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for i, word := range found {
			for ; word != 0; word &= word - 1 {
				if !yield(uint32(i*64 + bits.TrailingZeros64(word))) {
					return
				}
			}
		}
	}
}

// weightOf is what an n-gram weighs that a window has so often: once is 1.
func weightOf(times uint32) float64 {
	if times == 1 {
		return 1
	}
	return 1 + math.Log(float64(times))
}

// ngramScale is the L2 norm of the n-grams of a window: their say beside the other features.
const ngramScale = 3

// near is how many words apart two of them may be to belong together.
const near = 12

// pairs are the features of two classes near each other.
func (r *reading) pairs() []uint32 {
	var found [classes]classSet // which others are near one
	for i, t := range r.tokens {
		if t.is == 0 {
			continue
		}
		for _, o := range r.tokens[i:min(i+near, len(r.tokens))] {
			if o.is == 0 {
				continue
			}
			for a := range classes {
				if t.is.has(a) {
					found[a] |= o.is &^ (1 << a)
				}
			}
		}
	}
	seen := map[uint32]bool{}
	var ids []uint32
	for a := range classes {
		for b := range classes {
			if found[a].has(b) {
				if id := pairID(a, b); !seen[id] {
					seen[id] = true
					ids = append(ids, id)
				}
			}
		}
	}
	return ids
}
