package secret

import (
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/text/sanitize"
)

// These secrets are made up, and split so that scanners of repositories ignore them.
func TestRedact(t *testing.T) {
	for _, tt := range []struct {
		name, in, want string
		rules          []string
	}{
		{"plain text", "The staging postgres listens on port 5433.\n", "The staging postgres listens on port 5433.\n", nil},
		{"AWS", "key AKIA" + "YRWQG5EJLPZLBYNP here", "key [redacted: aws-access-token] here", []string{"aws-access-token"}},
		{"GitHub", "ghp_" + "0hW6ZDkx1vTb9QsLmR4nY7cE2aJ8pUfGiKoX", "[redacted: github-pat]", []string{"github-pat"}},
		{"a model's server", "ANTHROPIC_API_KEY=sk-" + "ant-api03-Hn4Jk8Lm2Pq6Rs0Tv4Wx8Yz1Bc5Df9Gh3Jk7Lm1Np5Qr9St3 and sk-" + "or-v1-9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
			"ANTHROPIC_API_KEY=[redacted: model-api-key] and [redacted: model-api-key]", []string{"model-api-key", "model-api-key"}},
		{"no model's server", "see task-4711-about-keys, sk-learn-pipeline-notes-2024-part-2, ask-me and sk-xxxxxxxxxxxxxxxxxxxxxxxx", "see task-4711-about-keys, sk-learn-pipeline-notes-2024-part-2, ask-me and sk-xxxxxxxxxxxxxxxxxxxxxxxx", nil},
		{"keys of services", "gsk_" + "Zk3vQ9xWb2LmT7rYp4NcA8dE and xai-" + "Hn4Jk8Lm2Pq6Rs0Tv4Wx8Yz1Bc5 and tskey-auth-" + "kF3mQ9xWb2CNTRL-T7rYp4NcA8dE", "[redacted: service-api-key] and [redacted: service-api-key] and [redacted: service-api-key]", []string{"service-api-key", "service-api-key", "service-api-key"}},
		{"none of a service", "see fc-1234-AddRetryToPaymentService2, secret_Rotation_Runbook_2024_Q3.md and r8_register_of_the_eighth_word", "see fc-1234-AddRetryToPaymentService2, secret_Rotation_Runbook_2024_Q3.md and r8_register_of_the_eighth_word", nil},
		{"a password, assigned", "DB_PASSWORD=hunter2!", "DB_PASSWORD=[redacted: password]", []string{"password"}},
		{"in JSON", `{"password": "Tr0ub4dor&3"}`, `{"password": "[redacted: password]"}`, []string{"password"}},
		{"in YAML", "  password: s3cr3t-one", "  password: [redacted: password]", []string{"password"}},
		{"in prose", "The admin password is correct9horse, do not tell.", "The admin password is [redacted: password], do not tell.", []string{"password"}},
		{"in German", "Passwort: geheim123", "Passwort: [redacted: password]", []string{"password"}},
		{"in Chinese", "密码：abc12345", "密码：[redacted: password]", []string{"password"}},
		{"in Vietnamese and Hindi", "mật khẩu là Hq7xv2Lp\nपासवर्ड है Hq7xv2Lp", "mật khẩu là [redacted: password]\nपासवर्ड है [redacted: password]", []string{"password", "password"}},
		{"of Redis and Make", "requirepass Hq7xv2Lp\nDB_PASSWORD ?= Hq7xv2Lp", "requirepass [redacted: password]\nDB_PASSWORD ?= [redacted: password]", []string{"password", "password"}},
		{"in an address", "postgres://app:pa55word@db.internal:5432/x", "postgres://app:[redacted: password-in-address]@db.internal:5432/x", []string{"password-in-address"}},
		{"a header", "Authorization: Bearer abcdef0123456789ABCDEF42", "Authorization: Bearer [redacted: bearer-token]", []string{"bearer-token"}},
		{"two, and lines", "a\npassword=x1y2z3\nb\npwd: q9w8e7\n", "a\npassword=[redacted: password]\nb\npwd: [redacted: password]\n", []string{"password", "password"}},
		{"a key of many lines keeps them", "x\n-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat("MIIEpAIBAAKCAQEA3Tz2mr7SZiAMfQyuvBjM9Oi+Zn6J\n", 4) + "-----END RSA PRIVATE KEY-----\ny", "x\n[redacted: private-key]\n\n\n\n\n\ny", []string{"private-key"}},
		{"emphasis", "**Password**: x1y2z3 and **password:** x1y2z3", "**Password**: [redacted: password] and **password:** [redacted: password]", []string{"password", "password"}},
		{"a table", "| password | x1y2z3 |", "| password | [redacted: password] |", []string{"password"}},
		{"of something", "password for the db: x1y2z3", "password for the db: [redacted: password]", []string{"password"}},
		{"signs", "password: a(b1c2d3\npassword: $ecret12345\npassword: x1y2,rest99z.\npassword: P@ss;w0rd1", "password: [redacted: password]\npassword: [redacted: password]\npassword: [redacted: password].\npassword: [redacted: password]", []string{"password", "password", "password", "password"}},
		{"a key without its end", "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA3Tz2mr7SZiAMfQyuvBjM9Oi\nMIIEpAIBAAKCAQEA3Tz2mr7SZiAMfQyuvBjM9Oj\n", "[redacted: private-key-begun]\n\n\n", []string{"private-key-begun"}},
		{"a key without its end, as programs show it", `{"private_key": "-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA3Tz2mr7SZi\nMIIEpAIBAAKCAQEA3Tz2mr7SZj`, `{"private_key": "[redacted: private-key-begun]`, []string{"private-key-begun"}},
		{"with numbers of lines", "     1→-----BEGIN PRIVATE KEY-----\n     2→MIIEpAIBAAKCAQEA3Tz2mr7SZi\n     3→MIIEpAIBAAKCAQEA3Tz2mr7SZj\n", "     1→[redacted: private-key-begun]\n\n\n", []string{"private-key-begun"}},
		{"with headers", "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,5F0D6C5A\n\nMIIEpAIBAAKCAQEA3Tz2mr7SZi", "[redacted: private-key-begun]\n\n\n\n", []string{"private-key-begun"}},
		{"in a program", "\"-----BEGIN PRIVATE KEY-----\\n\" +\n  \"MIIEpAIBAAKCAQEA3Tz2mr7SZi\\n\" +\n", "\"[redacted: private-key-begun]\n\\n\" +\n", []string{"private-key-begun"}},
		{"of other programs", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nMIIEpAIBAAKCAQEA3Tz2mr7SZi\n.\n---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nMIIEpAIBAAKCAQEA3Tz2mr7SZi\n.\nPrivate-Lines: 1\nMIIEpAIBAAKCAQEA3Tz2mr7SZi\n", "[redacted: private-key-begun]\n\n\n.\n[redacted: private-key-begun]\n\n.\n[redacted: private-key-begun]\n\n",
			[]string{"private-key-begun", "private-key-begun", "private-key-begun"}},
		{"a mark is no name", "pw=[redacted: password]\n\n- X1y2z3_abc!\n", "pw=[redacted: password]\n\n- X1y2z3_abc!\n", nil},
		{"words are no passwords", "The password is required. password: string, Password: see the vault, password = None", "The password is required. password: string, Password: see the vault, password = None", nil},
		{"nor is what stands for one", "password=${DB_PASSWORD} password: <your-password> PASSWORD=**** pwd=$(cat x) postgres://user:password@host/x", "password=${DB_PASSWORD} password: <your-password> PASSWORD=**** pwd=$(cat x) postgres://user:password@host/x", nil},
		{"numbers about passwords", "passwords: 8 characters, password length: 12, pass: 3, the pass is at 2100 m", "passwords: 8 characters, password length: 12, pass: 3, the pass is at 2100 m", nil},
		{"a zero-width space in a key", "key AKIA" + "YRWQ\u200bG5EJLPZLBYNP here", "key [redacted: aws-access-token] here", []string{"aws-access-token"}},
		{"many invisible characters", "\u200bkey AKIA" + "YR\x7f\u200bWQG5\U000E0041EJLPZLB\x1b[1mYNP\u2060 here, and \u200bpass\u00adword: x1\u200dy2z3", "\u200bkey [redacted: aws-access-token]\u2060 here, and \u200bpass\u00adword: [redacted: password]", []string{"aws-access-token", "password"}},
		{"they part what is none", "see\u200bsk-" + "or-v1-9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "see\u200b[redacted: model-api-key]", []string{"model-api-key"}},
		{"they stay where there is no secret", "می\u200cخواهم\r\n\ufeff a\u200bb", "می\u200cخواهم\r\n\ufeff a\u200bb", nil},
		{"keys that are none", "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 and commit 5f2c1d9", "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 and commit 5f2c1d9", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, findings := Redact(tt.in)
			require.Equal(t, tt.want, got)
			var rules []string
			for _, f := range findings {
				rules = append(rules, f.Rule)
			}
			require.Equal(t, tt.rules, rules)
			again, more := Redact(got)
			require.Equal(t, got, again)
			require.Empty(t, more)
		})
	}
	_, findings := Redact("a\nb\npassword=x1y2z3")
	require.Equal(t, []Finding{{Rule: "password", Line: 3}}, findings)
}

func TestConcurrently(t *testing.T) {
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				if got, _ := Redact("password=x1y2z3"); got != "password=[redacted: password]" {
					t.Error(got)
				}
			}
		})
	}
	all.Wait()
}

