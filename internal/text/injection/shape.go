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
	shapeAsks    shape = iota // has a question mark
	shapeScripts              // letters of more than one script
	shapeLink                 // an address
	shapeCode                 // source code
	shapeList                 // a list item or a heading
	shapeShort                // few characters
	shapeColon                // a colon after a word
	shapeTable                // a table
	shapeComment              // an HTML comment, or styles that hide text
	shapeReach                // code that reaches out of its program
	shapeSecrets              // names of files that hold secrets
	shapes
)

var shapeNames = [shapes]string{"question", "scripts mixed", "link", "source code", "list", "short",
	"colon", "table", "hidden markup", "reaching code", "files of secrets"}

var (
	linkMarks = []string{"://", "www."}
	codeMarks = []string{"```", "import ", "def ", "func ", "();", "</", "={", "=>", "$ ", "const ",
		"return "}
	reachMarks = []string{"os.system", "subprocess", "requests.post", "requests.get", "urllib", "socket.",
		"ftplib", "smtplib", "paramiko", "exec(", "pickle.load", "nohup", "os.remove", "shutil.",
		"os.environ", "open(\"/", "child_process", "fetch(\"http", "chmod +x", "/etc/"}
	secretMarks = []string{".env", ".ssh", "id_rsa", "id_ed25519", "/etc/passwd", "/etc/shadow", ".aws/",
		"credentials", ".netrc", ".npmrc", ".kube/config", "keychain", ".gnupg"}
	commentMarks = []string{"<!--", "<! --", "display:none", "display: none", "visibility:hidden",
		"visibility: hidden", "font-size:0", "font-size: 0", "opacity:0", "opacity: 0",
		"color:white", "color: white", "aria-hidden"}
	listMarks = []string{"- ", "* ", "#", "• "}
)

// shapesOf returns the shapes of a window, by its text and its folded text.
func shapesOf(text, folded string) (s [shapes]bool) {
	start := strings.TrimLeft(text, " \t")
	s[shapeAsks] = strings.ContainsAny(text, "?？؟")
	s[shapeScripts] = mixesScripts(text)
	s[shapeLink] = containsAny(folded, linkMarks)
	s[shapeCode] = containsAny(folded, codeMarks)
	s[shapeList] = slices.ContainsFunc(listMarks, func(mark string) bool { return strings.HasPrefix(start, mark) })
	s[shapeShort] = utf8.RuneCountInString(text) < 80
	s[shapeColon] = strings.Contains(folded, ": ")
	s[shapeTable] = strings.Count(text, "|") >= 4
	s[shapeComment] = containsAny(folded, commentMarks)
	s[shapeReach] = containsAny(folded, reachMarks)
	s[shapeSecrets] = containsAny(folded, secretMarks)
	return s
}

func containsAny(text string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

// mixesScripts reports whether a text has letters of more than one script.
func mixesScripts(text string) bool {
	var seen uint // a bit per script
	for _, r := range text {
		if r < utf8.RuneSelf && !unicode.IsLetter(r) {
			continue
		}
		for i, script := range scripts {
			if unicode.Is(script, r) {
				seen |= 1 << min(i, firstOfJapanese)
				break
			}
		}
	}
	return seen&(seen-1) != 0
}

// scripts are those of the detector's languages. The last ones are mixed in Japanese.
var scripts = []*unicode.RangeTable{unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Arabic, unicode.Devanagari,
	unicode.Bengali, unicode.Thai, unicode.Hangul, unicode.Armenian, unicode.Hebrew,
	unicode.Han, unicode.Hiragana, unicode.Katakana}

const firstOfJapanese = 10
