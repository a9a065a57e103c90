package secret

import (
	"regexp"

	"github.com/zricethezav/gitleaks/v8/config"
)

// ownRules returns rules for passwords as they stand in notes and logs. They are as people choose them, so entropy tells nothing; but a value that is only
// letters is a word, and one in brackets, braces or stars stands for another.
func ownRules() []config.Rule {
	return []config.Rule{
		{
			RuleID:      "password",
			Description: "a password that is assigned or named",
			// password=…, "password": "…", DB_PASSWORD: …, **Password:** …, | password | … |, Passwort ist …, the password for the db is …, 密码：…
			Regex: regexp.MustCompile(`(?i)(?:[\w.-]{0,40}(?:passw(?:or)?d|passphrase|passwort|kennwort|contraseña|mot de passe|пароль)|\b(?:pwd|pass|pw)\b|密码|密碼|パスワード)[\w-]{0,20}` +
				`(?:[ \t]+(?:for|of|to|on|at|für|von)[ \t][^\n:=|]{1,40}?)?["'` + "`" + `*_]*` +
				`(?:[ \t]*(?:=|:=|:|：|=>|\|)|[ \t]+(?:is|ist|es|est|was|to)[ \t])[ \t]*["'` + "`" + `*_]{0,3}[ \t]*([^\s"'` + "`" + `<>|]{3,127}[^\s"'` + "`" + `<>|.,;:?)\]}*_])`),
			Keywords: []string{"passw", "passphrase", "kennwort", "contraseña", "mot de passe", "пароль", "pwd", "pass", "pw", "密码", "密碼", "パスワード"},
			// Words; what stands for a password: stars, variables, placeholders.
			Allowlists: []*config.Allowlist{{Regexes: []*regexp.Regexp{regexp.MustCompile(`^[\p{L}.,;:!?_/()\[\]{}*&+-]+$|^[*xX.•]+$|^\$[{(]|^\$[A-Z_][A-Z0-9_]*$|^\$[a-z_]+$|^%[A-Za-z_]+%?$|^\{\{|[*•]{3}|^https?:`)}}},
		},
		{
			RuleID:      "private-key-begun",
			Description: "a private key without its end",
			Regex:       regexp.MustCompile(`-----BEGIN[ A-Z0-9]{0,40} PRIVATE KEY-----(?:\s*[A-Za-z0-9+/=:,-]{16,})+`),
			Keywords:    []string{"-----begin"},
		},
		{
			RuleID:      "password-in-address",
			Description: "a password in an address: scheme://user:password@host",
			Regex:       regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@"'<>]{0,64}:([^\s/@"'<>]{3,128})@[a-z0-9\[]`),
			Keywords:    []string{"://"},
			Allowlists:  []*config.Allowlist{{Regexes: []*regexp.Regexp{regexp.MustCompile(`(?i)^(?:[*x.•]+|\$.*|%.*|<.*|\{.*|password|passwd|pass|pwd|secret|token|pw)$`)}}},
		},
		{
			// Gitleaks knows those of today's lengths; keys of Anthropic, OpenAI, OpenRouter and others have had others, and will.
			RuleID:      "model-api-key",
			Description: "a key of a model's server: sk-…",
			Regex:       regexp.MustCompile(`\bsk-(?:[a-z]{2,12}[0-9]{0,2}-){0,3}[A-Za-z0-9_-]{20,}`),
			Entropy:     3.5,
			Keywords:    []string{"sk-"},
			Allowlists:  []*config.Allowlist{{Regexes: []*regexp.Regexp{regexp.MustCompile(`^[a-zA-Z_-]+$|^[a-z0-9]{1,10}(?:[-_][a-z0-9]{1,10})+$`)}}}, // words
		},
		{
			RuleID:      "bearer-token",
			Description: "a token in an Authorization header",
			Regex:       regexp.MustCompile(`(?i)\b(?:bearer|basic)[ \t]+([a-z0-9_\-.~+/]{16,}={0,2})`),
			Entropy:     3,
			Keywords:    []string{"bearer", "basic"},
			Allowlists:  []*config.Allowlist{{Regexes: []*regexp.Regexp{regexp.MustCompile(`^[a-zA-Z_.~/-]+$`)}}},
		},
	}
}