// The number of lines stays, and redacting again changes nothing.
func FuzzRedact(f *testing.F) {
	f.Add("password=x1y2z3\n[redacted: password]")
	f.Add("-----BEGIN PRIVATE KEY-----\nabcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0123456789\n-----END PRIVATE KEY-----")
	f.Add("\xffpassword: x1y2z3 DB\\_PASS=x1\\!y2z3\n> ghp_0hW6ZDkx1v\n> Tb9QsLmR4nY7cE2aJ8pUfGiKoX mysql -p'x1y2z3\nCookie: a=s3k3j3h3k3")
	f.Add("Ⱥpassword: ȺȾ12345")
	f.Add("a\u200b pass\u00adword=x1\x1b[1m\x7fy2z3\n\u200bpwd: q9\x1b]\n\x07w8e7")
	f.Fuzz(func(t *testing.T, text string) {
		got, findings := Redact(text)
		if strings.Count(got, "\n") != strings.Count(text, "\n") {
			t.Errorf("Redact(%q) = %q has another number of lines", text, got)
		}
		if (got == text) != (len(findings) == 0) {
			t.Errorf("Redact(%q) = %q with %v", text, got, findings)
		}
		// Revealing a redacted text joins no secret.
		if shown, _ := sanitize.Reveal(text); utf8.ValidString(text) && !strings.ContainsAny(text, "\r\v\f\u0085\u2028\u2029") {
			if _, seen := Redact(shown); len(seen) > 0 && len(findings) == 0 {
				t.Errorf("Redact(%q) finds nothing, and %v in %q, which is what is seen of it", text, seen, shown)
			}
		}
	})
}

func BenchmarkRedact(b *testing.B) {
	text := strings.Repeat("The staging postgres listens on port 5433, see [docs](https://example.com/x) and the key figures.\n", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Redact(text)
	}
}

// BenchmarkRepeatedNames redacts texts that cost most: names of secrets without secrets.
func BenchmarkRepeatedNames(b *testing.B) {
	for name, text := range map[string]string{"escapes": `pw=\_`, "names": "token=", "blanks": "pw for a ", "tables": "|password|a\n|--|\n|x|\n"} {
		b.Run(name, func(b *testing.B) {
			text := strings.Repeat(text, 20_000/len(text))
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Redact(text)
			}
		})
	}
}

func TestWithoutCutMark(t *testing.T) {
	require.Equal(t, "the token is", WithoutCutMark("the token is [redacted: github-pat"))
	require.Equal(t, "the token is", WithoutCutMark("the token is [redacted"))
	require.Equal(t, "is [redacted: github-pat] a", WithoutCutMark("is [redacted: github-pat] a"))
}
