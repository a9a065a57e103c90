package secret

import (
	_ "embed"
	"strings"
)

// ownRules are rules in the format of gitleaks.
//
//go:embed own.toml
var ownRules string

// ownParts are the parts of expressions that own.toml names.
var ownParts = strings.NewReplacer("{{underscore}}", underscore, "{{gap}}", gap, "{{key gap}}", keyGap, "{{stand-in}}", standInForm, "{{words}}", wordsForm)

// What may stand for the signs of a token, and within it: an escape, an address, the end of a line.
const (
	underscore = `(?:\\{0,2}_|&#0*95;|&#x5f;|&lowbar;|%5F)`
	gap        = `(?:[ \t"'` + "`" + `+|\\-]*\r?\n(?:[ \t>]*\r?\n)?[ \t"'` + "`" + `>|*#/+-]*|["'][ \t]*\+[ \t]*["']|<w?br[ \t]*/?>(?:\r?\n[ \t>]*)?)`
)

// keyGap is what may stand before each piece of a private key: escaped line ends, numbers of lines,
// quotes of a program, headers.
const keyGap = `(?:\\{1,8}[nrt]|[^A-Za-z0-9+/=]|\+|\d{1,6}(?:[→:|]|[ \t]+)|(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|MessageID|Subject)[ \t]*:[^\n\\]*)`
