package chunker

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memcore/memcore/internal/markdown/fence"
	"github.com/memcore/memcore/internal/text/lazy"
	"github.com/memcore/memcore/internal/text/payload"
	"github.com/memcore/memcore/internal/text/prompt"
)

// Why a turn of an agent's log makes no chunk.
const (
	LeftOutRequest      = "request"      // it only asks; answers have it as their heading
	LeftOutAnnouncement = "announcement" // it says what the agent does next
	LeftOutShort        = "short"        // it is too short to be useful
	LeftOutUnknown      = "unknown"      // it only says that the agent does not know
	LeftOutCode         = "code"         // code or output without prose
	LeftOutPasted       = "pasted"       // pasted text
	LeftOutSummary      = "summary"      // an agent's summary of turns that are in the log
	LeftOutTools        = "tool calls"   // calls of tools and their results
)

// requestSize bounds a request that heads an answer, in tokens.
const requestSize = 40

// Unheaded is the heading of chunks without a request.
const Unheaded = "…"

// Session keeps what is worth remembering of an agent's log: what answers find, decide, explain or
// sum up, and what the user states. Chunk.Headings holds the request, so that what the user told
// beside it is there, too; if no answer is kept, it is a chunk of its own. leftOut says why a turn
// made no chunk.
//
// request is the title (see Request) before the first turn, or "". The rest is as for Conversation.
func Session(name string, turns []Turn, request string, o Options) (chunks []Chunk, leftOut []string) {
	c := &conversation{name: name, limits: newLimits(o), seen: ordinals{}}
	leftOut = make([]string, len(turns))
	heading := c.shorten(request, requestSize)
	told := remark{turn: -1}
	for i, t := range turns {
		if t.Role == "user" && t.Dialog == "" {
			c.keepUnanswered(turns, told, leftOut)
			told.turn = -1
		}
		text := payload.Without(strings.TrimSpace(cleanString(t.Said())))
		kept, asked, reason := "", "", LeftOutTools
		switch {
		case t.isTakenOut():
			heading = "" // what follows answers nothing that is known
		case text == "":
		case t.Role == "user" && t.Dialog != "":
			kept, reason = decided(t, text)
		case t.Role == "user":
			form := prompt.Form(head(text, maxStatementCuts))
			kept, reason = statement(form)
			asked = form.Title()
			if len(text) > maxStatementCuts {
				asked = prompt.Title(text)
			}
			if reason == LeftOutRequest && tells(form) {
				told = remark{i, form.Own, heading, len(c.chunks)}
			}
		case t.Role == "system":
			reason = LeftOutSummary
		case t.Role == "assistant" || t.Role == "subagent":
			minimum := minAnswer
			if t.Role == "subagent" {
				minimum = minReport
			} else if isLastAnswer(turns, i) {
				minimum = minLastAnswer
			}
			if kept, reason = answer(text, minimum); reason == "" && o.Redact != nil {
				if clean := o.Redact(t.Line, text); clean != text {
					text = clean
					kept, reason = answer(text, minimum)
				}
			}
		}
		if reason == "" && o.Redact != nil && !strings.Contains(text, kept) {
			kept = o.Redact(t.Line, kept) // cutting may have joined the parts of a secret
		}
		under := heading
		if t.Role == "subagent" && under == "" {
			under = c.shorten(oneLine(cleanString(head(t.Asked, neighbourBytes))), requestSize)
		}
		if reason == "" && !c.chunksUnder(t, kept, under) {
			reason = LeftOutCode
		}
		leftOut[i] = reason
		if asked != "" {
			heading = c.shorten(asked, requestSize)
		}
	}
	c.keepUnanswered(turns, told, leftOut)
	return c.chunks, leftOut
}

// A remark is what a user told in a turn that makes no chunk by itself.
type remark struct {
	turn          int // -1 for none
	text, heading string
	chunks        int // that there were before it
}

