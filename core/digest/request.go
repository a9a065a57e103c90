package digest

import (
	"slices"
	"strings"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/markdown/fence"
	"github.com/memcore/memcore/internal/text/excerpt"
	"github.com/memcore/memcore/internal/text/lazy"
	"github.com/memcore/memcore/internal/text/prompt"
)

var (
	// opening matches what people write before they come to the point.
	opening = lazy.Regexp(`(?i)^\W*(?:(?:ok|okay|k|yes|yup|yep|yeah|sure|so|now|then|alright|all right|right|great|good|cool|nice|perfect|thanks|thank you|hi|hello|hey|hmm+|umm*|ah|uhh*|well|also|and|please|pls|` +
		`could you|can you|would you|will you|i want you to|i need you to|i'd like you to|let's|let us|bitte|kannst du|könntest du|por favor|s'il (?:te|vous) pla[iî]t|请|請)\b[\s,.!…:]*|(?:请|請|帮我))+`)
	// pointing matches a sentence that only points to what follows it.
	pointing = lazy.Regexp(`(?i)^\W*(?:please )?(?:implement|execute|follow|carry out|work (?:on|through)|start|do|address|fix|resolve|handle|consider|see|read|look at|here(?:'s| is| are)|this is|got|a|another|these)\b[^.!?]{0,40}\b(?:plan|spec|specification|task|tasks|steps|instructions|following|below|above|this|these(?: \d+)?|it|them|comment|cleanup|error|output|log|issue)\b[^.!?]{0,30}:?\s*$` +
		`|^\W*(?:implement|execute) the plan\b|^\W*(?:i )?(?:just )?(?:got|here(?:'s| is)|another|a|this|these)\b.{0,20}\bcomments?\b[^.:]{0,40}[?:]?\s*$|^\W*(?:do not|don't) (?:edit|change|modify) the plan\b|^\W*(?:to-?dos?|tasks?) .{0,40}\b(?:already|been) created\b|^\W*don't stop until\b`)
	listMark = lazy.Regexp(`^\s*(?:>\s*)?(?:#{1,6}\s+|[-*+•]\s+|\d{1,3}[.)]\s+)`)
	// after is what a selection's request ends with.
	after = lazy.Regexp(`\(after: (.*)\)$`)
)

// requestOf returns the telling part of a message. earlier is the request before it.
func requestOf(form prompt.Prompt, text, earlier string) string {
	switch form.Kind {
	case prompt.Pasted:
		return pasted(form, text)
	case prompt.Selection:
		if m := after().FindStringSubmatch(earlier); m != nil {
			earlier = m[1]
		}
		own := excerpt.Words(line(form.Own), maxRequest/2)
		if earlier == "" || earlier == chunker.Unheaded {
			return own
		}
		return own + " (after: " + excerpt.Words(earlier, maxRequest-len(own)-len(" (after: )")) + ")"
	case prompt.Command:
		return excerpt.Words(line(form.Own), maxRequest)
	}
	request := telling(form.Own)
	if len(form.Errors) > 0 && !tells(request) {
		request = strings.TrimSpace(strings.TrimRight(request, ".:!? ") + ": " + plain(form.Errors[0]))
	}
	if request == "" {
		return pasted(form, text)
	}
	return excerpt.Words(request, maxRequest)
}

// pasted returns what pasted text is about: its error, or its first words.
func pasted(form prompt.Prompt, text string) string {
	if len(form.Errors) > 0 {
		return excerpt.Words(plain(form.Errors[0]), maxRequest)
	}
	for l := range strings.SplitSeq(text, "\n") {
		if l = plain(l); strings.ContainsFunc(l, isLetter) {
			return excerpt.Words(l, maxRequest)
		}
	}
	return chunker.Unheaded
}

// telling returns the first sentences that say what is wanted, as far as there is room.
func telling(own string) string {
	var kept []string
	size := 0
	for _, sentence := range sentencesOf(own) {
		if len(kept) == 0 {
			sentence = strings.TrimSpace(sentence[len(opening().FindString(sentence)):])
			if pointing().MatchString(sentence) && prompt.Parse(sentence).Files == nil || !tells(sentence) {
				continue
			}
		}
		if size += len(sentence) + 1; size > maxRequest+1 && len(kept) > 0 {
			break
		}
		kept = append(kept, sentence)
	}
	if len(kept) == 0 {
		return strings.TrimSpace(line(own))
	}
	return strings.Join(kept, " ")
}

// tells reports whether a text says what it is about.
func tells(text string) bool {
	words := strings.FieldsFunc(text, func(r rune) bool { return !isLetter(r) && r != '\'' && r != '-' })
	return slices.ContainsFunc(words, prompt.IsTelling)
}

// sentencesOf returns the sentences of a text without code, each on one line and without marks.
func sentencesOf(text string) []string {
	var all []string
	var open fence.Fence
	for l := range strings.SplitSeq(text, "\n") {
		var isCode bool
		if open, isCode = open.Next(l); isCode {
			continue
		}
		l = listMark().ReplaceAllString(l, "")
		for from, to := range chunker.Sentences(l) {
			if sentence := plain(l[from:to]); sentence != "" {
				all = append(all, sentence)
			}
		}
	}
	return all
}

var (
	linked   = lazy.Regexp(`!?\[([^\]\n]+)\]\([^)\s]*\)`)
	emphasis = lazy.Regexp("\\*\\*|~~|`+|(^|[\\s(])[*_]([^*_\\s][^*_]*)[*_]($|[\\s).,:;])")
	tag      = lazy.Regexp(`</?[a-zA-Z][^<>]{0,80}>`)
	drawing  = lazy.Regexp(`[\x{2190}-\x{21ff}\x{2300}-\x{23ff}\x{2500}-\x{27bf}\x{2b00}-\x{2bff}\x{fe0f}\x{1f000}-\x{1faff}]+`)
)

// plain returns a line without marks of Markdown, pictures and tags.
func plain(text string) string {
	if strings.ContainsRune(text, '[') {
		text = linked().ReplaceAllString(text, "$1")
	}
	if strings.ContainsAny(text, "*_`~") {
		text = emphasis().ReplaceAllString(text, "$1$2$3")
	}
	if strings.ContainsRune(text, '<') {
		text = tag().ReplaceAllString(text, " ")
	}
	if !isASCII(text) {
		text = drawing().ReplaceAllStringFunc(text, func(found string) string {
			if strings.ContainsRune(found, '→') {
				return "→"
			}
			return ""
		})
	}
	return line(text)
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}
