// Package prompt parses prompts: the person's own words, the files, things and errors that they
// name, and whether they ask for anything.
package prompt

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memcore/memcore/internal/markdown/fence"
	"github.com/memcore/memcore/internal/text/excerpt"
	"github.com/memcore/memcore/internal/text/lazy"
)

// A Kind is the kind of a prompt.
type Kind string

const (
	// Request asks for something in words.
	Request Kind = "request"
	// Acknowledgement lets the agent continue: "ok, proceed".
	Acknowledgement Kind = "acknowledgement"
	// Selection picks from the agent's list: "address 3, 8 and 11".
	Selection Kind = "selection"
	// Command is a slash command with its arguments.
	Command Kind = "command"
	// Pasted is output or code without own words.
	Pasted Kind = "pasted"
)

// A Prompt is a parsed prompt.
type Prompt struct {
	// Own is the person's own words, without pasted lines.
	Own string
	// Plain is Own without what only makes it polite (see Plain). Only Parse sets it.
	Plain string
	// Pasted is the number of pasted bytes.
	Pasted int
	// Errors are up to three pasted lines, without times and levels.
	Errors []string
	// Files are names in Own, without "@".
	Files []string
	// Numbered are the numbered things in Own.
	Numbered []Numbered
	Kind     Kind
	// Plain asks, gives an order, or continues a conversation.
	Asks, Orders, Follows bool
	// AsksAgent: what is asked is what the agent did or does.
	AsksAgent bool
	// AsksAnew: a question in whole words follows the opening of a prompt that Follows.
	AsksAnew bool
	// AsksForWork: "can you add a test?", not "can you tell me …".
	AsksForWork bool
	// GoesOn: it goes on with a stage of work. NamesRules: it names a project's rules.
	GoesOn, NamesRules bool
}

// NamesFile reports whether a file name contains a word.
func (p Prompt) NamesFile(word string) bool {
	word = strings.ToLower(word)
	return slices.ContainsFunc(p.Files, func(file string) bool {
		return strings.Contains(strings.ToLower(file[strings.LastIndexByte(file, '/')+1:]), word)
	})
}

// Paths returns a text's files, absolute ones also without "/".
func Paths(text string) (paths []string) {
	for _, file := range Parse(text).Files {
		paths = append(paths, file)
		if absolute := "/" + file; strings.Contains(text, absolute) {
			paths = append(paths, absolute)
		}
	}
	return paths
}

// A Numbered is such as task 003, PR #170, ADR-12.
type Numbered struct {
	Noun   string // in lower case; "" for "#170"
	Number string // as written, without "#"
}

// longest bytes are read of a prompt, half from either end.
const longest = 64 << 10

// Parse parses a prompt.
func Parse(text string) Prompt {
	p := Form(text)
	p.Files = filesIn(p.Own)
	p.Numbered = numberedIn(p.Own)
	p.Plain = Plain(p.Own)
	p.Asks = HasQuestionMark(p.Plain) || asks.MatchString(p.Plain)
	p.Orders = orders.MatchString(p.Plain)
	p.Follows = follows.MatchString(p.Plain)
	p.AsksAgent = asksAgent.MatchString(p.Plain)
	p.AsksAnew = p.Follows && anew.MatchString(p.Plain)
	p.AsksForWork = helps.MatchString(p.Own) && !tellsThem.MatchString(p.Own)
	p.GoesOn = goesOnWith.MatchString(p.Own)
	p.NamesRules = namesRules.MatchString(p.Own)
	return p
}

// Form is Parse for Own, Pasted, Errors and Kind.
func Form(text string) Prompt {
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest/2], "") + "\n" + strings.ToValidUTF8(text[len(text)-longest/2:], "")
	}
	own, pasted := separate(text)
	p := Prompt{Own: strings.TrimSpace(attached().ReplaceAllString(own, "$1"))}
	for _, line := range pasted {
		p.Pasted += len(line) + 1
	}
	p.Errors = errorsIn(pasted)
	p.Kind = kindOf(p.Own, len(pasted) > 0)
	return p
}

// attached matches what editors insert for a selection, a terminal or a workspace.
var attached = lazily(`(^|\s)(#(terminal(Last)?(Command|Selection)|selection|codebase|changes|problems|editor|testFailure)|@(agent|workspace|terminal|vscode))\b`)

