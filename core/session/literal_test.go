package session

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestLiteral(t *testing.T) {
	const any, word = false, true
	for _, tt := range []struct {
		text, in string
		word     bool
		want     int
	}{
		{"uthenti", "the authentication flow", any, 5},
		{"AUTH", "the authentication flow", any, 4},
		{"auth", "the authentication flow", word, -1},
		{"auth", "authentication and Auth: auth", word, 19},
		{"() ->", "map(() -> 1)", any, 4},
		{"() ->", "map(() -> 1)", word, 4},
		{".*", "a.*b", any, 1},
		{".*", "ab", any, -1},
		{"\\n", "a\\n", any, 1},
		{"KELVIN", "5 kelvin", any, 2},
		{"k", "5 \u212a", any, 2}, // the sign of kelvin, which is longer
		{"ΣΊΣΥΦΟΣ", "σίσυφος", any, 0},
		{"straße", "in der STRAßE", any, 7},
		{"路", "渡轮路", any, 6},
		{"x_", "x_y x_", word, 4},
		{"", "abc", any, -1},
		{"abcd", "abc", any, -1},
		{"bc", "a\nbc", any, 2},
	} {
		l := newLiteral(tt.text)
		l.wholeWord = tt.word
		require.Equal(t, tt.want, l.in(tt.in), "%q in %q", tt.text, tt.in)
	}
}

// A text of one repeated letter, where the literal nearly fits everywhere, takes no longer than
// others.
func TestLiteralInHostileText(t *testing.T) {
	text := strings.Repeat("za", 1<<20)
	require.Equal(t, -1, newLiteral(strings.Repeat("ZA", 8<<10)+"b").in(text)) // comparing it everywhere takes minutes
	word := newLiteral("a")
	word.wholeWord = true
	require.Equal(t, -1, word.in(strings.Repeat("a", 4<<20)), "as a word")
	require.Equal(t, len(text)-16<<10, newLiteral(strings.Repeat("ZA", 8<<10)+"b").in(text+"b"))
}

// A literal is found where regular expressions find it.
func FuzzLiteral(f *testing.F) {
	for _, seed := range [][2]string{{"uthenti", "the authentication flow"}, {"() ->", "map(() -> 1)"}, {"k", "5 \u212a"}, {"ſS", "sſ Ss"}, {"aab", strings.Repeat("A", 40) + "b"}, {"", ""}, {"İ", "i̇ İ"}, {"\n", "a\nb"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, in string) {
		if !utf8.ValidString(text) || !utf8.ValidString(in) || text == "" || len(text) > 1000 {
			return
		}
		want := -1
		if at := regexp.MustCompile("(?i)" + regexp.QuoteMeta(text)).FindStringIndex(in); at != nil {
			want = at[0]
		}
		l := newLiteral(text)
		if got := l.in(in); got != want {
			t.Errorf("%q is at %d of %q, want %d", text, got, in, want)
		}
		l.wholeWord = true
		at := l.in(in)
		if at >= 0 && (insideWord(in, at) || at < want) {
			t.Errorf("%q as a word is at %d of %q", text, at, in)
		}
	})
}
