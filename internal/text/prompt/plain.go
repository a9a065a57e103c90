package prompt

import (
	"strings"

	"github.com/memcore/memcore/internal/text/excerpt"
)

// Plain returns a prompt's own words without what only makes them polite: a greeting, thanks,
// "please", "can you", quotes around everything, a full stop, a file named behind it in parentheses,
// and an order to commit afterwards.
// What a prompt wants of memory does not depend on these. It is own if nothing else would be left,
// or if own is longer than people write politely.
func Plain(own string) string {
	if len(own) > maxPolite {
		return own
	}
	plain := strings.TrimSpace(own)
	for {
		before := plain
		if asked := requesting.FindStringIndex(plain); asked != nil {
			plain = plain[asked[1]:]
			if !tellsMe.MatchString(plain) {
				plain = strings.TrimRight(plain, "?？ ") // it is an order
			}
		}
		if polite := opening.FindStringIndex(plain); polite != nil {
			plain = plain[polite[1]:]
		}
		if polite := closing.FindStringIndex(plain); polite != nil && polite[0] > 0 {
			asked := strings.HasPrefix(strings.TrimLeft(plain[polite[0]:], " "), "?")
			if plain = plain[:polite[0]]; asked {
				plain += "?"
			}
		}
		plain = unquoted(strings.TrimSpace(plain))
		plain = strings.TrimRight(plain, ".!。！… ")
		if plain == before {
			break
		}
	}
	if plain == "" {
		return own
	}
	return plain
}

// maxPolite is in bytes.
const maxPolite = 2000

var (
	// opening are words before a prompt; "and" and "so" are not among them, since they refer to
	// what was said before.
	opening = lazily(`(?i)^\W*(?:ok(?:ay)?|k|hi|hello|hey|great|perfect|cool|nice|alright|all right|thanks|thank you|please|pls|good (?:morning|afternoon|evening)|hallo|moin|guten (?:morgen|tag|abend)|danke|bitte|super|hola|buenos días|gracias|vale|por favor|bonjour|salut|merci|d'accord|s'il (?:te|vous) pla[iî]t)\b[\s,.!:;–-]+` +
		`|^(?:好的?|谢谢|您好|你好|请|麻烦(?:你|您)?|すみません|お願いします)[\s,，、.。!！]*`)
	// requesting are forms of an order that look like a question or a wish.
	requesting = lazily(`(?i)^\W*(?:(?:can|could|would|will) you(?: please)?(?: just| also)?|i(?:'d like| would like| want) you to|(?:kannst|könntest|würdest) du(?: bitte)?(?: mal)?|(?:puedes|podrías)(?: por favor)?|(?:peux|pourrais)-tu)\s+` +
		`|^(?:帮我|請幫我|可以帮我)`)
	tellsMe = lazily(`(?i)^(?:` + tellings + `)`)
	// closing are words behind a prompt.
	closing = lazily(`(?i)(?:[\s,.;:!?–-]+(?:(?:and|then|und|y|et)\s+(?:then\s+)?(?:commit|push)(?:\s+(?:it|this|that|everything|the changes?|your work))?(?:\s+and\s+push)?|please|pls|thanks(?: a lot| in advance| so much)?|thank you(?: very much)?|thx|cheers|bitte|danke(?: dir| schön)?|gracias|por favor|merci|s'il (?:te|vous) pla[iî]t)|[,，、\s]*(?:谢谢(?:你)?|ありがとう|お願いします))[\s.!。！]*$` +
		`|\s+\((?:see |in )?[@\w./-]+\.\w{1,8}\)[\s.!]*$`)
)

// tellings begin an order to answer: "tell me the port", "show where …", not "show the last month as a graph".
const tellings = `(?:(?:tell|remind) (?:me|us)|sag (?:mir|uns)|dime|dis-moi|(?:explain|show|say|remember|recall|zeig|erklär)(?: me| us| mir| uns)? (?:what|which|who|whom|whose|where|when|why|how|whether|if|was|welche\w*|wer|wo|wann|warum|wie|ob))\b`

// unquoted removes quotes around a whole text.
func unquoted(text string) string {
	for _, pair := range []string{`""`, "``", "“”", "„“", "«»", "「」", "''"} {
		marks := []rune(pair)
		inside, ok := strings.CutPrefix(text, string(marks[0]))
		if inside, closed := strings.CutSuffix(inside, string(marks[1])); ok && closed && !strings.ContainsAny(inside, pair) {
			return strings.TrimSpace(inside)
		}
	}
	return text
}

const (
	// maxWhole is how long, in bytes, a prompt may be that asks by all of its words.
	maxWhole = 1024
	// maxGist bounds a Gist, in bytes, and maxOpening its first part.
	maxGist    = 700
	maxOpening = 240
)

// Gist returns what a long prompt is about: how it begins, its headings, and the files that it
// names. All words of a plan of several pages are near everything. It is Plain if that is short.
func (p Prompt) Gist() string {
	if len(p.Plain) <= maxWhole {
		return p.Plain
	}
	parts := []string{cutWord(p.Plain, maxOpening)}
	for line := range strings.Lines(p.Plain[len(parts[0]):]) {
		if title, isHeading := strings.CutPrefix(strings.TrimSpace(line), "#"); isHeading {
			parts = append(parts, strings.TrimSpace(strings.TrimLeft(title, "#")))
		}
	}
	return cutWord(strings.Join(append(parts, p.Files...), "\n"), maxGist)
}

// cutWord cuts a text behind a word.
func cutWord(text string, max int) string {
	if len(text) <= max {
		return text
	}
	text = excerpt.Head(text, max)
	if space := strings.LastIndexAny(text, " \n"); space > max/2 {
		text = text[:space]
	}
	return text
}