// keepUnanswered makes a chunk of a remark that is in no heading, since no answer to it was kept.
func (c *conversation) keepUnanswered(turns []Turn, told remark, leftOut []string) {
	if told.turn >= 0 && len(c.chunks) == told.chunks && c.chunksUnder(turns[told.turn], told.text, told.heading) {
		leftOut[told.turn] = ""
	}
}

// Request returns the last request's title (prompt.Title), or earlier; "" if it was taken out.
func Request(turns []Turn, earlier string) string {
	for _, t := range slices.Backward(turns) {
		if t.isTakenOut() {
			return ""
		}
		if t.Role != "user" || t.Dialog != "" {
			continue
		}
		if asked := prompt.Title(cleanString(t.Text)); asked != "" {
			return asked
		}
	}
	return earlier
}

// chunksUnder reports whether the text made any chunk.
func (c *conversation) chunksUnder(t Turn, text, heading string) bool {
	if heading == "" {
		heading = Unheaded
	}
	about := newSection(c.limits, []string{heading}, "", time.Time{}) // date and speaker are not embedded
	number := 0
	c.cut(text, len(text), nil, about, func(p piece) {
		if hasProse(p.of(text)) {
			number++
			c.chunk(t, c.speaker(t), p, p.of(text), number)
		}
	})
	return number > 0
}

// isLastAnswer reports whether no later turn answers the same request, which goes on after a
// dialog.
func isLastAnswer(turns []Turn, i int) bool {
	for _, t := range turns[i+1:] {
		switch {
		case t.isTakenOut():
			return true
		case strings.TrimSpace(t.Text) == "", t.Dialog != "":
		case t.Role == "user":
			return true
		case t.Role == "assistant":
			return false
		}
	}
	return true
}

const (
	minAnswer     = 160 // bytes of an answer in the middle of the work
	minLastAnswer = 60  // of the last one
	minReport     = 25  // of a subagent's, which says nothing else
	minFinding    = 70  // of one that says what it found
	maxUnknown    = 400 // of one that may only say what it did not find
	minClause     = 25  // of what it says beside that
)

var (
	announces = lazy.Regexp(`(?i)^(\W*(now|next|first|ok|okay|great|good|perfect|excellent|alright|right|so|and|then|finally|also),?\W+)*` +
		`(let me|let's|let us|i'll|i will|i'm going to|i am going to|i need to|we need to|i should|we should|time to|checking|looking|reading|running|updating|adding|creating|continuing)\b`)
	finds = lazy.Regexp(`(?i)\b(root cause|the (issue|problem|bug|reason|cause|culprit|fix|trick) (is|was|here)|because|caused by|turns out|you're right|you are right|instead of|decided|` +
		`won't work|doesn't (work|match|support|exist)|does not (work|match|support|exist)|already (exists|handles|has|does)|none of|only works|must be|should be|has to be|not supported|is missing|was missing|fixed|found it|works now|` +
		`ursache|weil|stattdessen|porque|en vez de|parce que|au lieu)\b|原因|问题是|問題|因为|解决|修复|ため|原因は|修正`)
)

// answer returns what to keep of an answer, or why nothing. minimum is how much prose it must have,
// as weight counts it, unless it says what was found.
func answer(text string, minimum int) (kept, leftOut string) {
	kept = withoutAsides(withoutLongCode(text))
	prose := proseOf(kept)
	length := weight(prose)
	switch {
	case len(prose) < 20 && len(text) > 2*minAnswer:
		return "", LeftOutCode
	case length < maxUnknown && saysUnknown(prose):
		return "", LeftOutUnknown
	case length >= minimum, length >= minFinding && finds().MatchString(prose):
		return kept, ""
	case announces().MatchString(proseOf(text)):
		return "", LeftOutAnnouncement
	}
	return "", LeftOutShort
}

