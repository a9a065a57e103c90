package secret

import (
	"regexp"
	"strings"
	"sync"
)

// What may stand for the signs of a token, and within it: an escape, an address, the end of a line.
const (
	underscore = `(?:\\{0,2}_|&#0*95;|&#x5f;|&lowbar;|%5F)`
	gap        = `(?:[ \t"'` + "`" + `+|\\-]*\r?\n(?:[ \t>]*\r?\n)?[ \t"'` + "`" + `>|*#/+-]*|["'][ \t]*\+[ \t]*["']|<w?br[ \t]*/?>(?:\r?\n[ \t>]*)?)`
)

// ownRules returns rules for secrets with a form that gitleaks has no rule for. After a change
// increase the number in core/index_redact.go, so that indexes are rebuilt.
func ownRules() []rule {
	return []rule{
		{
			id:       "private-key-begun",
			regex:    compiled(`-----BEGIN[ A-Z0-9]{0,40} PRIVATE KEY-----(?:\s*[A-Za-z0-9+/=:,-]{16,})+`),
			keywords: []string{"-----begin"},
		},
		{
			id:       "password-in-address",
			regex:    compiled(`(?i)\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@"'<>]{0,64}:([^\s/@"'<>]{3,128})@[a-z0-9\[]`),
			keywords: []string{"://"},
			allowed: unless(func() *regexp.Regexp {
				return regexp.MustCompile(`(?i)^(?:[*x.•]+|\$.*|%.*|<.*|\{.*|password|passwd|pass|pwd|secret|token|pw)$`)
			}),
		},
		{
			id:       "pgpass",
			regex:    compiled(`(?m)^[ \t>*-]*` + "`?" + `[\w.*-]{1,100}:(?:\d{4,5}|\*):(?:\*|\w*[A-Za-z][\w-]*):[\w*.@-]*[A-Za-z*][\w*.@-]*:([^\s:` + "`" + `]{4,128})`),
			keywords: []string{":54", ":64", ":*:"},
			allowed:  unless(standIn),
		},
		{
			// Of any length; gitleaks has rules for today's vendors.
			id:       "model-api-key",
			regex:    compiled(`\bsk-(?:[a-z]{2,12}[0-9]{0,2}-){0,3}[A-Za-z0-9_-]{20,}`),
			entropy:  3.5,
			keywords: []string{"sk-"},
			allowed: unless(func() *regexp.Regexp {
				return regexp.MustCompile(`^[a-zA-Z_-]+$|^[a-z0-9]{1,10}(?:[-_][a-z0-9]{1,10})+$`)
			}), // words
		},
		{
			// Prefixes that vendors document for their keys; no other word has them before so much
			// chance.
			id:       "service-api-key",
			regex:    compiled(`\b(?:gsk_|xai-|r8_|nvapi-|tskey-[a-z]{2,10}-|ntn_|sbp_|dckr_pat_|dckr_oat_|tvly-(?:dev-|prod-)?|whsec_|ya29\.|pcsk_|lsv2_[a-z]{2}_|pplx-)[A-Za-z0-9_-]{20,}`),
			entropy:  3.5,
			keywords: []string{"gsk_", "xai-", "r8_", "nvapi-", "tskey-", "ntn_", "sbp_", "dckr_", "tvly-", "whsec_", "ya29.", "pcsk_", "lsv2_", "pplx-"},
			allowed: unless(func() *regexp.Regexp {
				return regexp.MustCompile(`^[a-zA-Z_.-]+$|^[a-z0-9.]{1,12}(?:[-_][a-z0-9]{1,12})+$`)
			}), // words
		},
		{
			// One that a wrap, a markup or an address divides. Their length is fixed, so nothing
			// that follows is taken for a part.
			id:       "github-token",
			regex:    compiled(`\b(?:gh[pousr]` + underscore + `(?:` + gap + `?[A-Za-z0-9]){36}|github` + underscore + `pat` + underscore + `(?:` + gap + `?[A-Za-z0-9]){22}` + underscore + `(?:` + gap + `?[A-Za-z0-9]){59})`),
			entropy:  3,
			keywords: githubKeywords(),
			allowed:  unless(func() *regexp.Regexp { return regexp.MustCompile(`^gh._[0-9a-zA-Z]{36}$|^[a-zA-Z_\s]+$`) }),
		},
		{
			id:       "password-in-pipe",
			regex:    compiled(`(?i)\becho[ \t]+(?:-[a-z]+[ \t]+)*["']?(?:[\w.-]+:)?([^\s"':|]{4,128})["']?[ \t]*\|[ \t]*(?:sudo[ \t]+(?:-[a-z]+[ \t]+)*-[a-z]*S\b|(?:sudo[ \t]+)?(?:chpasswd|passwd[ \t]+--stdin)\b|[^\n|;&]{0,100}--password-stdin\b)`),
			keywords: []string{"sudo", "chpasswd", "passwd", "password-stdin"},
			allowed:  unless(standIn),
		},
		{
			id:       "password-in-sql",
			regex:    compiled(`(?i)\b(?:identified[ \t]+(?:with[ \t]+\S+[ \t]+)?by|(?:user|role|login)[ \t]+\S+(?:[ \t]+\w+){0,4}?[ \t]+password|password[ \t]+for[ \t]+\S+)[ \t]*=?[ \t]*'([^'\n]{4,128})'`),
			keywords: []string{"identified", "password"},
			allowed:  unless(standIn),
		},
		{
			id:       "bearer-token",
			regex:    compiled(`(?i)\b(?:bearer|basic)[ \t]+([a-z0-9_\-.~+/]{16,}={0,2})`),
			entropy:  3,
			keywords: []string{"bearer", "basic"},
			allowed:  unless(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z_.~/-]+$`) }),
		},
	}
}

// githubKeywords are the beginnings of GitHub's tokens, also where their sign is escaped.
func githubKeywords() (words []string) {
	for _, name := range strings.Fields("ghp gho ghu ghs ghr github") {
		for _, sign := range []string{"_", `\`, "&#", "&lowbar", "%5f"} {
			words = append(words, name+sign)
		}
	}
	return words
}

// unless makes an exception of secrets that an expression matches.
func unless(regex func() *regexp.Regexp) func() []exception {
	return sync.OnceValue(func() []exception { return []exception{{regexes: []*regexp.Regexp{regex()}}} })
}