// asksAgent matches at the beginning.
var asksAgent = lazily(`(?i)^\W*((ok|okay|so|and|but|now|well|wait)\W+)*((where|what|which( \w+)?|in (what|which) \w+) )?(did|have|are|were) you\b|^\W*(hast|bist|warst) du\b|^\W*(as-tu|avez-vous|es-tu)\b|^\W*(hiciste|has hecho|estás)\b`)

var (
	asks   = lazily(`(?i)^\W*((can|could|may|should|do|does|did|is|are|was|were|has|have|will|am) (i|we|it|there|the|this|that|they|our|my|any\w*|some\w*)|(in|at|on|to|from|for|by|with) (which|what|whom|where|when)|(in|an|auf|um|von|zu|mit|für|bei|aus|seit|ab|bis|unter|über) (welche[rsnm]?|wem|wen|wie|was|wann|wo)|dürfen|(müssen|sollen|können|kann|darf|muss|soll|gibt|bekommt|hat|haben|ist|sind|wird) (man|ich|wir|es|der|die|das)|` + tellings + `|what|why|how|which|who|whom|whose|where|when|wie|was|warum|wieso|welche[rsnm]?|wer|wen|wem|wo|wann|wo(mit|her|hin|für|zu|von|ran|rauf)|wora[nu]f?|qué|cómo|por qué|quién|dónde|cuándo|cuál|que|comment|pourquoi|quel(le)?s?|qui|où|quand)\b|什么|怎么|为什么|哪|谁|吗|なぜ|どう|何|どこ|いつ|誰|ですか`)
	orders = lazily(`(?i)^\W*((please|ok|okay|now|so|and|then|let's|bitte)\W+)*(update|fix|implement|add|create|make|write|run|remove|hide|change|move|commit|push|analy[sz]e|read|continue|proceed|mark|rename|delete|refactor|build|install|start|aktualisiere|erstelle|lies|schreib|actualiza|crea|lee|mets|ajoute|lis)\b`)
	anew   = lazily(`(?i)^\W*(ok|okay|so|and|but|now|well|hmm|great|good|perfect|thanks|cool|nice|right|wait|actually|ja|und|aber|also|gut)[\s,.!]+((how|where|when|which|who) (do|does|did|can|should|is|are|was|were|will|\w+ (is|are|do|does|did|was|were|has|have|should))|(can|may|should|do) (i|we)|(wie|wo|wann|wer|welche[rsnm]?|wohin) \w+)\b`)
	// helps asks for work, tellsThem for an answer.
	helps = lazily(`(?i)(^|[.!?,;:\n-]|\b(and|but|so|also|then|now|please|ok|okay))\s*(can|could|would|will)\s+(you|we)\b|\blet'?s\b|\bhelp me\b|\bi need\b|\bwould it be\b|(^|\s)@agent\b|` +
		`\b(kannst|könntest|könnten|können) (du|wir|sie)\b|\b(puedes|podrías|podemos) |\b(peux-tu|pouvez-vous|peut-on|pourrais-tu)|帮我|帮忙|帮修|してください|してくれ|してもらえ`)
	tellsThem  = lazily(`(?i)\b(can|could|would|will)\s+(you|we)\s+(please\s+)?(tell|remind|explain|show|give|remember|recall|say)\b`)
	goesOnWith = lazily(`(?i)^\W*(please\s+)?(proceed|continue|go on|start|carry on|move on|resume|weiter|continúa|continue)\b`)
	namesRules = lazily(`(?i)\b(the|our|your|these|project|coding|code) (rules|conventions|guidelines)\b|\b(code style|style guide)\b|(项目|代码)(规范|规则)|規約`)
	greets     = lazily(`(?i)^\W*(hi|hello|hey|good (morning|afternoon|evening|night)|hallo|moin|servus|guten (morgen|tag|abend)|gute nacht|bonjour|bonsoir|salut|hola|buenos d[ií]as|buenas (tardes|noches)|ciao|buon(giorno|asera)|bom dia|boa (tarde|noite))([\s,]+(again|there|claude|gemini|codex|all|everyone|zusammen))?\W*$|^(早上好|你好|您好|晚上好|おはよう(ございます)?|こんにちは|こんばんは|안녕(하세요)?|привет|добр(ое утро|ый день|ый вечер)|здравствуйте)[\s!！。.]*$`)
	follows    = lazily(`(?i)^\W*(ok|okay|k|yes|yeah|no|nope|and|but|so|then|also|hmm|well|great|good|perfect|thanks|cool|nice|right|wait|actually|still|why not|it|that|this|those|these|ja|nein|und|aber|also|gut|sí|pero|y|oui|non|et|mais)\b`)
)

