package reflection

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/memcore/memcore/core/digest"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/internal/text/lazy"
	"github.com/memcore/memcore/internal/text/prompt"
	"github.com/memcore/memcore/internal/text/secret"
)

// How people ask to remember something, in the languages of core/digest. What follows "remember" in
// a question or in an order for the task at hand is not meant for later.
var (
	remembering = lazy.Regexp(`(?i)^(?:(?:please|also|and|ok(?:ay)?|hey|hi|bitte|und|por favor|y|s'il (?:te|vous) pla[iî]t|et)[,:]? )*(?:` + strings.Join([]string{
		`(?:always )?(?:remember|memori[sz]e)(?: forever| (?:this|that|it|the following))?(?: (?:for|in) (?:the )?(?:later|next time|future|next sessions?|future sessions?))?(?:: ?| that | )`,
		`(?:make|take) a (?:mental )?note(?: that |: ?)|don't (?:ever )?forget(?: that |: ?)|do not forget(?: that |: ?)`,
		`(?:save|add|put|write|store)(?: (?:this|that|it|the following))? (?:to|in|into) (?:your |the )?(?:long-term )?memory(?: that |[:,] ?)`,
		`(?:merke? dir|merken sie sich|notiere? dir)(?: bitte)?(?:[:,] ?| )|vergiss (?:bitte )?nicht[:,] ?|behalte? (?:im kopf|in erinnerung)[:,] ?`,
		`recuerda(?: para (?:siempre|la próxima(?: vez)?|el futuro))?(?: que |: ?)|acu[eé]rdate de(?: que |: ?)|memoriza(?: que |: ?)|no olvides(?: que |: ?)|apunta(?: que |: ?)`,
		`souviens-toi(?: bien)?(?: (?:de ce )?que | qu'| ?: ?)|retiens(?: bien)?(?: que | qu'| ?: ?)|rappelle-toi(?: que | qu'| ?: ?)|mémorise(?: que | qu'| ?: ?)|n'oublie pas(?: que | qu'| ?: ?)`,
	}, "|") + `)(?:da(?:ss|ß) |qu(?:e |'))?(.+)$` +
		`|^(?:请|請)?(?:你|帮我|幫我)?(?:一定要|要)?(?:记住|記住|牢记|记下来?|記下來?)(?:这个|这一点|了)?[：:，,、 ]*(.+)$` +
		`|^(?:覚えておいて|覚えて|記憶して)(?:おいて)?(?:ください|下さい|ね)?[：:、, ]+(.+)$` +
		`|^(.+?)(?:こと)?(?:を|と|って|は)?、?(?:覚えておいて|覚えて|記憶して)(?:おいて)?(?:ください|下さい|くださいね|ね)[。!！]?$`)
	rememberedBefore = lazy.Regexp(`(?i)^(?:(?:please|bitte|por favor|s'il te pla[iî]t|so|and|und) )*(?:remember|memori[sz]e|don't forget|save) (?:this|that|it)(?: please| for (?:later|next time|the future)| (?:to|in) (?:your )?memory)?[.!]*$` +
		`|^(?:bitte )?merke? dir das(?: bitte)?[.!]*$|^(?:por favor )?(?:recu[eé]rdalo|recuerda (?:eso|esto))[.!]*$|^(?:s'il te pla[iî]t )?(?:retiens[- ](?:le|ça|cela)|souviens-t'en)[.!]*$|^(?:请|請)?(?:记住|記住)(?:这个|这一点|吧)?[。!！]*$|^(?:これを?|それを?)?覚えて(?:おいて)?(?:ください|ね)[。!！]*$`)
	forTheTask = lazy.Regexp(`(?i)^(?:when|how|what|where|why|who|which|whether|if|the time|the last time|to|last time|our (?:last|previous)|me|my (?:last|previous)|wann|wie|was|wo|warum|wer|ob|cu[aá]ndo|c[oó]mo|qu[eé]|quand|comment|où|pourquoi|yesterday|gestern)\b`)
	leadingTo  = lazy.Regexp(`(?i)^to (always|never) `)
)

// Asked returns what a prompt of the user asks to remember: rules for the agent's work, and facts
// for a memory file, as Propose would propose them. Only a short prompt of one line does: what is
// longer may hold what others wrote, a mail or an issue, as may what stands behind a quotation mark
// or a tag. The user's statements there are proposed at the session's end. withSecret reports
// whether it asks for more, which has a secret.
func Asked(text string, now time.Time) (rules, facts []notes.Proposal, withSecret bool) {
	own := strings.TrimSpace(text)
	if len(own) > maxAskedIn || strings.ContainsAny(own, "\r\n") || prompt.Form(own).Own != own { // in part pasted
		return nil, nil, false
	}
	own = strings.Join(strings.Fields(own), " ") // as sentences are
	sentences := redactedSentences(own)
	if len(sentences) > maxAskedSentences {
		return nil, nil, false
	}
	redacted, _ := secret.Redact(own)
	before := ""
	for _, sentence := range sentences {
		said, ok := askedFor(sentence)
		in := own
		if hasSecret(sentence) {
			in = redacted
		}
		if at := strings.Index(in, sentence); at < 0 || strings.ContainsAny(in[:at], "\"“„”«»‹›「『<>[]|") {
			said, ok = "", false
		}
		if !ok && rememberedBefore().MatchString(sentence) && before != "" && !isQuestion(before) {
			said, ok = before, true
		}
		if before = sentence; !ok {
			continue
		}
		if hasSecret(said) {
			withSecret = true
			continue
		}
		p := statedAs(said, notes.Proposal{At: now.UTC(), Text: "- " + said, Source: "the user asked to remember it"})
		p.ID = idOf(p)
		if kind, standing := digest.Classify(said); standing || kind == digest.Rule {
			rules = append(rules, p)
		} else {
			facts = append(facts, p)
		}
	}
	return rules, facts, withSecret
}

// statedAs returns a proposal with the kind and file of what a user asks to remember.
func statedAs(said string, p notes.Proposal) notes.Proposal {
	if p.Kind, p.Path, p.AboutUser = kindOf(said); p.Kind != "" {
		return p
	}
	if p.Kind, p.Path, p.AboutUser = notes.ProposedFact, "facts/project.md", ofUser().MatchString(said); p.AboutUser {
		p.Path = "facts/user.md"
	}
	return p
}

const (
	maxAskedIn        = 500 // bytes
	maxAskedSentences = 4
)

// askedFor returns what a sentence asks to remember.
func askedFor(sentence string) (said string, ok bool) {
	found := remembering().FindStringSubmatch(strings.ReplaceAll(sentence, "’", "'"))
	if found == nil || isQuestion(sentence) {
		return "", false
	}
	for _, group := range found[1:] {
		said += group
	}
	said = leadingTo().ReplaceAllString(strings.TrimSpace(said), "$1 ")
	if forTheTask().MatchString(said) || !isStatement(said) {
		return "", false
	}
	first, size := utf8.DecodeRuneInString(said)
	return string(unicode.ToUpper(first)) + said[size:], true
}

var han = lazy.Regexp(`[\p{Han}\p{Hiragana}\p{Katakana}]`)

// isStatement reports whether a text has as many words as a statement.
func isStatement(text string) bool {
	return len(strings.Fields(text)) >= 3 || len(han().FindAllString(text, 4)) == 4
}
