package secret

import (
	"encoding/base64"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memcore/memcore/internal/text/lazy"
)

// A shape says of which kinds of characters a value consists.
type shape struct {
	letters, digits, capitals, signs int
	inner                            int // signs between letters that no word has: P@ssword
	turns                            int // changes between kinds
}

func shapeOf(value string) shape {
	var s shape
	before := 0
	runes := []rune(value)
	for i, r := range runes {
		kind := 4
		switch {
		case unicode.IsDigit(r):
			s.digits++
			kind = 1
		case unicode.IsUpper(r):
			s.capitals++
			s.letters++
			kind = 2
		case unicode.IsLetter(r) || unicode.IsMark(r):
			s.letters++
			kind = 3
		default:
			s.signs++
			if i > 0 && i < len(runes)-1 && strings.ContainsRune("@#$^~%=", r) && unicode.IsLetter(runes[i-1]) && unicode.IsLetter(runes[i+1]) {
				s.inner++
			}
		}
		if before != 0 && kind != before && !(before == 2 && kind == 3 && s.turns == 0 && i == 1) {
			s.turns++
		}
		before = kind
	}
	return s
}

// isAny reports whether a value may be a password where nothing else stands.
func isAny(value string) bool { return len(value) >= 4 }

// isMixed reports whether a value is more than a word, a quantity or a technical term.
func isMixed(value string) bool {
	s := shapeOf(value)
	switch {
	case len(value) < 4 || technical().MatchString(value):
		return false
	case s.letters == 0:
		return s.signs == 0 && len(value) <= 32 || s.signs >= 2 && s.digits >= 2 && !number().MatchString(value)
	case s.digits == 0:
		return isEncoded(value) || s.inner > 0 && !email().MatchString(value) || s.signs == 0 && len(value) >= 8 && s.capitals > 1 && 5*s.turns >= 3*len(value)
	}
	return true
}

