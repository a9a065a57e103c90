package secret

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// What may stand for the signs of a token, and within it: an escape, an address, the end of a line.
const (
	underscore = `(?:\\{0,2}_|&#0*95;|&#x5f;|&lowbar;|%5F)`
	gap        = `(?:[ \t"'` + "`" + `+|\\-]*\r?\n(?:[ \t>]*\r?\n)?[ \t"'` + "`" + `>|*#/+-]*|["'][ \t]*\+[ \t]*["']|<w?br[ \t]*/?>(?:\r?\n[ \t>]*)?)`
)

// keyBegins matches the beginning of a private key, keyGap what may stand before each piece of one:
// escaped line ends, numbers of lines, quotes of a program, headers. A key that was cut has no end.
const (
	keyBegins = `(?:-----BEGIN[ A-Z0-9]{0,40} PRIVATE KEY(?: BLOCK)?-----|---- BEGIN SSH2[ A-Z]{0,20} PRIVATE KEY ----|Private-Lines:[ \t]*\d+)`
	keyGap    = `(?:\\{1,8}[nrt]|[^A-Za-z0-9+/=]|\+|\d{1,6}(?:[→:|]|[ \t]+)|(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|MessageID|Subject)[ \t]*:[^\n\\]*)`
)

// ownRules returns rules for secrets with a form that gitleaks has no rule for. After a change
// increase the number in core/index_redact.go, so that indexes are rebuilt.
func ownRules() []rule {
	return slices.Concat(ownKeyRules(), ownTokenRules(), ownAddressRules(), ownPasswordRules())
}

// ownKeyRules are of private keys, in whole or without their end.
func ownKeyRules() []rule {
	return []rule{
		{
			id:       "private-key-begun",
			regex:    compiled(keyBegins + `(?:` + keyGap + `+[A-Za-z0-9+/=:,-]{16,})+`),
			keywords: []string{"-----begin", "---- begin", "private-lines"},
		},
		{
			// In Base64 once more, as kubeconfig has it. Certificates begin otherwise.
			id:       "private-key-encoded",
			regex:    compiled(`LS0tLS1CRUdJTi(?:BQUklW|BSU0Eg|BFQyBQ|BPUEVO|BFTkNS|BEU0Eg|BQR1Ag)[A-Za-z0-9+/=]{8,}`),
			keywords: []string{"ls0tls1crudjti"},
		},
		{
			id:       "private-key-number",
			regex:    compiled(`(?i)private[ _-]?key[^\n]{0,40}?\b(?:0x)?([0-9a-f]{64})\b|"d"[ \t]*:[ \t]*"([a-z0-9_-]{40,})"`),
			entropy:  3,
			keywords: []string{"private", `"d"`},
		},
		{
			id:       "aws-secret-key",
			regex:    compiled(`(?i)secret[ _-]?access[ _-]?key[^\n]{0,20}?[^a-z0-9/+\n]([a-z0-9/+]{40})(?:[^a-z0-9/+=]|$)`),
			entropy:  3.5,
			keywords: []string{"secret"},
		},
		{
			id:       "memcore-key",
			regex:    compiled(`\bmck_[a-z2-7]{12}_[a-z2-7]{26}\b`),
			keywords: []string{"mck_"},
		},
	}
}

// ownTokenRules are of tokens of services.
func ownTokenRules() []rule {
	return []rule{
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
			id:       "telegram-bot",
			regex:    compiled(`(?:\b|bot)\d{8,10}:(AA[A-Za-z0-9_-]{32,33})(?:[^A-Za-z0-9_-]|$)`),
			entropy:  3.5,
			keywords: []string{":aa"},
		},
		{
			id:       "encrypted-token", // JWE: five parts
			regex:    compiled(`\beyJ[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]{10,}){3}`),
			keywords: []string{"eyj"},
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

// ownAddressRules are of secrets in addresses.
func ownAddressRules() []rule {
	return []rule{
		{
			id:       "password-in-address",
			regex:    compiled(`(?i)\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@"'<>]{0,64}:([^\s/"'<>]{3,128})@[a-z0-9\[]`),
			keywords: []string{"://"},
			allowed: unless(func() *regexp.Regexp {
				return regexp.MustCompile(`(?i)^(?:[*x.•]+|\$.*|%.*|<.*|\{.*|password|passwd|pass|pwd|secret|token|pw)$`)
			}),
		},
		{
			id:       "token-in-address",
			regex:    compiled(`(?i)\bhttps?://([a-z0-9_~-]{20,128})(?::x-oauth-basic)?@[a-z0-9\[]`),
			entropy:  3.5,
			keywords: []string{"://"},
			allowed:  unless(words),
		},
		{
			id:       "signature-in-address",
			regex:    compiled(`[?&](?:amp;)?sig=([A-Za-z0-9%+/_-]{30,128}=?)`),
			entropy:  3.5,
			keywords: []string{"sig="},
		},
		{
			id:       "webhook",
			regex:    compiled(`(?i)\bdiscord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d{15,21}/([a-z0-9_-]{60,80})`),
			keywords: []string{"/webhooks/"},
		},
		{
			id:       "pgpass",
			regex:    compiled(`(?m)^[ \t>*-]*` + "`?" + `[\w.*-]{1,100}:(?:\d{4,5}|\*):(?:\*|\w*[A-Za-z][\w-]*):[\w*.@-]*[A-Za-z*][\w*.@-]*:([^\s:` + "`" + `]{4,128})`),
			keywords: []string{":54", ":64", ":*:"},
			allowed:  unless(standIn),
		},
	}
}

// ownPasswordRules are of passwords in commands, calls and statements.
func ownPasswordRules() []rule {
	return []rule{
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
			id: "password-in-call",
			regex: compiled(`(?i)(?:\bauth[ \t]*=[ \t]*|basic_?auth|digest_?auth)\(["'][^"'\n]{1,64}["'][ \t]*,[ \t]*["']([^"'\n]{4,128})["']` +
				`|\bsqlplus[ \t]+(?:-\S+[ \t]+)*["']?\w+/([^\s@"'/]{4,128})@` +
				`|\b[\w.-]{1,64}:([^\s:/"'<>]{3,128})@(?:tcp|unix)\(`),
			keywords: []string{"auth=(", "auth = (", "basicauth(", "basic_auth(", "digestauth(", "digest_auth(", "sqlplus", "@tcp(", "@unix("},
			allowed:  unless(standIn),
		},
		{
			id:       "password-in-code", // QR codes of networks
			regex:    compiled(`\bWIFI:(?:[A-OQ-Z]\w{0,2}:[^;\n]{0,64};){0,6}P:((?:[^;\n\\]|\\.){4,64});`),
			keywords: []string{"wifi:"},
			allowed:  unless(standIn),
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
