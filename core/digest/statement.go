package digest

import (
	"iter"
	"slices"
	"strings"
	"unicode"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/markdown/fence"
	"github.com/memcore/memcore/internal/text/excerpt"
	"github.com/memcore/memcore/internal/text/lazy"
	"github.com/memcore/memcore/internal/text/prompt"
	"github.com/memcore/memcore/internal/text/stated"
)

const (
	minStatement  = 8    // bytes
	maxOwn        = 2500 // bytes of a message in the user's words; a longer one is a document
	maxLead       = 600  // bytes before the first heading of a document
	minDocumented = 2    // headings
)

// state adds the statements of a text of the user. Of an answer in a dialog only what stands does
// without the question.
func (s *summary) state(t chunker.Turn, text string, answers bool) {
	all := spoken(text)
	at := stated.Place{Opens: s.current(t) == nil, Answers: answers}
	last := len(all) - 1
	for last > 0 && all[last].rest {
		last--
	}
	for i := 0; i < len(all); i++ {
		if all[i].rest {
			continue
		}
		at.First, at.Last = i == 0, i == last
		one := classify(all[i].text, at)
		if one.Kind == "" || (all[i].listed || answers) && !one.Standing {
			continue
		}
		one.Text = all[i].text
		for i+1 < len(all) && belongs(all[i+1]) && len(one.Text)+1+len(all[i+1].text) <= maxStatement {
			i++
			one.Text += " " + all[i].text
		}
		s.said(t, one)
	}
}

// belongs reports whether a sentence is shown with the statement before it: it gives its reason, or
// says when or what it holds for.
func belongs(next spokenSentence) bool {
	return next.rest || givesReason(next.text) || next.follows && restricts(next.text)
}

// said adds a statement; an equal earlier one is replaced.
func (s *summary) said(t chunker.Turn, one Statement) {
	if len(one.Text) > maxStatement || strings.Contains(one.Text, "[redacted:") {
		return
	}
	one.Line, one.Session, one.Time, one.Moments = t.Line, t.Session, t.Time, momentsOf(one.Text)
	if e := s.current(t); e != nil && len(one.Moments) == 0 && !one.Standing {
		one.Moments = e.Moments
	}
	if t.Dialog == chunker.DialogChoice || t.Dialog == chunker.DialogAnswer {
		one.Asked = line(t.Asked)
	}
	if s.texts[one.Text] {
		s.Statements = slices.DeleteFunc(s.Statements, func(o Statement) bool { return o.Text == one.Text })
	}
	s.texts[one.Text] = true
	s.Statements = append(s.Statements, one)
}

// headed matches the headings of a document.
var headed = lazy.Regexp(`(?m)^#{1,4} \S`)

// quoted matches what introduces the words of others: a plan, a comment of a review.
var quoted = lazy.Regexp(`(?im)^.{0,60}\b(?:implement the (?:following )?plan|following plan|(?:another |got this |a |this )?(?:review )?comments?(?: from (?:a|the) reviewer)?(?:, what say you\?)?|let's (?:address|look at|consider|talk about)(?: this| these| \d)*|address (?:this|these)|fix|consider this \w+|from the (?:docs|issue|review|ticket))\s*:\s*(?:\S|$)` +
	`|^.{0,80}\b(?:says?|said|wrote|writes|contents of \S+|translate (?:this|that).{0,30}|following text)\s*[:.]\s*(?:\S|$)` +
	`|^\W*(?:let's )?(?:address|fix|look at)(?: this| these)?[\s:]+(?:\d{1,3}\. |- |#\d)`)

// indented matches a paragraph that goes on with a pasted list.
var indented = lazy.Regexp(`^\n*(?:\s{2,}|\t|[-*+•]|\d{1,3}[.)])`)