// IsTelling reports whether a word says what a prompt is about: it is not common in all prompts.
func IsTelling(word string) bool {
	word, _, _ = strings.Cut(strings.ReplaceAll(strings.ToLower(word), "’", "'"), "'")
	return utf8.RuneCountInString(word) > 1 && !isNumber(word) && !everyday()[word]
}

// everyday are English stop words and prompts' common words.
var everyday = lazy.Set(`a about above actually add again all also an and any app are as ask at be because been before best better bit both build but by can cause change changelog check class clean
	code codebase command complete continue corresponding could create critical current data detailed did different directory do doc docs document documentation does done down each ensure error errors
	explain feature file files find first fix fixed following folder for from function get give go good got great had has have help here his how i if implement implementation improve in input into is issue issues it item
	items its just keep kind know last let lets like line lines list look lot made make many mark may maybe me method might more most move much must my name names need new next nice no not now number of ok okay old on
	one only option options or other our out over own path phase plan please probably problem problems proceed progress project put question read readme really refactor repo repository result results review right run same
	say see set shall she should show so some something start step steps still stop such summary sure take task tasks tell test tests than thanks that the their them then there these they thing things think this those
	through time to todo todos too try type types understand up update us use used using value variable very want was way we well were what when where which while who whom why will with work worked working works would
	write wrong yeah yes yet you your`)

// maxTitle is in bytes.
const maxTitle = 1000

// Title returns a heading: the own words on one line, or the first pasted error. An acknowledgement
// or selection has none.
func Title(text string) string { return Form(text).Title() }

// Title is the function Title for a parsed prompt.
func (p Prompt) Title() string {
	title := p.Own
	switch {
	case p.Kind == Acknowledgement || p.Kind == Selection:
		return ""
	case p.Kind == Pasted && len(p.Errors) > 0:
		title = p.Errors[0]
	}
	return excerpt.Head(spaces().ReplaceAllString(title, " "), maxTitle)
}

// separate returns typed lines as one text, and pasted ones.
func separate(text string) (own string, pasted []string) {
	lines := strings.Split(text, "\n")
	is := make([]bool, len(lines)) // pasted
	var open fence.Fence
	for i, line := range lines {
		was := open.Open()
		open, is[i] = open.Next(line)
		is[i] = is[i] || was || looksPasted(line) && !beginsWithWords(line)
	}
	fillGaps(lines, is)
	var kept []string
	for i, line := range lines {
		if !is[i] && beginsWithWords(line) {
			at := logged.FindStringIndex(line)
			kept, pasted = append(kept, line[:at[0]]), append(pasted, line[at[0]:])
		} else if is[i] {
			pasted = append(pasted, line)
		} else {
			kept = append(kept, line)
		}
	}
	return strings.TrimSpace(strings.Join(kept, "\n")), pasted
}

// beginsWithWords reports whether a log record follows typed words.
func beginsWithWords(line string) bool {
	at := logged.FindStringIndex(line)
	return at != nil && isSentence(line[:at[0]])
}

// fillGaps marks up to three lines between pasted ones, wrapped log messages, unless one is a
// sentence.
func fillGaps(lines []string, pasted []bool) {
	before := -1 // the last pasted line
	for i := range lines {
		if !pasted[i] {
			continue
		}
		if gap := i - before - 1; before >= 0 && gap > 0 && gap <= 3 && !slices.ContainsFunc(lines[before+1:i], isSentence) {
			for j := before + 1; j < i; j++ {
				pasted[j] = true
			}
		}
		before = i
	}
}