var unknown = lazy.Regexp(`(?i)\b(i('m| am) not (sure|certain|aware)|i (don't|do not) (know|see any|have (any|enough|access|information|a record|that))|` +
	`i (couldn't|could not|can't|cannot|can not|was unable to|am unable to|wasn't able to|didn't|did not) (find|locate|see|determine|tell|say|answer|remember|confirm)|i have no (idea|information|record|memory)|i found (no|nothing)|` +
	`there('s| is| are| was) (nothing|no (mention|information|record|documentation|note|trace|reference)s?) (of|about|on|for|in|that)|no (mention|record) of|unclear (from|what|which|who|how)|` +
	`(isn't|is not|wasn't|aren't) (mentioned|documented|specified|recorded|stated)|(doesn't|does not|don't|do not) (say|mention) (which|what|who|where|when|how|whether|anything)|` +
	`ich (weiß|weiss) (es |das |leider )?nicht|nicht sicher|(finde|fand) (ich )?(nichts|keine?n?)|no (lo )?(sé|encuentro|encontré)|je ne (sais|trouve) pas|je n'ai (rien|pas) trouvé)\b|` +
	`不知道|不清楚|不确定|没有找到|未找到|找不到|わかりません|分かりません|見つかりません`)

// saysUnknown reports whether an answer says that the agent does not know, and little else. Such an
// answer repeats the words of its request, and would displace the document that answers it.
func saysUnknown(prose string) bool {
	if !unknown().MatchString(prose) {
		return false
	}
	rest := 0
	for _, sentence := range sentences(prose) {
		if isQuestion(sentence) {
			continue
		}
		for _, clause := range halves().Split(sentence, -1) {
			if !unknown().MatchString(clause) && !offers().MatchString(clause) {
				rest += weight(strings.TrimSpace(clause))
			}
		}
	}
	return rest < minClause && !finds().MatchString(prose)
}

// halves matches what parts a sentence whose other half may say something.
var halves = lazy.Regexp(`[;:,–—(]\s|[，；：。]|\s(?i:but|so|because|since|and|aber|weil|pero|porque|mais|car)\s`)

var offers = lazy.Regexp(`(?i)^\W*(if you|let me know|please (tell|share|give|provide|point)|would you|could you|do you|you (could|can|may|might) (check|ask|look)|i can (look|search|check|ask)|tell me|want me)\b`)

// weight counts characters, those of wide scripts as three.
func weight(text string) int {
	n := 0
	for _, r := range text {
		if n++; r >= 0x2E80 {
			n += 2
		}
	}
	return n
}

var (
	states = lazy.Regexp(`(?i)\b(always|never|don't|dont|do not|must|mustn't|should(n't)?|ought|instead|rather|prefer(red)?|avoid|stop|wrong|no,|not like|decided|decision|because|convention|standard(i[sz]e)?|` +
		`rule|make sure|ensure|remember|note that|from now on|only|keep|use|we (use|have|want|need|are|do|don't|can't)|i (want|need|like|prefer|use|have|don't|changed|moved|decided|set)|` +
		`is (a|the|an|in|at|on|not|now|called)|are (not|now|in)|has to|have to|api key|the (password|key|port|url|branch|name)|` +
		`immer|nie|niemals|nicht|statt|sondern|muss|müssen|sollte|wir (nutzen|verwenden|haben|wollen)|bitte keine?|` +
		`siempre|nunca|debe|usa(r|mos)?|en vez de|toujours|jamais|il faut|ne pas|plutôt|nous (utilisons|avons))\b|` +
		`不要|不能|必须|必須|应该|應該|改用|使用|总是|總是|不是|别|しないで|ください|べき|使って|ではなく|常に|必ず|하지 마|사용`)
	question   = lazy.Regexp(`(?i)^(what|why|how|where|when|which|who|is|are|does|do|did|can|could|would|should|was|were|has|have|any|wie|was|warum|wo|qué|cómo|pourquoi|comment)\b`)
	structured = lazy.Regexp(`(?m)^(#{1,4} \S|\s*([-*]|\d+\.) \S)`)
)

const (
	minStatement     = 12       // bytes
	maxStatement     = 1200     // of plain text; a longer specification has headings and items
	minStructured    = 3        // headings and items
	maxStatementCuts = 24 << 10 // bytes that are looked at
)

