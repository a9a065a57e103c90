package secret

import (
	"strings"
)

// A flag of a command has a password, or user:password.
type flag struct {
	name     string                  // -p; "" is any word
	attached bool                    // -pSECRET
	apart    bool                    // -p SECRET
	user     string                  // between user and password: ":", "%"
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
	"curl":         {{name: "-u", attached: true, apart: true, user: ":"}, {name: "--user", apart: true, user: ":"}, {name: "-U", apart: true, user: ":"}, {name: "--proxy-user", apart: true, user: ":"}},
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
}

// word matches a word of a command line, also in quotes; an escaped line break separates.
var word = compiled(`\\\n|"[^"\n]*"|'[^'\n]*'|[^\s"'|;&\x60]+|[|;&\n\x60]`)

// mostOfCommand is the most bytes of a command that are read.
const mostOfCommand = 400

// findFlags returns the passwords among the flags of a command, which a hit begins, and its end.
func findFlags(text string, h hit, flags []flag) ([]span, int) {
	if h.start > 0 && !strings.ContainsRune(" \t\n`/\"'($&|;", rune(text[h.start-1])) {
		return nil, h.start
	}
	at := h.start + len(h.word)
	line := text[at:min(len(text), at+mostOfCommand)]
	var all [][]int // words
	for _, w := range word().FindAllStringIndex(line, -1) {
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
			case f.apart && bare == f.name && i+1 < len(all):
				start, end = all[i+1][0], all[i+1][1]
			default:
				continue
			}
			if s, ok := flagValue(line, start, end, f); ok {
				spans = append(spans, span{at + s.start, at + s.end, nameOf(aPassword)})
			}
		}
	}
	return spans, at + len(line)
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