// isSentence reports whether a line has at least four words, most of them plain.
func isSentence(line string) bool {
	words := strings.Fields(line)
	plain := 0
	for _, word := range words {
		if isPlain(word) {
			plain++
		}
	}
	return plain >= 4 && plain*10 >= len(words)*7
}

// isPlain reports whether a word is letters, perhaps between punctuation.
func isPlain(word string) bool {
	if len(word) > 1 && word[0] == '-' {
		return false // an option
	}
	word = strings.Trim(word, ".,;:!?\"'()`*_’“”…-")
	if word == "" {
		return false
	}
	for _, r := range word {
		if !unicode.IsLetter(r) && r != '\'' && r != '’' && r != '-' {
			return false
		}
	}
	return true
}

// Forms of lines. People do not type output.
var (
	output = form{lazily(strings.Join([]string{
		`^\W{0,3}\d{4}[-/]\d\d[-/]\d\d[T ,]+\d\d:\d\d`,                              // 2026-02-12 17:38:00
		`^\W{0,3}\d\d[-/]\d\d[-/]\d\d(\d\d)?[ ,]+\d\d:\d\d`,                         // [02/26/25 22:15:19]
		`^\W{0,3}\d\d:\d\d:\d\d[.,\s\]]`,                                            // 17:38:00.123
		`^time=\d{4}-|^level=[A-Za-z]+ `,                                            // logfmt
		`^\s*\W?(DEBUG|INFO|WARN|WARNING|ERROR|TRACE|FATAL|CRITICAL)\W?(\s{2,}|: )`, // a level
		`^\s+at .+[:(]\d+`,                                                          // a frame of a stack
		`^\s*File ".*", line \d+`,
		`^\s*[\w.]*(Error|Exception|Warning): `,
		`^Traceback |^goroutine \d+ |^panic: |^\s*\^+\s*$|^\s*~*\^[~^]*\s*$`,
		`^\s*[\w./\\~-]+\.\w{1,5}(\?\S*)?:\d+(:\d+)?[:\s]`,   // a compiler's message, a browser's console
		`^\s*[\w./\\~-]*\?\S+=\S*:\d+\s`,                     // a page in that
		`^\s{12,}\S|\S\s{8,}\S`,                              // columns
		`[─━│┃┌┐└┘├┤╭╮╰╯═║█▏]{2,}|\x1b\[`,                    // frames, colours
		`^(diff --git|index [0-9a-f]{7}|@@ |\+\+\+ |--- \S)`, // a patch
	}, "|"))}
	code = form{lazily(strings.Join([]string{
		`^\s*([\w.@~/:-]+\s?)?[$%❯➜]\s`, // a shell
		`^\s*[{}\[\]<>|│]`,              // JSON, XML, tables
		`^\s*["'][\w.-]+["']\s*:`,       // a field of JSON
		`^\s{8,}\S`,                     // far indented
		`\S{80,}`,                       // too long for a word
	}, "|"))}
	flag = form{lazily(`\s(--?[A-Za-z][\w-]*)(\s|=|$)`)}
	// logged begins a log record, perhaps after typed words.
	logged = form{lazily(`\btime=\d{4}-\d\d-|\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d`)}
)

func looksPasted(line string) bool {
	switch {
	case strings.TrimSpace(line) == "":
		return false
	case output.MatchString(line):
		return true
	case code.MatchString(line):
		return !isSentence(strings.TrimLeft(line, " \t>|"))
	case flag.MatchString(line) && !isSentence(line):
		return true // a command line
	case len(line) < 40:
		return false
	}
	letters, all := 0, 0
	for _, r := range line {
		all++
		if unicode.IsLetter(r) || r == ' ' {
			letters++
		}
	}
	return letters*10 < all*6
}

var (
	failure = lazily(`(?i)\b(error|exception|panic|fatal|fail(ed|ure|s)?|denied|refused|not found|no such|cannot|can't|undefined|unable|timed? ?out|exceeded|missing|invalid|unexpected|warning)\b|[a-z](Error|Exception|Warning)\b`)
	named   = lazily(`\w(Error|Exception|Warning)\b|(?i)\b(error|panic|fatal):|error="`)
	prelude = lazily(`^\W*(\d{4}[-/]\d\d[-/]\d\d\S*|\d\d[-/]\d\d[-/]\d\d(\d\d)?|\d\d:\d\d:\d\d\S*|time=\S+|level=\S+|DEBUG|INFO|WARNING|WARN|ERROR|[\w./\\~-]+\.\w{1,5}:\d+(:\d+)?:?|\s)+\W*`)
	spaces  = lazily(`\s+`)
)

