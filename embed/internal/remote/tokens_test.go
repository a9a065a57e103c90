package remote

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCountTokens(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want int
	}{
		{"", 0},
		{"a", 1},
		{"the cats sat", 4},
		{"getCacheStats", 4}, // 1 + 3/2 + 3/2
		{"in 2026", 5},       // a digit each
		{"HTTP", 4},
		{"a, b", 3},             //
		{"a    b", 5},           // indentation counts
		{"a\nb", 3},             //
		{"汉字", 3},               // one and a half each
		{"привет", 6},           // a letter each
		{"🙂", 4},                // a byte each
		{"\xff\xfe", 6},         // as the replacement characters that are sent
		{"deadbeefdeadbeef", 7}, // no word is that long
		{strings.Repeat("x", 100), 70},
	} {
		if got := CountTokens(tt.in); got != tt.want {
			t.Errorf("CountTokens(%q) = %d, want %d", tt.in, got, tt.want)
		}
	}
}

// The kept prefix fits, ends between runes, and is the longest.
func FuzzCut(f *testing.F) {
	f.Add("the quick brown fox", 3)
	f.Add("汉字汉字", 2)
	f.Add("a\xff\xffb🙂", 4)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = max(limit, 0)
		at := cutAt(text, limit)
		if CountTokens(text[:at]) > limit {
			t.Errorf("cutAt(%q, %d) = %d, which has %d tokens", text, limit, at, CountTokens(text[:at]))
		}
		if at == len(text) {
			return
		}
		_, width := utf8.DecodeRuneInString(text[at:])
		if CountTokens(text[:at+width]) <= limit {
			t.Errorf("cutAt(%q, %d) = %d, one rune more would fit", text, limit, at)
		}
		if utf8.ValidString(text) && !utf8.ValidString(text[:at]) {
			t.Errorf("cutAt(%q, %d) = %d, inside a rune", text, limit, at)
		}
	})
}
