package secret

import (
	"strings"
	"unicode"

	"github.com/memcore/memcore/internal/text/lazy"
)

// A flag of a command has a password, or user:password.
type flag struct {
	name     string                  // -p; "" is any word
	attached bool                    // -pSECRET
	apart    bool                    // -p SECRET
	grouped  bool                    // -sp SECRET
	user     string                  // between user and password: ":", "%", ","
	enough   func(value string) bool // nil: isMixed
}

// passwordFlags are the flags of each program that have a password. Flags with a name, such as
// --password, are found by it.
var passwordFlags = map[string][]flag{
	"sshpass":      {{name: "-p", attached: true, apart: true, enough: isAny}},
	"mysql":        {{name: "-p", attached: true}, {name: "-p", apart: true, enough: isStrong}},
	"mariadb":      {{name: "-p", attached: true}, {name: "-p", apart: true, enough: isStrong}},
	"mongo":        {{name: "-p", attached: true, apart: true}},
	"redis-cli":    {{name: "-a", apart: true}},
	"curl":         {{name: "-u", attached: true, apart: true, grouped: true, user: ":"}, {name: "--user", attached: true, apart: true, user: ":"}, {name: "-U", apart: true, user: ":"}, {name: "--proxy-user", attached: true, apart: true, user: ":"}},
	"docker login": {{name: "-p", apart: true}},
	"podman login": {{name: "-p", apart: true}},
	"oc login":     {{name: "-p", apart: true}},
	"ldapsearch":   {{name: "-w", apart: true}},
	"ldapmodify":   {{name: "-w", apart: true}},
	"ldapadd":      {{name: "-w", apart: true}},
	"sqlcmd":       {{name: "-P", attached: true, apart: true}},
	"bcp":          {{name: "-P", attached: true, apart: true}},
	"cqlsh":        {{name: "-p", apart: true}},
	"smbclient":    {{name: "-U", apart: true, user: "%"}},
	"ipmitool":     {{name: "-P", apart: true}},
	"7z":           {{name: "-p", attached: true}},
	"zip":          {{name: "-P", apart: true}},
	"unzip":        {{name: "-P", apart: true}},
	"unrar":        {{name: "-p", attached: true}},
	"openssl":      {{name: "-k", apart: true}, {attached: true, name: "pass:"}},
	"xfreerdp":     {{attached: true, name: "/p:"}},
	"rdesktop":     {{name: "-p", apart: true}},
	"ncftp":        {{name: "-p", apart: true}},
	"lftp":         {{name: "-u", apart: true, user: ","}},
	"az login":     {{name: "-p", apart: true}},
	"useradd":      {{name: "-p", apart: true}},
	"nmcli":        {{name: "password", apart: true, enough: isAny}},
	"snmpwalk":     {{name: "-A", apart: true}, {name: "-X", apart: true}},
	"mosquitto_":   {{name: "-P", apart: true}},

	// Those of passwordPlaces.
	"htpasswd": nil, "mosquitto_passwd": nil, "net use": nil, "net user": nil, "rabbitmqctl add_user": nil, "rabbitmqctl change_password": nil, "convertto-securestring": nil,
}

// passwordPlaces are the expressions for programs whose password has a place and no flag. They are
// for what follows the program, a word of the command each blank.
var passwordPlaces = map[string]func() *lazy.Expression{
	"htpasswd":                    lazy.Regexp(`^(?: -\S+)* -\w*b\w*(?: -\S+| -C \d+)*(?: [^-]\S*){1,2} (\S+)$`),
	"mosquitto_passwd":            lazy.Regexp(`^(?: -\S+)* -b(?: [^-]\S*){2} (\S+)`),
	"net use":                     lazy.Regexp(`(?i)^(?: [a-z*]:?)? \\\\\S+(?: /\S+)* ([^/\s]\S*)`),
	"net user":                    lazy.Regexp(`(?i)^ [^/\s]\S* ([^/\s]\S*)(?: /\S+)*$`),
	"rabbitmqctl add_user":        lazy.Regexp(`^ \S+ (\S+)`),
	"rabbitmqctl change_password": lazy.Regexp(`^ \S+ (\S+)`),
	"convertto-securestring":      lazy.Regexp(`(?i)^(?: -(?:AsPlainText|Force))*(?: -String)? ([^-\s]\S*)`),
}

