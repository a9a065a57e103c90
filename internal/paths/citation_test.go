package paths

import (
	"math/rand/v2"
	pathpkg "path"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/memcore/memcore/internal/text/sanitize"
)

func TestSpell(t *testing.T) {
	for path, want := range map[string]string{
		"notes/staging.md":             "notes/staging.md",
		"Meeting notes (old)/R&D's.md": "Meeting notes (old)/R&D's.md",
		"会议/纪要（旧）.md":                  "会议/纪要（旧）.md",
		"Überblick – café.md":          "Überblick – café.md",
		"какие-то заметки.md":          "какие-то заметки.md",
		"Kızıl ’24 📌.md":               "Kızıl ’24 📌.md",
		"C#/a#1.md":                    "C#/a#1.md",
		"BEANS\u200b.md":               "BEANS%E2%80%8B.md",
		"ВEANS.md":                     "%D0%92EANS.md",
		"ＢＥＡＮＳ.md":                     "%EF%BC%A2%EF%BC%A5%EF%BC%A1%EF%BC%AE%EF%BC%B3.md",
		"a\tb.md":                      "a%09b.md",
		" a  b .md":                    "%20a %20b .md",
		"a\u00a0b.md":                  "a%C2%A0b.md",
		"service:notes/a.md":           "service%3Anotes/a.md",
		"a.md#L3":                      "a.md%23L3",
		"100%.md":                      "100%25.md",
		"a%09b.md":                     "a%2509b.md",
		"a) • b (c.md":                 "a%29 • b %28c.md",
		"a\xffb\xc3.md":                "a%FFb%C3.md",
		"a\ufffd.md":                   "a\ufffd.md",
		"<|im_start|>.md":              "%3C%7Cim_start%7C%3E.md",
		"file:///a b":                  "file:///a b",
	} {
		if got := Spell(path); got != want {
			t.Errorf("Spell(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestSpelled(t *testing.T) {
	for typed, want := range map[string]string{
		"notes/a.md": "notes/a.md", "a%09b.md": "a%09b.md", "a\tb.md": "a%09b.md", "BEANS%e2%80%8b.md": "BEANS%E2%80%8B.md", "100%.md": "100%25.md",
		"service:notes/a.md": "service:notes/a.md", "service:session:one/a.md": "service:session:one/a.md", "C:/a.md": "C:/a.md",
		"service:source: b.md": "service:source%3A b.md", "other:a.md": "other%3Aa.md", "./~/a.md": "./~/a.md",
	} {
		if got := Spelled(typed); got != want {
			t.Errorf("Spelled(%q) = %q, want %q", typed, got, want)
		}
	}
}

func TestCitation(t *testing.T) {
	for _, tt := range []struct {
		name       string
		start, end int
		want       string
	}{{"a.md", 10, 20, "a.md#L10-L20"}, {"a.md", 10, 10, "a.md#L10"}, {"service:a\n.md", 1, 1, "service:a%0A.md#L1"}} {
		if got := Citation(tt.name, tt.start, tt.end); got != tt.want {
			t.Errorf("Citation(%q, %d, %d) = %s, want %s", tt.name, tt.start, tt.end, got, tt.want)
		}
	}
	for text, want := range map[string]string{"a.md#L10-20": "a.md#L10-L20", "a\u200b.md#L1": "a%E2%80%8B.md#L1", "a.md#L0": "", "a.md#L2-L1": "", "#L1": "", "a.md#Lx": ""} {
		got := ""
		if name, first, last, ok := ParseCitation(text); ok {
			got = Citation(name, first, last)
		}
		if got != want {
			t.Errorf("ParseCitation(%q) is %q, want %q", text, got, want)
		}
	}
}

// A citation names exactly one path, and nothing in it means anything to a reader.
func checkCitation(t *testing.T, path string) {
	t.Helper()
	path = strings.TrimPrefix(pathpkg.Clean("/"+path), "/") // as file systems have it
	if path == "" {
		return
	}
	name := NewNames("/w", "/h").Of("/w/" + path)
	citation := Citation(name, 3, 9)
	read, first, last, ok := ParseCitation(citation)
	if !ok || read != name || first != 3 || last != 9 || strings.TrimPrefix(Unspell(read), "./") != path {
		t.Errorf("%q is cited as %q, which reads back as %q, lines %d to %d", path, citation, Unspell(read), first, last)
	}
	if again := Spelled(name); again != name {
		t.Errorf("%q becomes %q", name, again)
	}
	if shown, _ := sanitize.Reveal(citation); !utf8.ValidString(citation) || shown != citation || strings.Join(strings.Fields(citation), " ") != citation {
		t.Errorf("%q is shown as %q", citation, shown)
	}
	if strings.ContainsAny(citation, "<>[]{}|\"`\\") || !inPairs(citation, '(', ')') {
		t.Errorf("%q has marks that mean something", citation)
	}
}

// alphabet has what names confuse readers with.
var alphabet = []string{"a", "b", "B", "В", "é", "e\u0301", "会", "ʼ", "’", " ", "  ", "\t", "\n", "\u200b", "\u00a0", "\u2800", "\u202e", "\ufe0f", "\U000e0041", "\xff", "\xc3", "\ufffd",
	"%", "%20", "%2509", "#", "#L3", "#L3-L5", ":", "service:", "session:", "://", "~", "./", "/", ".", "..", "(", ")", "（", "）", "[INST]", "<|", "|>", "\"", "'", "`", "\\", "source: b.md", ".md"}

func TestCitationsOfAnyNameReadBack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	seen := map[string]string{}
	for range 50_000 {
		var b strings.Builder
		for range 1 + r.IntN(8) {
			b.WriteString(alphabet[r.IntN(len(alphabet))])
		}
		path := b.String()
		checkCitation(t, path)
		if other, known := seen[Spell(path)]; known && other != path {
			t.Fatalf("%q and %q are both %q", path, other, Spell(path))
		}
		seen[Spell(path)] = path
	}
}

func FuzzCitation(f *testing.F) {
	for _, seed := range alphabet {
		f.Add(seed)
	}
	f.Fuzz(checkCitation)
}