// lead returns the part of a message that is the user's own words: of own, which is the message
// without what looks pasted.
func lead(own, message string) string {
	text := own
	at := quoted().FindStringIndex(text)
	if at == nil && len(message) > len(own) && quoted().MatchString(message) {
		at = []int{0, 0} // what introduces the words of others was taken for pasted with them
	}
	if at != nil {
		last := text[strings.LastIndex(text, "\n\n")+1:]
		if plan := strings.Contains(strings.ToLower(text[:at[1]]), "plan"); len(last) < len(text)-at[1] && !plan && !indented().MatchString(last) {
			return text[:at[0]] + last // what comes last may be the user's again
		}
		return text[:at[0]]
	}
	heads := headed().FindAllStringIndex(text, minDocumented)
	if len(text) > maxOwn || len(heads) >= minDocumented {
		if len(heads) > 0 {
			text = text[:heads[0][0]]
		}
		if len(text) > maxLead {
			text = text[:strings.LastIndexAny(text[:maxLead], " \n")+1]
		}
	}
	return text
}

// A sentence of the user.
type spokenSentence struct {
	text    string
	listed  bool // an item of a list, which is often pasted
	follows bool // another, in the same line
	rest    bool // it restricts the one before, and is no prose by itself: "Not 3000."
}

// otherText matches a quotation, and a piece of a page.
var otherText = lazy.Regexp(`(?i)^\s*["“„«⏺⎿]|^\s*\[\d{1,2}:\d\d(?::\d\d)?\]|^(?:assistant|human|from|subject|npm \w+): |^npm \w+ |^[-*+#•\t ]*>|</[a-z]|^\s*[│┃|╭╰┏┗┡━─]|<(?:html|body|div|span|p|a|h[1-6]|li|td|br|img|script|title)\b[^<>]*>`)

// spoken returns the sentences of a text without code, quotations and questions.
func spoken(text string) []spokenSentence {
	var all []spokenSentence
	var open fence.Fence
	for l := range strings.SplitSeq(text, "\n") {
		var isCode bool
		if open, isCode = open.Next(l); isCode || strings.HasPrefix(strings.TrimSpace(l), "#") || otherText().MatchString(l) {
			continue
		}
		trimmed := listMark().ReplaceAllString(l, "")
		listed, follows := len(trimmed) != len(l), false
		for from, to := range chunker.Sentences(trimmed) {
			for part := range parts(trimmed[from:to]) {
				sentence := line(strings.Trim(part, "*_ "))
				isOwn := len(sentence) >= minStatement && isProse(sentence)
				if len(sentence) <= maxStatement && (isOwn || follows && restricts(sentence)) {
					all = append(all, spokenSentence{sentence, listed, follows, !isOwn})
					follows = true
				}
			}
		}
	}
	return all
}

// Sentences returns the sentences of a user's message that may state something. It leaves out code,
// quotations, headings, and text that looks pasted.
func Sentences(message string) (all []string) {
	message = excerpt.Head(strings.TrimSpace(message), maxRead)
	for _, s := range spoken(lead(prompt.Form(message).Own, message)) {
		if !s.rest {
			all = append(all, s.text)
		}
	}
	return all
}

// parts returns the sentences of what people write without capitals.
func parts(sentence string) iter.Seq[string] {
	return func(yield func(string) bool) {
		from := 0
		for _, end := range endings().FindAllStringIndex(sentence, -1) {
			if !yield(sentence[from:end[1]]) {
				return
			}
			from = end[1]
		}
		if from < len(sentence) {
			yield(sentence[from:])
		}
	}
}

// isProse reports whether most of a sentence is words.
func isProse(sentence string) bool {
	letters, all := 0, 0
	for _, r := range sentence {
		all++
		if unicode.IsLetter(r) || r == ' ' || r == '\'' || r == ',' || r == '.' {
			letters++
		}
	}
	return letters*10 >= all*7
}

// reasoning is in a sentence that gives the reason for the one before, or says what is right instead.
var reasoning = lazy.Regexp(`(?i)\b(?:instead|stattdessen|en su lugar|à la place)[.!]?$|^(?:otherwise|or else|because|since|that's because|this is because|the reason|sonst|weil|denn|porque|si no|sinon|parce que|car)\b|^(?:否则|不然|因为|そうしないと|なぜなら)`)