const (
	maxErrors = 3
	maxError  = 240
)

// errorsIn returns those first that name a kind of error.
func errorsIn(lines []string) []string {
	var first, others []string
	for _, line := range lines {
		if !failure.MatchString(line) {
			continue
		}
		text := spaces().ReplaceAllString(strings.TrimSpace(prelude().ReplaceAllString(line, "")), " ")
		if utf8.RuneCountInString(text) < 8 {
			continue
		}
		text = excerpt.Head(text, maxError)
		switch {
		case slices.Contains(first, text) || slices.Contains(others, text):
		case named.MatchString(line):
			first = append(first, text)
		default:
			others = append(others, text)
		}
	}
	if len(first) > 1 { // the cause is the first line of a log, the last of a trace
		first = []string{first[0], first[len(first)-1]}
	}
	all := append(first, others...)
	return all[:min(len(all), maxErrors)]
}

var (
	at       = lazily(`(?:^|[\s("'` + "`" + `:,])@([\w./~+-]*\w)`)
	fileName = lazily(`[\w~./\\+-]*[\w~+-]\.[A-Za-z][A-Za-z0-9]{0,5}\b`)
	address  = lazily(`\w+://\S+|\S+@\S+\.\w+`)
)

// extensions are those of file names.
var extensions = lazy.Set(`md mdx mdc markdown txt rst adoc go py js mjs cjs ts tsx jsx rs java kt kts swift c h cc cpp hpp cs rb php
	sh bash zsh fish ps1 sql json jsonl yaml yml toml ini cfg conf env xml html htm css scss less vue svelte proto graphql tf lua r jl ex exs
	erl hs ml scala clj dart zig nim lock mod sum log csv tsv ipynb pdf dockerfile gradle`)

