package injection

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A shape is a property of a window's look.
type shape int

const (
	shapeCapitals  shape = iota // share of letters
	shapeExclaims               // exclamation marks
	shapeAsks                   // has a question mark
	shapeRepeats                // share of words that occurred before
	shapeRuns                   // a character repeated many times
	shapeSymbols                // share of characters but letters, digits and blanks
	shapeScripts                // letters of more than one script
	shapeBlob                   // a long run of letters and digits without blanks
	shapeSpaced                 // letters with blanks between them
	shapeHidden                 // invisible characters
	shapeTemplate               // tokens of chat templates
	shapeDelimiter              // lines such as "%%% END %%%"
	shapeComment                // an HTML comment, or styles that hide text
	shapeLink                   // an address
	shapeCode                   // source code
	shapeDialogue               // questions and answers, or roles
	shapeQuoted                 // quotes
	shapeBrackets               // brackets
	shapeDigits                 // share of characters
	shapeTable                  // a table
	shapeList                   // a list item or a heading
	shapeShort                  // few characters
	shapeColon                  // a colon after a word
	shapeSecrets                // names of files that hold secrets
	shapeShell                  // commands that load code and run it
	shapeReach                  // code that reaches out of its program
	shapes
)

// shapeNames are part of the model's file.
var shapeNames = [shapes]string{"capitals", "exclamation", "question", "repetition",
	"run of a character", "symbols", "scripts mixed", "blob", "letters apart",
	"hidden characters", "chat template", "delimiter", "hidden markup", "link", "source code",
	"dialogue", "quotes", "brackets", "digits", "table", "list", "short", "colon",
	"files of secrets", "loaded and run", "reaching code"}

// decidingTokens occur in chat templates only. Package sanitize escapes each of them
// (TestChatTokensAreDefused).
var decidingTokens = []string{"<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|system|>",
	"<|start_header_id|>", "<|eot_id|>", "[/inst]", "<<sys>>", "<</sys>>", "<start_of_turn>",
	"<end_of_turn>"}

// A window with the shape contains at least one of its marks.
var marks = [shapes][]string{
	shapeTemplate: slices.Concat(decidingTokens, []string{"<|", "|>", "[inst]", "</s>",
		"### instruction", "### system", "### response", "<system>", "</system>", "[system]",
		"<assistant>", "<user>", "<tool_call>", "<function_call", "</memory>", "begin system",
		"end of prompt", "end of instructions"}),
	shapeDelimiter: {"%%%", "####", "@@@", "====", "----- ", "___", "***", "<<<", ">>>", "[[",
		"]]", "~~~~"},
	shapeComment: {"<!--", "<! --", "display:none", "display: none", "visibility:hidden",
		"visibility: hidden", "font-size:0", "font-size: 0", "opacity:0", "opacity: 0",
		"color:white", "color: white", "aria-hidden"},
	shapeLink: {"://", "www."},
	shapeCode: {"```", "import ", "def ", "func ", "();", "</", "={", "=>", "$ ", "const ",
		"return "},
	shapeColon: {": "},
	shapeSecrets: {".env", ".ssh", "id_rsa", "id_ed25519", "/etc/passwd", "/etc/shadow", ".aws/",
		"credentials", ".netrc", ".npmrc", ".kube/config", "keychain", ".gnupg"},
	shapeShell: {"| sh", "| bash", "|sh", "|bash", "| sudo", "$(curl", "iex(", "powershell -e",
		"rm -rf /", "base64 -d", "eval(atob"},
	shapeReach: {"os.system", "subprocess", "requests.post", "requests.get", "urllib", "socket.",
		"ftplib", "smtplib", "paramiko", "exec(", "pickle.load", "nohup", "os.remove", "shutil.",
		"os.environ", "open(\"/", "child_process", "fetch(\"http", "chmod +x", "/etc/"},
}

var (
	dialogueMarks = []string{"q:", "a:", "user:", "assistant:", "human:", "ai:", "system:",
		"q :", "input:", "output:"}
	listMarks = []string{"- ", "* ", "#", "• "}
)