// givesReason reports whether a sentence belongs to the statement before it.
func givesReason(sentence string) bool {
	sentence = stated.Straight(sentence)
	return !isQuestion(sentence) && reasoning().MatchString(sentence)
}

// restricting begins a sentence without a verb that says when or what the one before holds for.
var restricting = lazy.Regexp(`(?i)^(?:(?:and|but|aber|pero|mais) )?(?:not|nicht|no en|pas|non|only|nur|solo|sólo|seulement|except|unless|außer|salvo|sauf|no exceptions?` +
	`|before|after|until|without|with|within|in|on|at|for|from|even|vor|nach|bis|ohne|bei|für|antes|después|hasta|sin|para|avant|après|sans|pour)\b[^,;:?]*$|^(?:不是|而不是)`)

// maxRestricting bounds such a sentence, in words.
const maxRestricting = 6

func restricts(sentence string) bool {
	return strings.Count(sentence, " ") < maxRestricting && restricting().MatchString(stated.Straight(sentence))
}

// Classify returns the kind of a sentence of a user, "" if it states nothing, and whether it holds
// for all later work.
func Classify(sentence string) (kind Kind, standing bool) {
	one := classify(sentence, stated.Place{})
	return one.Kind, one.Standing
}

// kinds are those of package stated.
var kinds = [stated.Kinds]Kind{stated.Rule: Rule, stated.Preference: Preference, stated.Decision: Decision, stated.Fact: Fact, stated.Correction: Correction}

// classify returns the kind of a sentence and whether it stands. What a program printed states
// nothing.
func classify(sentence string, at stated.Place) (s Statement) {
	text := stated.Straight(sentence)
	found, ok := stated.Classify(text, at)
	withdrawn := withdraws(text)
	switch {
	case !ok && !withdrawn && (!Introduces(text) || isQuestion(text)), printed().MatchString(text):
		return Statement{}
	case withdrawn:
		return Statement{Kind: Correction, Withdraws: true}
	case ok && found.Standing && complaining().MatchString(text):
		return Statement{Kind: kinds[found.Kind]}
	case ok:
		return Statement{Kind: kinds[found.Kind], Standing: found.Standing, Sure: found.Sure}
	}
	return Statement{Kind: Fact}
}

// complaining matches the beginning of a sentence about what somebody does or did. It is no rule:
// who says "you never ask me" wants to be asked.
var complaining = lazy.Regexp(`(?i)^\W*(?:and |but |so )?(?:you (?:never|always|keep|still)|du \S+ (?:nie|immer)|tu ne \S+ jamais|nunca \S+as|they|everybody|nobody|i never (?:said|asked|told|hate)|i hate)\b`)

func isQuestion(text string) bool {
	return strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？")
}