// word matches a word of a command line, also in quotes; an escaped line break separates.
var word = lazy.Regexp(`\\\n|"[^"\n]*"|'[^'\n]*'|[^\s"'|;&\x60]+|[|;&\n\x60]`)

// maxCommand is the most bytes of a command that are read.
const maxCommand = 400

// findFlags returns the passwords among the flags of a command, which a hit begins, and its end.
func findFlags(text string, h hit, flags []flag) ([]span, int) {
	if h.start > 0 && !strings.ContainsRune(" \t\n`/\"'($&|;", rune(text[h.start-1])) {
		return nil, h.start
	}
	at := h.start + len(h.word)
	line := text[at:min(len(text), at+maxCommand)]
	var all [][]int // words
	for _, w := range word().FindAllStringIndex(line, -1) {
		if line[w[0]:w[1]] == "\\\n" {
			continue
		}
		if strings.ContainsAny(line[w[0]:w[0]+1], "|;&\n`") {
			line = line[:w[0]]
			break
		}
		all = append(all, w)
	}
	var spans []span
	for i, w := range all {
		for _, f := range flags {
			start, end := w[0], w[1]
			switch bare := strings.TrimLeft(line[start:end], `"'`); {
			case f.attached && strings.HasPrefix(bare, f.name) && len(bare) > len(f.name):
				start += len(f.name) + (end - start - len(bare))
			case f.attached && bare == f.name && i+1 < len(all) && all[i+1][0] == end: // -p'SECRET'
				start, end = all[i+1][0], all[i+1][1]
			case i+1 < len(all) && (f.apart && bare == f.name || f.grouped && isGroup(bare, f.name)):
				start, end = all[i+1][0], all[i+1][1]
			default:
				continue
			}
			if s, ok := flagValue(line, start, end, f); ok {
				spans = append(spans, span{at + s.start, at + s.end, nameOf(aPassword)})
			}
		}
	}
	if place, ok := passwordPlaces[h.word]; ok {
		if i := wordAt(line, all, place()); i >= 0 {
			if s, ok := flagValue(line, all[i][0], all[i][1], flag{enough: isMixedWord}); ok {
				spans = append(spans, span{at + s.start, at + s.end, nameOf(aPassword)})
			}
		}
	}
	return spans, at + len(line)
}

// isGroup reports whether a word is letters of flags that end in a flag's.
func isGroup(word, flag string) bool {
	return len(word) > 2 && len(word) < 8 && word[0] == '-' && strings.HasSuffix(word, flag[1:]) && strings.IndexFunc(word[1:], func(r rune) bool { return !unicode.IsLetter(r) }) < 0
}

// wordAt returns the index of the word of a command line that an expression has as its group; -1 is
// none.
func wordAt(line string, words [][]int, place *lazy.Expression) int {
	var b strings.Builder
	for _, w := range words {
		if w[0] > 0 {
			b.WriteString(" " + strings.ReplaceAll(line[w[0]:w[1]], " ", "_"))
		}
	}
	at := place.FindStringSubmatchIndex(b.String())
	if at == nil {
		return -1
	}
	return len(words) - strings.Count(b.String()[at[2]:], " ") - 1
}

// flagValue returns the password in the value of a flag.
func flagValue(line string, start, end int, f flag) (span, bool) {
	for start < end && strings.ContainsRune(`"'=`, rune(line[start])) {
		start++
	}
	for start < end && strings.ContainsRune(`"'`, rune(line[end-1])) {
		end--
	}
	if f.user != "" {
		colon := strings.Index(line[start:end], f.user)
		if colon < 0 {
			return span{}, false
		}
		start += colon + 1
	}
	value := line[start:end]
	enough := f.enough
	if enough == nil {
		enough = isMixed
	}
	if !enough(value) || isStandIn(value) || strings.HasPrefix(value, "-") || strings.Contains(value, Mark[:len(Mark)-2]) {
		return span{}, false
	}
	return span{start: start, end: end}, true
}