// shapesOf measures a window and its folded text.
func shapesOf(text, folded string) (s [shapes]float32) {
	for shape, parts := range marks {
		s[shape] = yes(containsAny(folded, parts))
	}
	c := count(text)
	s[shapeCapitals] = share(c.capitals, c.letters)
	s[shapeDigits] = share(c.digits, c.all)
	s[shapeSymbols] = share(c.symbols, c.all)
	s[shapeRepeats] = repetition(folded)
	s[shapeExclaims] = upTo(4, c.exclaims)
	s[shapeDialogue] = upTo(4, countAny(folded, dialogueMarks))
	s[shapeQuoted] = upTo(6, c.quotes)
	s[shapeBrackets] = upTo(8, c.brackets)
	s[shapeHidden] = upTo(8, c.hidden)
	s[shapeAsks] = yes(c.asks > 0)
	s[shapeScripts] = yes(c.scripts&(c.scripts-1) != 0)
	s[shapeRuns] = yes(c.repeated.longest >= 8)
	s[shapeBlob] = yes(c.blob.longest >= 40)
	s[shapeSpaced] = yes(c.spaced.longest >= 5)
	s[shapeShort] = yes(c.all < 80)
	s[shapeTable] = yes(strings.Count(folded, "|") >= 4)
	start := strings.TrimLeft(text, " \t")
	hasPrefix := func(mark string) bool { return strings.HasPrefix(start, mark) }
	s[shapeList] = yes(slices.ContainsFunc(listMarks, hasPrefix))
	return s
}

func share(n, of int) float32 { return float32(n) / float32(max(of, 1)) }

// upTo returns n as a share of most, at most 1.
func upTo(most, n int) float32 { return float32(min(n, most)) / float32(most) }

func yes(is bool) float32 {
	if is {
		return 1
	}
	return 0
}

// characters counts the characters of a window.
type characters struct {
	all, letters, capitals, digits, symbols, hidden int
	exclaims, asks, quotes, brackets                int
	scripts                                         uint // a bit per script
	repeated                                        run  // of one character
	blob                                            run  // of letters and digits
	spaced                                          run  // of words of one letter
}

// A run counts consecutive events.
type run struct{ now, longest int }

func (r *run) add(another bool) {
	if !another {
		r.now = 0
		return
	}
	r.now++
	r.longest = max(r.longest, r.now)
}

// count counts the characters of a text.
func count(text string) (n characters) {
	last, word := rune(-1), 0
	for _, c := range text {
		n.all++
		n.classify(c)
		n.punctuation(c)
		n.repeated.add(c == last && !strings.ContainsRune(" -=_*#.|", c))
		n.blob.add(isBlob(c))
		last = c
		if c > ' ' && c != '.' && c != '-' && c != '_' {
			word++
			continue
		}
		if word > 0 {
			n.spaced.add(word == 1)
		}
		word = 0
	}
	return n
}

// classify counts a letter, digit, symbol or invisible character.
func (n *characters) classify(c rune) {
	switch {
	case c >= 'a' && c <= 'z':
		n.letters++
		n.scripts |= 1
	case c >= 'A' && c <= 'Z':
		n.letters++
		n.capitals++
		n.scripts |= 1
	case c >= '0' && c <= '9':
		n.digits++
	case c <= ' ':
	case c < utf8.RuneSelf:
		n.symbols++
	case isInvisible(c):
		n.hidden++
	case unicode.IsLetter(c) || unicode.IsMark(c):
		n.letters++
		n.scripts |= scriptOf(c)
	case unicode.IsSpace(c):
	default:
		n.symbols++
	}
}

// punctuation counts marks, quotes and brackets.
func (n *characters) punctuation(c rune) {
	switch c {
	case '!', '！':
		n.exclaims++
	case '?', '？', '؟':
		n.asks++
	case '"', '“', '”', '«', '»', '「', '」', '『', '』', '\'', '`':
		n.quotes++
	case '[', ']', '{', '}', '<', '>', '【', '】':
		n.brackets++
	}
}

func isBlob(c rune) bool {
	return c < utf8.RuneSelf && isBase64(byte(c)) && c != '-' && c != '_'
}

// repetition returns the share of words that occurred before, 0 in a short text.
func repetition(folded string) float32 {
	seen := make(map[string]struct{}, len(folded)/6) // one a word: growing takes longer than counting
	n := 0
	for word := range strings.FieldsSeq(folded) {
		n++
		seen[word] = struct{}{}
	}
	if n < 12 {
		return 0
	}
	return share(n-len(seen), n)
}

func containsAny(text string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

func countAny(text string, parts []string) (n int) {
	for _, part := range parts {
		n += strings.Count(text, part)
	}
	return n
}

// scriptEnds are the first characters after each script, in order.
var scriptEnds = []rune{0x370, 0x400, 0x530, 0x600, 0x780, 0x980, 0xA00, 0xE00, 0xE80}

// scriptOf returns a bit for a letter's script, 0 for rare ones. Scripts that are mixed in writing
// share a bit.
func scriptOf(r rune) uint {
	switch {
	case r >= 0x1E00 && r < 0x1F00: // Latin
		return 1
	case r >= 0x1F00 && r < 0x2000: // Greek
		return 2
	case r >= 0x1100 && r < 0x1200 || r >= 0xAC00 && r < 0xD7B0: // Hangul
		return 512
	case r >= 0x3040 && r < 0xA000: // Kana and Han
		return 1024
	}
	for i, end := range scriptEnds {
		if r < end {
			return 1 << i
		}
	}
	return 0
}
