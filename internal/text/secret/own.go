package secret

import (
	"regexp"
	"sync"
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
			id:       "bearer-token",
			regex:    compiled(`(?i)\b(?:bearer|basic)[ \t]+([a-z0-9_\-.~+/]{16,}={0,2})`),
			entropy:  3,
			keywords: []string{"bearer", "basic"},
			allowed:  unless(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z_.~/-]+$`) }),
		},
	}
}

// unless makes an exception of secrets that an expression matches.
func unless(regex func() *regexp.Regexp) func() []exception {
	return sync.OnceValue(func() []exception { return []exception{{regexes: []*regexp.Regexp{regex()}}} })
}
