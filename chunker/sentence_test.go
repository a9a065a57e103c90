package chunker

import (
	"strings"
	"testing"
)

func TestSentenceEnd(t *testing.T) {
	for _, want := range [][]string{
		{"One."},
		{"no mark at all\nand on"},
		{"One.", "Two!", "Three?"},
		{"What?!", "\"Yes.\"", "(He said.)", "**Bold.**", "On…", "End."},
		{"Version 1.2.3 of a.b is here.", "It costs 3.50 today."},
		{"Dr. Weiss met Mrs. Ada L. Byron vs. the board, e.g. on Monday.", "Fine."},
		{"it ends. but a small letter goes on.", "Next."},
		{"See no. 5 there.", "Item 1. is not the end."},
		{"今天下雨。", "我们留在家里！", "好吗？", "“好。”", "End."},
		{"हाँ।", "अच्छा।"},
		{"a poem  ", "has lines\\", "like this"},
	} {
		text := strings.Join(want, "\n")
		if !strings.Contains(text, "  ") {
			text = strings.Join(want, " ")
		}
		var got []string
		for at := 0; at < len(text); {
			end := sentenceEnd(text, at)
			got = append(got, text[at:end])
			at = afterBlank(text, end)
		}
		for i := range want {
			want[i] = strings.TrimSpace(want[i])
		}
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("sentences of %q = %q, want %q", text, got, want)
		}
	}
}

func TestSoftBorder(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"one two three four", "one two three "},
		{"one two, three four", "one two, three "},
		{"one two three, four five", "one two three,"},
		{"one two\nthree, four five", "one two\nthree,"},
		{"one two three,\nfour, five", "one two three,\n"},
		{"nothingtocutat", "nothingtocutat"},
		{"一二三四，五六七八", "一二三四，五六七八"},
		{"一二三四五，六七", "一二三四五，"},
	} {
		if got := tt.in[:softBorder(tt.in)]; got != tt.want {
			t.Errorf("softBorder(%q) cuts after %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestFit(t *testing.T) {
	l := newLimits(Options{})
	for _, text := range []string{"", "a", strings.Repeat("a", 10000), strings.Repeat("漢字", 1000), "e" + strings.Repeat("\u0301", 1000), strings.Repeat("👩‍👩‍👧", 100), "\xff\xff\xff"} {
		for _, limit := range []int{0, 1, 7, 240} {
			n := l.fit(text, limit)
			if n < min(1, len(text)) || n > len(text) || l.size(text[:n]) > max(limit, 16) {
				t.Errorf("fit(%.20q of %d bytes, %d) = %d", text, len(text), limit, n)
			}
		}
	}
}
