package prompt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/text/prompt"
)

func TestKinds(t *testing.T) {
	for text, want := range map[string]prompt.Kind{
		"go on":                            prompt.Acknowledgement,
		"Danke, das war's für heute":       prompt.Acknowledgement,
		"gracias, eso es todo por hoy":     prompt.Acknowledgement,
		"merci, c’est tout":                prompt.Acknowledgement,
		"bin gleich wieder da":             prompt.Acknowledgement,
		"谢谢，就这些":                           prompt.Acknowledgement,
		"was war gestern?":                 prompt.Request,
		"ok, proceed":                      prompt.Acknowledgement,
		"Approved.":                        prompt.Acknowledgement,
		"Agreed, retry":                    prompt.Acknowledgement,
		"Perfect! Let's do it.":            prompt.Acknowledgement,
		"fix everything":                   prompt.Acknowledgement,
		"ja, mach weiter bitte":            prompt.Acknowledgement,
		"好的":                               prompt.Acknowledgement,
		"谢谢，请继续":                           prompt.Acknowledgement,
		"ありがとう、続けて":                        prompt.Acknowledgement,
		"好的，端口是多少":                         prompt.Request,
		"merci beaucoup":                   prompt.Acknowledgement,
		"Guten Morgen":                     prompt.Acknowledgement,
		"good morning, claude!":            prompt.Acknowledgement,
		"Good morning!":                    prompt.Acknowledgement,
		"hello there":                      prompt.Acknowledgement,
		"こんにちは！":                           prompt.Acknowledgement,
		"good morning, what did we decide": prompt.Request,
		"buenos días":                      prompt.Acknowledgement,
		"да, сделай это":                   prompt.Acknowledgement,
		"super, danke":                     prompt.Acknowledgement,
		"شكرا":                             prompt.Acknowledgement,
		"お願いします。":                          prompt.Acknowledgement,
		"Address 3, 8, 11":                 prompt.Selection,
		"1. ja 2. nein 3. später":          prompt.Selection,
		"option b":                         prompt.Selection,
		"/pr-review 170":                   prompt.Command,
		"/compact":                         prompt.Command,
		"fix the login":                    prompt.Request,
		"why is the backup late?":          prompt.Request,
		"/usr/local/bin is not in my path": prompt.Request,
		"バックアップはなぜ遅いのですか":                      prompt.Request,
		"what is the test plan?":               prompt.Request,
		"what is option 3?":                    prompt.Request,
		"test plan":                            prompt.Request,
		"2026-02-12 17:38:00 ERROR disk full":  prompt.Pasted,
		"```go\nfunc main() {}\n```":           prompt.Pasted,
		"[02/26/25 22:15:19] DEBUG    n=5 a:1": prompt.Pasted,
	} {
		require.Equal(t, want, prompt.Parse(text).Kind, text)
	}
}

func TestOwnWords(t *testing.T) {
	for _, tt := range []struct {
		name, text, own string
		errors          []string
	}{
		{"all typed", "Why is the export slow?\n\nIt was fast in May.", "Why is the export slow?\n\nIt was fast in May.", nil},
		{"a trace", "the nightly job dies\n\nTraceback (most recent call last):\n  File \"job.py\", line 7, in <module>\n    main()\nValueError: no column wind\n\nany idea?",
			"the nightly job dies\n\n\nany idea?", []string{"ValueError: no column wind"}},
		{"a record behind words", "This is where the time goes: time=2026-02-12T17:38:00Z level=ERROR msg=\"refresh failed: timeout\"",
			"This is where the time goes:", []string{`msg="refresh failed: timeout"`}},
		{"fences", "Use this:\n```sh\nmake all\n```\nbut only here", "Use this:\nbut only here", nil},
		{"a command line", "tool web -n 1 --json \"x\"\n\nsays nothing at all, why?", "says nothing at all, why?", nil},
		{"a wrapped log", "look:\n10:00:01.12 INFO start\nof the worker\n10:00:02.55 ERROR worker failed to start\n", "look:", []string{"worker failed to start"}},
		{"a list", "Please do these:\n- rename the port\n- drop the table users", "Please do these:\n- rename the port\n- drop the table users", nil},
		{"a browser's console", "the weeks are still missing:\napp.js?v=7f23:8 🔄 blocks loaded\nstats?season=25%2F26&league=N1:3541 🚀 starting\nblocks.js:12 ✅ ready",
			"the weeks are still missing:", nil},
		{"an address with a question", "why? see stats?season=25 in the log", "why? see stats?season=25 in the log", nil},
		{"a log alone", "main.go:12:3: undefined: foo", "", []string{"undefined: foo"}},
		{"nothing", "", "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := prompt.Parse(tt.text)
			require.Equal(t, tt.own, p.Own)
			require.Equal(t, tt.errors, p.Errors)
			require.Equal(t, tt.own != strings.TrimSpace(tt.text), p.Pasted > 0)
		})
	}
}

