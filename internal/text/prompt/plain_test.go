package prompt_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/text/prompt"
)

func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"bump allauth to the latest version":                      "bump allauth to the latest version",
		"please bump allauth to the latest version":               "bump allauth to the latest version",
		"can you bump allauth to the latest version?":             "bump allauth to the latest version",
		"Ok, could you please bump allauth, thanks!":              "bump allauth",
		"bump allauth to the latest version and commit":           "bump allauth to the latest version",
		"bump allauth to the latest version. Thanks a lot.":       "bump allauth to the latest version",
		`"bump allauth to the latest version"`:                    "bump allauth to the latest version",
		"hi! bump allauth, then commit it and push, please":       "bump allauth",
		"can you tell me which port staging uses?":                "tell me which port staging uses?",
		"which port does staging use? thanks":                     "which port does staging use?",
		"can you show the last month as a graph?":                 "show the last month as a graph",
		"can you tell me the page size?":                          "tell me the page size?",
		"bump allauth to the latest version (README.md)":          "bump allauth to the latest version",
		"bump allauth (to the latest)":                            "bump allauth (to the latest)",
		"ok":                                                      "ok",
		"thanks!":                                                 "thanks!",
		"and the other one?":                                      "and the other one?",
		"please":                                                  "please",
		"commit":                                                  "commit",
		"Kannst du bitte die Tests schreiben?":                    "die Tests schreiben",
		"说明一下部署流程，谢谢":                                             "说明一下部署流程",
		`say "hello" and "bye"`:                                   `say "hello" and "bye"`,
		"rename the port and commit it to the release branch now": "rename the port and commit it to the release branch now",
		"": "",
	} {
		require.Equal(t, want, prompt.Plain(text), text)
	}
}

// Plain is stable: what is plain stays as it is.
func FuzzPlain(f *testing.F) {
	for _, text := range []string{"ok, please add a test, thanks", `""`, "can you?", "好的，谢谢", "\xff?!"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		plain := prompt.Plain(text)
		if len(plain) > len(text)+1 {
			t.Fatalf("%q grew to %q", text, plain)
		}
		if again := prompt.Plain(plain); again != plain {
			t.Fatalf("%q is plain, and then %q", plain, again)
		}
	})
}

func TestGist(t *testing.T) {
	require.Equal(t, "add a test", prompt.Parse("please add a test").Gist())
	long := "Implement the following plan: move the mail worker.\n\n# Context\n\n" + strings.Repeat("Many words of no use. ", 80) + "\n## Retry of mails\n\nsee worker/mail.go and docs/queue.md\n"
	gist := prompt.Parse(long).Gist()
	require.LessOrEqual(t, len(gist), 700)
	for _, held := range []string{"Implement the following plan: move the mail worker.", "Retry of mails", "worker/mail.go", "docs/queue.md"} {
		require.Contains(t, gist, held)
	}
}
