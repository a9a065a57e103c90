package fence_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"github.com/memcore/memcore/internal/markdown/fence"
)

func TestFence(t *testing.T) {
	for _, tt := range []struct {
		name, opening, line string
		opens, closes       bool
	}{
		{"three", "```", "```", true, true},
		{"with a language", "```go", "```", true, true},
		{"tildes", "~~~ `x`", "~~~~", true, true},
		{"a longer one is not closed by a shorter", "````", "```", true, false},
		{"nor by the other mark", "```", "~~~", true, false},
		{"nor by one with a language", "```", "```go", true, false},
		{"blanks behind the end", "   ```", "  ``` \t\r", true, true},
		{"indented code is none", "    ```", "```", false, false},
		{"an end that is indented is none", "```", "    ```", true, false},
		{"a code span is none", "```x```", "```", false, false},
		{"two are none", "``", "``", false, false},
		{"nothing", "", "", false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := fence.Opens(tt.opening)
			require.Equal(t, tt.opens, f.Open())
			require.Equal(t, tt.closes, f.ClosedBy(tt.line))
			require.False(t, f.Open() && !f.ClosedBy(f.String()), "%q does not close it", f)
		})
	}
}

// The package agrees with a CommonMark parser about a fence at the start of a text.
func FuzzFence(f *testing.F) {
	for _, seed := range [][2]string{{"```", "```"}, {"````go", "```"}, {"   ~~~ x", "~~~~  "}, {"```a`b", "x"}, {" ``", "``"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		for _, c := range first + second {
			if c < ' ' || c > '~' {
				t.Skip("lines of printable text only")
			}
		}
		if strings.TrimSpace(first) == "" {
			t.Skip("a text begins with its first line that is not blank")
		}
		source := []byte(first + "\n" + second + "\n    behind\n")
		node := goldmark.DefaultParser().Parse(text.NewReader(source)).FirstChild()
		code, isFence := node.(*ast.FencedCodeBlock)
		got := fence.Opens(first)
		require.Equal(t, isFence, got.Open(), "%q opens", first)
		if isFence {
			require.Equal(t, code.Lines().Len() == 0, got.ClosedBy(second), "%q closes %q", second, first)
		}
	})
}
