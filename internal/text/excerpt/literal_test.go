package excerpt

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestLiteral(t *testing.T) {
	for _, tt := range []struct {
		text, in string
		want     int
	}{
		{"uthenti", "the authentication flow", 5},
		{"AUTH", "the authentication flow", 4},
		{"() ->", "map(() -> 1)", 4},
		{".*", "a.*b", 1},
		{".*", "ab", -1},
		{"\\n", "a\\n", 1},
		{"KELVIN", "5 kelvin", 2},
		{"k", "5 \u212a", 2}, // the sign of kelvin, which is longer
		{"b", "\u212ab", 3},
		{"ΣΊΣΥΦΟΣ", "σίσυφος", 0},
		{"straße", "in der STRAßE", 7},
		{"路", "渡轮路", 6},
		{"", "abc", -1},
		{"abcd", "abc", -1},
		{"bc", "a\nbc", 2},
	} {
		require.Equal(t, tt.want, NewLiteral(tt.text).In(tt.in), "%q in %q", tt.text, tt.in)
	}
	text := strings.Repeat("za", 1<<20) // the literal nearly fits everywhere
	require.Equal(t, -1, NewLiteral(strings.Repeat("ZA", 8<<10)+"b").In(text))
}

func TestAround(t *testing.T) {
	long := strings.Repeat("a ", 400) + "needle" + strings.Repeat(" b", 400)
	got, _ := Around(long, "NEEDLE", 300)
	require.Len(t, []rune(got), 300)
	require.InDelta(t, 150, strings.Index(got, "needle"), 10, "the match is in the middle")
	for query, want := range map[string]int{"the port": 4, "nowhere": 0, "": 0, "report due": 2} {
		_, lines := Around("# Net\n\n- the report is due\n- something in İstanbul\n- the port is 5432\n", query, 300)
		require.Equal(t, want, lines, query)
	}
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
		require.Equal(t, want, NewLiteral(text).In(in), "%q in %q", text, in)
		if part, _ := Around(in, text, 20); utf8.RuneCountInString(part) > max(20, 0) && utf8.RuneCountInString(in) > 20 {
			t.Errorf("%d characters around %q", utf8.RuneCountInString(part), text)
		}
	})
}