// isEncoded reports whether a value is text in Base64, as Kubernetes writes passwords.
func isEncoded(value string) bool {
	text, err := base64.StdEncoding.DecodeString(value)
	return err == nil && len(text) >= 8 && strings.IndexFunc(string(text), func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

// isMixedWord is isMixed for values with letters.
func isMixedWord(value string) bool { return isMixed(value) && shapeOf(value).letters > 0 }

// isStrong reports whether a value is a password even without a separator before it.
func isStrong(value string) bool {
	s := shapeOf(value)
	return isMixed(value) && len(value) >= 8 && s.digits > 0 && s.letters > 2 && !words().MatchString(value) && !strings.Contains(value, "/") &&
		(s.capitals > 0 && s.capitals < s.letters && s.turns >= 3 || strings.ContainsAny(value, "!@#$%^&*+=?") || s.turns >= 4)
}

// isRandom reports whether a value is a random key.
func isRandom(value string) bool {
	s := shapeOf(value)
	return len(value) >= 12 && s.digits >= 2 && s.letters >= 2 && 2*s.signs < len(value) && entropy(value) >= 3.2 && !words().MatchString(value) && !uuid().MatchString(value) &&
		!technical().MatchString(value) && !strings.ContainsAny(value, "(){}[]$<>*,;@") && !strings.Contains(value, "://")
}

// isBareKey reports whether a word of a question has the form of a key or a password. So have some
// names in programs: see isOfWords.
// isStrong and isRandom are not enough: they expect a name before the value.
func isBareKey(word string) bool {
	s := shapeOf(word)
	mixed := len(word) >= 12 && s.digits >= 2 && s.capitals > 0 && s.capitals < s.letters && s.turns >= 4
	return (mixed || isRandom(word)) && !technical().MatchString(word) && !uuid().MatchString(word)
}

// isOfWords reports whether words make up most of a value, as of OAuth2TokenV3Handler. One short
// word is not enough: most random keys of 40 characters have four letters in a row.
func isOfWords(value string) bool {
	long := 0
	for _, part := range wordPart().FindAllString(value, -1) {
		if n := utf8.RuneCountInString(part); n >= 4 {
			long += n
		}
	}
	return long > 0 && 2*long >= shapeOf(value).letters
}

// wordPart matches letters up to the next capital, digit or sign, or capitals.
var wordPart = lazy.Regexp(`\p{Lu}?[\p{Ll}\p{Lo}\p{M}]+|\p{Lu}+`)

var (
	technical = lazy.Regexp(`(?i)^(?:` +
		`(?:sha|md|base|utf|hs|rs|es|aes|rsa|argon|pbkdf|oauth|ed|curve|ntlmv?|win|web|v|x50|http/?)[-_]?\d{1,5}(?:[-_./]\w{1,12})*(?::.*)?` +
		`|\d+(?:[.-]\d+)?[ -]?(?:ms|s|x|k|kb|mb|gb|h|d|min|bits?|bytes?|chars?|characters?|days?|hours?|digits?|words?|times|px|em|rem|pt|st|nd|rd|th)(?:\W.*)?` +
		`|[1-3]fa(?:\W.*)?|argon2(?:id|i|d)|\d+\p{Lo}+)$`)
	number = lazy.Regexp(`^[\d.,:/%+\-–]+$`)
	email  = lazy.Regexp(`^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$`)
	words  = lazy.Regexp(wordsForm)
	uuid   = lazy.Regexp(`(?i)^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
)

// wordsForm is for words and numbers with signs between them, which no key looks like.
const wordsForm = `^(?:[a-zA-Z]+\d{0,2}|\d{1,4})(?:[-_./:](?:[a-zA-Z]+\d{0,2}|\d{1,4}))*$`

// standInForm is for what a document writes where a value belongs.
const standInForm = `(?i)^[*x.•_#?-]+$|^\$[{(]|(?-i:^\$\$?[a-z_]+$|^\$[A-Z_][A-Z0-9_]*$)|^%\w+%$|^%[a-z_]+$|^:\w+$|^%%?[-\d.]*[a-z]$|\{\{|^\{[^}]*\}?$|^\[[^\]]*\]?$|^<|[*•]{3}|\.\.\.|…|x{4}` +
	`|change[-_]?(?:me|it|this)|(?:^|[-_])your[-_a-z]|^your|placeholder|example|redacted|dummy|replace|insert[-_]|todo|fixme|^(?:null|none|nil|true|false|undefined|required|optional|string|text|empty)$` +
	`|^(?:my|the|a|an|some|test|new|old|default|db|user|root|admin|postgres|mysql)?[-_]*(?:super[-_]?)?(?:secret[-_]?)?(?:password|passwd|passw0rd|p4ssw0rd|pass|pwd|passphrase|secret|token|pw|key|passwort)[-_]?(?:\d{0,1}|here)$`

var standIn = lazy.Regexp(standInForm)

// isStandIn reports whether a value is a placeholder or says where the value is.
func isStandIn(value string) bool {
	return standIn().MatchString(value) || reference().MatchString(value)
}

// reference matches addresses, paths and entries of vaults.
var reference = lazy.Regexp(`(?i)^(?:https?|file|op|vault|ssm|arn|ref\+?\w*|secret|env|sops|keychain|keyring|pass|bw|aws-?sm|gcp-?sm):|^(?:~|\.{1,2})?/[\w.~-]+(?:/[\w.~-]*)*$|^//|\]\(|^[A-Za-z]:\\|^enc\[|^!\w|^&\w|^@\w+$|\.(?:txt|md|json|ya?ml|env|key|pem|go|py|js|ts|sh|html|php)$`)

// code matches an expression: a call, an index, a field.
var code = lazy.Regexp(`^[A-Za-z_]\w*(?:(?:\.|->|::|\?\.)[A-Za-z_]\w*|\([^)]*\)|\[[^\]]*\])+[;,)]*$|^[A-Za-z_][\w.]*\($`)

// isCode reports whether a word without quotes is an expression of a program.
func isCode(word string) bool { return code().MatchString(word) }