// How people introduce themselves. A name after "I am" has a capital; a Chinese one begins with a
// common family name.
var (
	introducing = lazy.Regexp(`(?i)` + strings.Join([]string{
		`\bmy (?:full |first |last )?name(?: is|'s)\b|\bcall me \w|\bi (?:live|work|study) (?:as|at|for|in|on|near)\b|\bi(?: am|'m) (?:from|based in|born|\d{1,3} years old)\b`,
		`\bmy (?:time ?zone|e-?mail|editor|team|role|company|employer|job|title|birthday|pronouns|native language|mother tongue|hobb(?:y|ies)|favou?rite \w+) (?:is|are)\b`,
		`\bich hei(?:ß|ss)e\b|\bmein name ist\b|\bich (?:wohne|lebe|arbeite) (?:in|bei|als|für)\b|\bich bin (?:ein|eine|der|die|von beruf|aus)\b`,
		`\bme llamo\b|\bmi nombre es\b|\bvivo en\b|\b(?:^|[.,;:!] |yo )trabajo (?:como|en|para)\b|\bsoy (?:un|una|el|la|de)\b`,
		`\bje m'appelle\b|\bmon (?:pr[eé])?nom est\b|\bj'habite\b|\bje travaille (?:comme|chez|en|pour)\b|\bje suis (?:un|une|de)\b`,
		`我(?:的名字)?叫[\p{Han}\p{Latin}]|我是(?:一名|一个|一位|个)|我的(?:名字|姓名|职业|工作|角色|邮箱|时区|生日|母语|公司)(?:是|叫)|我(?:住在|来自|在\p{Han}{1,12}(?:工作|上班))|我今年\d`,
		`(?:私|僕|俺)の(?:名前|職業|仕事|役割|誕生日|趣味|母語|会社)は|と申します|といいます|と言います|(?:私|僕|俺)は[\p{Han}\p{Katakana}ー]{1,10}(?:です|だ)|に住んでいます|で働いています`,
	}, "|"))
	named = lazy.Regexp(`\b(?:[Ii] am|[Ii]'m|[Ii]ch bin|[Ss]oy|[Jj]e suis) (\p{Lu}[\p{L}'-]+)(?: (?:\p{Lu}[\p{L}'.-]*|van|von|de|da|bin)){0,3}(?:[.,!;]|\s+(?:and|from|at|here|by|und|aus|y|et)\b|\s*$)` +
		`|我是[王李张張刘劉陈陳杨楊黄黃赵趙吴吳周徐孙孫马馬朱胡郭何高林罗羅郑鄭梁谢謝宋唐许許韩韓冯馮邓鄧曹彭曾肖萧田董袁潘于蒋蔣蔡余杜叶葉程苏蘇魏吕呂丁任沈姚卢盧姜崔钟鐘谭譚陆陸汪范金石廖贾賈夏韦韋付方白邹鄒孟熊秦邱江尹薛闫阎段雷侯龙龍史陶黎贺賀顾顧毛郝龚龔邵万萬钱錢严嚴武戴莫孔向汤湯][\p{Han}]{1,2}(?:[\s。.,，!！;；、]|$)`)
)

// noNames are other words that people capitalise after "I am".
var noNames = map[string]bool{"ok": true, "okay": true, "sorry": true, "not": true, "so": true, "sure": true, "done": true, "back": true, "ready": true, "afraid": true, "still": true, "now": true}

// Introduces reports whether a sentence says who the user is.
func Introduces(sentence string) bool {
	sentence = stated.Straight(sentence)
	if introducing().MatchString(sentence) {
		return true
	}
	found := named().FindStringSubmatch(sentence)
	if found == nil {
		return false
	}
	first := strings.ToLower(found[1])
	return !noNames[first] && !strings.HasSuffix(first, "ing")
}

// dialog adds what the user decided in a dialog of the agent. An option or a plan is in the words
// of the agent, so that it is a decision whatever it says. With what was asked, so are own words
// that state nothing by themselves, but for why a call was rejected: it may concern that call
// alone.
func (s *summary) dialog(t chunker.Turn, text string) {
	text = excerpt.Head(s.redact(text), maxRead)
	t.Text, t.Asked = text, s.redact(t.Asked)
	e := s.current(t)
	if e != nil {
		e.Interrupted = false
	}
	reply, before := line(t.Said()), len(s.Statements)
	switch t.Dialog {
	case chunker.DialogPlan:
		s.said(t, Statement{Text: excerpt.Words(line(t.Asked+" "+strings.Join(sentencesOf(text), " ")), maxStatement), Kind: Decision})
		return // the answer is what is approved
	case chunker.DialogRejection:
		reply = line(text)
		s.state(t, text, false)
	case chunker.DialogAnswer:
		s.state(t, text, true)
	}
	if t.Dialog != chunker.DialogRejection && len(s.Statements) == before {
		s.said(t, Statement{Text: excerpt.Words(reply, maxStatement), Kind: Decision})
	}
	if e != nil {
		e.Reply = excerpt.Words(Told(reply, line(t.Asked)), maxReply)
	}
}

// Told returns what a user said so that an agent's question with which it begins is told apart:
// asked "Which broker?": NATS.
func Told(said, asked string) string {
	answer, ok := strings.CutPrefix(said, asked)
	if asked == "" || !ok {
		return said
	}
	return `asked "` + asked + `": ` + strings.TrimLeft(answer, ": \n")
}
