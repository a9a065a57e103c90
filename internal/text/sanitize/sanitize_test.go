package sanitize

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/cputime"
)

// A text that never becomes stable is withheld.
func TestSettle(t *testing.T) {
	text, findings := settle("a", func(text string) (string, []Finding) { return text + "{", []Finding{{Kind: "tag"}} })
	require.Equal(t, unsettled, text)
	require.Len(t, findings, passes+1)
	again, findings := Text(text)
	require.Equal(t, text, again)
	require.Empty(t, findings)

	times := 0
	text, findings = settle("aaa", func(text string) (string, []Finding) {
		times++
		return strings.Replace(text, "a", "b", 1), nil
	})
	require.Equal(t, "bbb", text)
	require.Empty(t, findings)
	require.Equal(t, 4, times)
}

func TestName(t *testing.T) {
	for in, want := range map[string]string{
		"notes/a.md#L1":          "notes/a.md#L1",
		"app/(group)/page（旧）.md": "app/(group)/page（旧）.md",
		"a) • b":                 "a&#41; • b",
		")(":                     "&#41;&#40;",
		"（a)":                    "（a)",
		"❨a":                     "&#40;a",
		"(source: b.md)":         "(source&#58; b.md)",
		"Ѕources：b":              "Ѕources&#58;b",
		"resource: b":            "resource: b",
		"a\n</memory>":           "a &lt;/memory>",
		"x\u2028y\tz":            "x y z",
	} {
		require.Equal(t, want, Name(in), in)
	}
}

// Of variation selectors, those stay that Unicode gives a meaning to.
func TestVariants(t *testing.T) {
	for _, text := range []string{"❤\ufe0f ☎\ufe0e 1\ufe0f⃣ ℹ\ufe0f ‼\ufe0f 🏳\ufe0f\u200d🌈 👁\ufe0f\u200d🗨\ufe0f", "0\ufe00 ∩\ufe00", "樂\ufe00樂\ufe02", "ᠠ\u180b"} {
		shown, findings := Reveal(text)
		require.Equal(t, text, shown)
		require.Empty(t, findings)
	}
	for in, want := range map[string]string{
		"❤\ufe00❤\ufe05❤\ufe0d":            "❤❤❤",
		"→\ufe0f→\ufe01∀\ufe02":            "→→∀",
		"中\ufe00中\ufe05樂\ufe03国\ufe0f":     "中中樂国",
		"❤\ufe0f\ufe0f\ufe0e":              "❤\ufe0f",
		"a\ufe0fé\ufe00😀\ufe0f中\U000e0100": "aé😀中",
	} {
		shown, findings := Reveal(in)
		require.Equal(t, want, shown)
		require.Len(t, findings, 1)
	}
}

// Reveal removes exactly the ranges of Hidden.
func FuzzHidden(f *testing.F) {
	for _, seed := range []string{"", "plain\n\ttext", "a\u200bb\u200d\u200dc", "\x1b[1mbold\x1b[0m\x1b", "\x1b]0;a\ntitle\x07x", "\r\v\f\u0085\u2028\u2029", "👩\u200d💻 ❤\ufe0f a\ufe0f", "\U000E0041\U000E0042x", "\x1b\x1b[1m[1m", "\u0301\u200d", "\x00\x7f"} {
		f.Add(seed)
	}
	noBreaks := func(text string) string {
		return strings.Map(func(r rune) rune {
			if isBreak(r) {
				return -1
			}
			return r
		}, text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			Hidden(text)
			return
		}
		var rest strings.Builder
		done := 0
		for _, h := range Hidden(text) {
			require.True(t, h[0] >= done && h[0] < h[1] && h[1] <= len(text), "%v behind %d of %d", h, done, len(text))
			rest.WriteString(text[done:h[0]])
			done = h[1]
		}
		rest.WriteString(text[done:])
		shown, _ := Reveal(text)
		require.Equal(t, noBreaks(shown), noBreaks(rest.String()), "of %q", text)
	})
}

// The time is linear, also where one change allows the next.
func TestTimeGrowsWithLength(t *testing.T) {
	for name, piece := range map[string]string{
		"words": "the ferry leaves at nine ", "open": "<|", "tokens": "<|im_start|>", "roles": "[user]ASSISTANT: ", "lines of roles": "[user]ASSISTANT:\n",
		"messages": "{\"role\":\nuser:", "messages behind roles": "{\"role\":\n[user]ASSISTANT:\n",
		"ligatures": "\ufb06", "joiners": "\u24dc\u200d", "brackets": "{", "pairs": `"role":"system"`, "names of pairs": `"role":`, "gaps": "\"role\"  ", "comments": "<!--", "markup": "<script><![CDATA[<?", "ends": "-->?>", "marks": "<\u0301",
	} {
		took := func(size int) time.Duration {
			text := strings.Repeat(piece, size/len(piece))
			return cputime.Least(2, func() { Text(text) })
		}
		small, large := took(4<<10), took(32<<10)
		require.Less(t, large, 40*small+200*time.Millisecond, "%s: %v for 4 KB, %v for 32 KB", name, small, large)
	}
}

func TestSpeaker(t *testing.T) {
	for _, name := range []string{"Ada", "Zoë O'Brien-Smith", "dr. who_2", "小林 健", "अनीता", "subagent code-reviewer", strings.Repeat("é", 40)} {
		require.Equal(t, name, Speaker(name))
	}
	require.Equal(t, "Ada Lovelace", Speaker(" Ada \n Lovelace"))
	for _, name := range []string{"", "Ada: obey", "Ada, 3 May", "Ada (admin)", "a\u200bda", "a@b", "• x", "<|im_start|>", "[redacted: github-pat]", strings.Repeat("é", 41)} {
		require.Empty(t, Speaker(name))
	}
}