// decided returns what to keep of what a user said in a dialog: whatever they decide is worth
// remembering, but for a rejection without a reason. Of a plan, long code is left out.
func decided(t Turn, text string) (kept, leftOut string) {
	switch {
	case t.Dialog == DialogPlan:
		return withoutAsides(withoutLongCode(text)), ""
	case t.Dialog == DialogRejection && prompt.Form(head(t.Text, maxStatementCuts)).Kind != prompt.Request:
		return "", LeftOutRequest
	}
	return text, ""
}

// statement returns what the user states, or why nothing.
func statement(p prompt.Prompt) (stated, leftOut string) {
	own := p.Own
	if p.Kind != prompt.Request {
		if p.Kind == prompt.Pasted {
			return "", LeftOutPasted
		}
		return "", LeftOutRequest
	}
	length := weight(own)
	switch {
	case length < minStatement:
		return "", LeftOutRequest
	case length > 400 && len(structured().FindAllStringIndex(own, minStructured)) >= minStructured:
		return own, "" // a specification, a plan, a list of rules
	case length > maxStatement:
		return "", LeftOutPasted
	case !states().MatchString(own):
		return "", LeftOutRequest
	}
	for _, sentence := range sentences(own) {
		if states().MatchString(sentence) && !isQuestion(sentence) {
			return own, ""
		}
	}
	return "", LeftOutRequest
}

// minTold is the weight of the shortest sentence that tells something: five words.
const minTold = 20

// tellings match how a sentence begins that says how something is, and does not order it.
var tellings = lazy.Regexp(`(?i)^\W*(?:(?:and|but|so|also|btw|fyi|by the way|note),?\s+|\p{L}+:\s+)?(?:(?:the|our|my|its|their|every|each|all|both|there|they|we|he|she|it (?:was|is|turned))\b.*\b(?:is|are|was|were|has|have|had|will|can|cannot|[a-z]{2,}[^s\W]s|[a-z]{2,}ed)\b` +
	`|(?-i:\p{Lu})[\p{L}-]*(?:(?: [\p{L}-]+)? (?:of|for|in) (?:(?:the|our|my) )?[\p{L}-]+)? (?:is|was|has|had|owns|uses|runs|handles|manages|leads|maintains|decides|approves|reviews|wants|needs|likes|prefers|knows|lives|works|means|takes|requires|expects|supports|contains|returns|belongs|depends|happens?|starts?|ends?|comes?|goes?|gets?) ` +
	`|(?:der|die|das|unsere?|meine?|es|wir|ich|alle|jede[rs]?)\b.*\b(?:ist|sind|war|waren|hat|haben|wird|werden|[a-zäöüß]{2,}(?:t|en))\b` +
	`|(?:el|la|los|las|nuestr[oa]s?|mis?|hay|le|les|notre|nos|mon|ma|mes|nous|on (?:a|est|doit|utilise)|il y a|c'est)\b.*\b(?:es|son|está|están|fue|tiene|usa|va|est|sont|a|ont|utilise|sera|\p{L}{2,}(?:e|a|an|en|ent|ons))\b` +
	`|[^,，。]{0,24}(?:是|叫|位于|改为|决定|約定|约定|保留|负责)|.*(?:です|ます|でした|ました|である|にした|になった)[。.!！]?$)`)

// requesting matches what is asked of the agent in languages whose orders do not begin with a verb.
var requesting = lazy.Regexp(`请|請|帮|幫|ください|してくれ|お願い|\b(?:bitte|por favor|s'il (?:te|vous) plaît|please)\b`)

// tells reports whether all that the user says is how something is: no order, no question.
func tells(p prompt.Prompt) bool {
	if p.Kind != prompt.Request || p.Pasted > 0 || weight(p.Own) < minTold || weight(p.Own) > maxStatement {
		return false
	}
	for _, sentence := range sentences(p.Own) {
		if isQuestion(sentence) || requesting().MatchString(sentence) || !tellings().MatchString(strings.TrimSpace(sentence)) {
			return false
		}
	}
	return true
}

func isQuestion(sentence string) bool {
	sentence = strings.TrimSpace(sentence)
	return strings.ContainsAny(lastRune(sentence), "?？؟") || question().MatchString(sentence)
}

