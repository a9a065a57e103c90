package statement

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOf(t *testing.T) {
	text := "# Title\n\nA **bold** claim.\nOver two lines!\n\n- one\n- two\n  goes on\n- as follows:\n- outer\n  - inner word\n\n```\n- code\n```\n\n1) x\n"
	require.Equal(t, []Statement{{2, 4, "a bold claim. over two lines"}, {5, 6, "one"}, {6, 8, "two goes on"}, {10, 11, "inner word"}, {16, 17, "x"}}, Of(text, 1))
	require.Len(t, Of(text, 3), 2)
	require.Empty(t, Of("", 1))
	require.Empty(t, Of("- \n- .\n", 1))
}

func TestNear(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"use tabs", "use tabs", true}, {"use tabs", "use spaces", false},
		{"the staging postgres listens on port 5433", "the staging postgres now listens on port 5433", true},
		{"the staging postgres listens on port 5433", "the staging postgres listens on port 5432", false},
		{"always run the tests before you push", "never run the tests before you push", false},
		{"contact alice from the platform team", "contact bob from the platform team", false}, {"always enable the response cache", "always disable the response cache", false},
		{"fact 0 of writer 1", "fact 1 of writer 0", false},
		{"deploy with make deploy on the main host", "deploy with make deploy on the main host please", true},
		{"deploy with `make deploy` on the main host", "deploy with `make ship` on the main host", false},
	} {
		require.Equal(t, tt.want, Near(tt.a, tt.b), "%q, %q", tt.a, tt.b)
		require.Equal(t, tt.want, Near(tt.b, tt.a), "%q, %q", tt.b, tt.a)
	}
}

func TestStruck(t *testing.T) {
	for text, want := range map[string]bool{
		"- ~~one~~":                              true,
		"~~one\ntwo~~":                           true,
		"1) ~~one~~. (superseded 2026-02-24)":    true,
		"* ~~one~~ (superseded by the next one)": true,
		"- [x] ~~done~~":                         true,
		"**~~bold~~**":                           true,
		"- ~~it is at ~/.config/app~~":           true,
		"~~x~~ (superseded 2026-01-01, see (b))": true,
		"- one":                                  false,
		"- ~~one~~ two":                          false,
		"- ~~one~~ and ~~two~~":                  false,
		"~~~\ncode\n~~~":                         false,
		"~~ x ~~":                                false,
		"~~~~":                                   false,
	} {
		require.Equal(t, want, IsStruck(text), "%q", text)
	}
	require.Equal(t, "# A\n\n\n- two\n\n```\n~~code~~\n```\n", WithoutStruck("# A\n\n- ~~one~~\n- two\n\n```\n~~code~~\n```\n"))
	require.Equal(t, "plain", WithoutStruck("plain"))
	require.Equal(t, "# A\n\n- one\n- two\n  more\n- ~~three~~ four\n", Unstruck("# A\n\n- ~~one~~ (superseded 2026-02-24)\n- ~~two\n  more~~\n- ~~three~~ four\n"))
}

func FuzzStrike(f *testing.F) {
	f.Add("- one\n  two")
	f.Add("a ~ b")
	f.Fuzz(func(t *testing.T, text string) {
		struck, ok := Strike(text, "2026-02-24")
		if ok && !IsStruck(struck) {
			t.Errorf("%q is not struck", struck)
		}
		if !ok && struck != text && !strings.Contains(struck, "~~") {
			t.Errorf("%q", struck)
		}
		if strings.Count(WithoutStruck(text), "\n") != strings.Count(text, "\n") {
			t.Error("lines moved")
		}
	})
}