func TestNames(t *testing.T) {
	p := prompt.Parse("See @docs/plan.md and ../web/app.tsx, not https://a.example/x.js or v1.2; task 003, PR #170 and #12")
	require.Equal(t, []string{"docs/plan.md", "web/app.tsx"}, p.Files)
	require.Equal(t, []prompt.Numbered{{"task", "003"}, {"pr", "170"}, {"", "12"}}, p.Numbered)
	require.True(t, p.NamesFile("plan"))
	require.False(t, p.NamesFile("docs"))
	require.Equal(t, []prompt.Numbered{{"pr", "170"}}, prompt.Parse("/pr-review 170").Numbered)
}

func TestForms(t *testing.T) {
	for _, tt := range []struct {
		text                  string
		asks, orders, follows bool
	}{
		{"what is a mast", true, false, false},
		{"the mast broke, why?", true, false, false},
		{"please add a mast", false, true, false},
		{"can I write to the live database", true, false, false},
		{"in which order do they go out", true, false, false},
		{"Bekommt man bei Sturm Geld zurück", true, false, false},
		{"Is the mast made of ash", true, false, false},
		{"but that is wrong", false, false, true},
		{"und warum?", true, false, true},
		{"为什么这么慢", true, false, false},
		{"The mast is made of ash.", false, false, false},
	} {
		p := prompt.Parse(tt.text)
		require.Equal(t, [3]bool{tt.asks, tt.orders, tt.follows}, [3]bool{p.Asks, p.Orders, p.Follows}, tt.text)
	}
}

func TestIsTelling(t *testing.T) {
	for word, want := range map[string]bool{"gitignore": true, "Postgres": true, "task": false, "What's": false, "12": false, "x": false, "索引": true} {
		require.Equal(t, want, prompt.IsTelling(word), word)
	}
}

func TestTitle(t *testing.T) {
	require.Equal(t, "why is it slow?", prompt.Title("why is\nit slow?"))
	require.Equal(t, "worker failed to start", prompt.Title("10:00:02.55 ERROR worker failed to start"))
	require.Empty(t, prompt.Title("go on"))
	require.LessOrEqual(t, len(prompt.Title(strings.Repeat("é mast ", 1000))), 1000)
}

// Parse neither loses nor invents typed text.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"go on", "ok\n```\nx\n```", "2026-02-12 17:38:00 ERROR x", "@a.md #1 /b 2", "為什麼?", "\x00\xff", "a  \n\tat b (c:1)"} {
		f.Add(text)
	}
	if texts, err := filepath.Glob("../../testdata/workspace/**/*.md"); err == nil && len(texts) > 0 {
		if text, err := os.ReadFile(texts[0]); err == nil {
			f.Add(string(text))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := prompt.Parse(text)
		if len(p.Own) > len(text)+1 {
			t.Fatalf("own words are longer than the prompt: %q of %q", p.Own, text)
		}
		for word := range strings.FieldsSeq(p.Own) {
			if !strings.Contains(text, word) && len(text) < 32<<10 {
				t.Fatalf("own word %q is not in %q", word, text)
			}
		}
		if len(p.Errors) > 3 {
			t.Fatalf("%d errors", len(p.Errors))
		}
		prompt.Title(text)
	})
}

// The names of an editor's attachments are no part of Own.
func TestAttachments(t *testing.T) {
	for text, own := range map[string]string{
		"#terminalLastCommand fix errors":          "fix errors",
		"@agent Continue":                          "Continue",
		"look at #codebase and #selection, please": "look at  and , please",
		"see issue #12 of @agents":                 "see issue #12 of @agents",
		"the #selections of the editor":            "the #selections of the editor",
	} {
		require.Equal(t, own, prompt.Parse(text).Own, text)
	}
	require.Equal(t, prompt.Acknowledgement, prompt.Parse("@agent Continue").Kind)
}

func TestAsksAgent(t *testing.T) {
	for text, want := range map[string]bool{
		"did you update the changelog?":             true,
		"ok, and have you run the tests?":           true,
		"where are you going to create those?":      true,
		"hast du die Tests laufen lassen?":          true,
		"why are you editing the main workspace?":   false,
		"which port do you use for staging?":        false,
		"Can you tell me who owns the deploy keys?": false,
	} {
		require.Equal(t, want, prompt.Parse(text).AsksAgent, text)
	}
}