// filesIn returns the files in a text, each once.
func filesIn(text string) []string {
	text = address().ReplaceAllStringFunc(text, func(found string) string {
		if strings.Contains(found, "://") {
			return " "
		}
		return found
	})
	var files []string
	add := func(name string) {
		name = strings.TrimRight(strings.ReplaceAll(name, `\`, "/"), ".")
		for strings.HasPrefix(name, "../") || strings.HasPrefix(name, "./") {
			name = name[strings.Index(name, "/")+1:]
		}
		name = strings.TrimLeft(name, "/")
		if name != "" && !slices.Contains(files, name) {
			files = append(files, name)
		}
	}
	for _, m := range at().FindAllStringSubmatch(text, 16) {
		add(m[1])
	}
	for _, name := range fileName().FindAllString(text, 32) {
		if extension := name[strings.LastIndexByte(name, '.')+1:]; extensions()[strings.ToLower(extension)] {
			add(name)
		}
	}
	return files
}

var numbered = lazily(`(?i)(?:\b(task|issue|pr|pull request|merge request|mr|ticket|bug|adr|rfc|spec|story|step|phase|milestone|sprint|chapter|section|version|case|item|observation|finding|todo)s?\b[\s:]*#?\s*-?|#)(\d{1,6}(?:\.\d+)*)\b`)

func numberedIn(text string) []Numbered {
	var all []Numbered
	for _, m := range numbered().FindAllStringSubmatch(text, 16) {
		if n := (Numbered{Noun: strings.ToLower(m[1]), Number: m[2]}); !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	if command, rest, ok := strings.Cut(strings.TrimSpace(text), " "); ok && strings.HasPrefix(command, "/") {
		noun := strings.ToLower(strings.TrimPrefix(command, "/"))
		words := strings.Fields(rest)
		for _, word := range words[:min(len(words), 16)] {
			word = strings.TrimPrefix(strings.Trim(word, ",.;"), "#")
			if n := (Numbered{Noun: nounOf(noun), Number: word}); isNumber(word) && !slices.Contains(all, n) {
				all = append(all, n)
			}
		}
	}
	return all
}

// nounOf returns "pr" of "pr-review".
func nounOf(command string) string {
	for _, part := range strings.FieldsFunc(command, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if numbered.MatchString(part + " 1") {
			return part
		}
	}
	return ""
}

func isNumber(word string) bool {
	return word != "" && strings.IndexFunc(word, func(r rune) bool { return r < '0' || r > '9' }) < 0
}

// kindOf returns the kind of a prompt.
func kindOf(own string, pasted bool) Kind {
	words := wordsOf(own)
	switch {
	case len(words) == 0 && pasted:
		return Pasted
	case strings.HasPrefix(own, "/") && len(words) > 0 && !strings.Contains(strings.Fields(own)[0][1:], "/"):
		return Command
	}
	if greets.MatchString(own) {
		return Acknowledgement
	}
	if len(words) > maxAcknowledged || asks.MatchString(own) && len(words) > 1 {
		return Request
	}
	numbers, others := 0, 0
	for _, word := range words {
		switch {
		case isNumber(word) || utf8.RuneCountInString(word) == 1 && word[0] < utf8.RuneSelf && word != "i" && word != "a":
			numbers++
		case !goesOn()[word] && !picks()[word]:
			others++
		}
	}
	switch {
	case others == 0 && numbers == 1 && strings.Contains(own, "#"):
		return Request // it names a thing
	case others == 0 && numbers > 0:
		return Selection
	case others == 0 && !slices.ContainsFunc(words, func(w string) bool { return !goesOn()[w] }):
		return Acknowledgement
	case unspacedAcknowledgement(own):
		return Acknowledgement
	}
	return Request
}

// maxAcknowledged bounds the words of an acknowledgement or selection.
const maxAcknowledged = 12

// goesOn are words of acknowledgements, picks further words of selections.
var (
	goesOn = lazy.Set(`a accept accepted agree agreed ahead später later mañana alright all and again also approve approved awesome better but can carry complete confirm confirmed continue cool correct course do doing done else everything
		exactly excellent execute fine finish first fix for from get go going good got great hello hey hi i implement in is it it's its just keep k let let's lets like looks
		lgtm make me move much my next nice no nope now of off ok okay on one onto perfect please proceed ready really resume right run same sgtm should so
		sounds start step stop sure take thank thanks that that's the them then there these they this those to too try u up very was way we well what
		work working works yeah yep yes yet you your
		retry einverstanden genehmigt aprobado approuvé ja nein weiter mach mache bitte danke gut genau fertig passt alles das sie ok einfach los jetzt und
		war wars war's für heute erstmal bin gleich wieder da zurück dir euch bis morgen dann
		sí si vale sigue continúa continua gracias perfecto bien adelante todo hazlo eso esto es por hoy ya está
		oui non continue merci parfait vas-y d'accord très bien tout c'est bon
		sim não obrigado obrigada continue prossiga certo ótimo é só isso isto hoje это всё все на сегодня да нет продолжай спасибо хорошо давай сделай это отлично пожалуйста большое дальше
		super vielen dank klar beaucoup genial claro listo por favor muchas grazie mille sì va bene perfetto avanti شكرا نعم استمر تابع حسنا`)
	picks = lazy.Set(`address both choose do fix go handle implement item items number numbers observation observations only option options pick point points resolve
		second select skip third todo use with nimm nur punkt punkte opción opciones`)
	unspacedGoesOn = []string{"好", "好的", "继续", "可以", "是", "是的", "对", "对的", "谢谢", "行", "没问题", "开始", "请继续", "同意", "重试", "就这些", "好了", "繼續", "はい", "お願いします", "続けて", "続けてください", "ありがとう",
		"了解", "進めて", "進めてください", "いいです", "いいね", "네", "계속", "계속해", "좋아", "고마워"}
)

func unspacedAcknowledgement(own string) bool {
	parts := strings.FieldsFunc(own, func(r rune) bool { return strings.ContainsRune(" 。.,，！!？?~～、\n", r) })
	return len(parts) > 0 && !slices.ContainsFunc(parts, func(part string) bool { return !slices.Contains(unspacedGoesOn, part) })
}

func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(strings.ReplaceAll(text, "’", "'")), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' && r != '-'
	})
}