func lastRune(text string) string {
	_, n := utf8.DecodeLastRuneInString(text)
	return text[len(text)-n:]
}

func sentences(text string) []string {
	var all []string
	for line := range strings.SplitSeq(text, "\n") {
		for from := 0; from < len(line); {
			end := sentenceEnd(line, from)
			if end <= from {
				break
			}
			all = append(all, line[from:end])
			from = end
		}
	}
	return all
}

// A longer fence than maxCode keeps its first keptCode lines.
const (
	maxCode  = 8
	keptCode = 3
)

func withoutLongCode(text string) string {
	var kept, code []string
	var open fence.Fence
	endCode := func() {
		if len(code) > maxCode {
			code = append(code[:keptCode:keptCode], "…")
		}
		kept, code = append(kept, code...), nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		was := open.Open()
		open, _ = open.Next(line)
		if was && open.Open() {
			code = append(code, line)
			continue
		}
		endCode()
		kept = append(kept, line)
	}
	endCode()
	return strings.TrimSpace(strings.Join(kept, "\n"))
}

var (
	asides = lazy.Regexp(`(?s)<(details|think|thinking|summary|analysis)>.*?(</(details|think|thinking|summary|analysis)>|$)`)
	// emptyLine: marks of an exporter, numbered lines, rows of paths.
	emptyLine  = lazy.Regexp("^\\s*(_\\**_|\\d+\\s*[→│|]\\+?.*|\\|\\s*[^\\w|]*`?[\\w/.:~-]+`?[^\\w|]*\\|(\\s*[^\\w|]*(L?\\d+(-\\d+)?)?\\s*\\|)?|\\|.*(file://|\\bL\\d+\\b).*\\|?|Line \\d+: .*, severity: \\d+)\\s*$")
	blankLines = lazy.Regexp(`\n{3,}`)
)

// withoutAsides removes what the program adds, and announcements.
func withoutAsides(text string) string {
	if strings.Contains(text, "<") {
		text = asides().ReplaceAllString(text, "")
	}
	var kept []string
	var open fence.Fence
	for line := range strings.SplitSeq(text, "\n") {
		var isCode bool
		if open, isCode = open.Next(line); isCode {
			kept = append(kept, line)
		} else if !mayBeEmpty(line) || !emptyLine().MatchString(line) {
			kept = append(kept, withoutAnnouncements(line))
		}
	}
	text = strings.Join(kept, "\n")
	if strings.Contains(text, "\n\n\n") {
		text = blankLines().ReplaceAllString(text, "\n\n")
	}
	return strings.TrimSpace(text)
}

// mayBeEmpty is a cheap check whether emptyLine can match.
func mayBeEmpty(line string) bool {
	line = strings.TrimLeft(line, " \t\n\f\r")
	return line != "" && (strings.IndexByte("_|0123456789", line[0]) >= 0 || strings.HasPrefix(line, "Line "))
}

// withoutAnnouncements removes the sentences that announce the next step.
func withoutAnnouncements(line string) string {
	if !announces().MatchString(line) && !strings.Contains(line, ". ") && !strings.Contains(line, "! ") {
		return line
	}
	all := sentences(line)
	kept := all[:0:0]
	for _, sentence := range all {
		if !announces().MatchString(strings.TrimSpace(sentence)) || finds().MatchString(sentence) {
			kept = append(kept, sentence)
		}
	}
	if len(kept) == len(all) {
		return line
	}
	return strings.TrimSpace(strings.Join(kept, ""))
}

// proseOf returns a text without its fences, on one line.
func proseOf(text string) string {
	var prose []string
	var open fence.Fence
	for line := range strings.SplitSeq(text, "\n") {
		var isCode bool
		if open, isCode = open.Next(line); !isCode {
			prose = append(prose, line)
		}
	}
	return strings.Trim(oneLine(strings.Join(prose, "\n")), "_* ")
}

// hasProse reports whether a text has more than code.
func hasProse(text string) bool {
	return len(proseOf(text)) >= 20 || utf8.RuneCountInString(proseOf(text)) >= 8
}
