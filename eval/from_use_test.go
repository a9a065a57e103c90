package eval

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/use"
)

func TestFromUse(t *testing.T) {
	_, err := FromUse(nil)
	require.ErrorIs(t, err, ErrNothingUsed)

	at := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	turn := func(prompt string, hits ...use.Hit) use.Turn {
		at = at.Add(time.Minute)
		return use.Turn{ID: prompt, At: at, Prompt: prompt, Hits: hits}
	}
	hit := func(path string, used use.Verdict, why string) use.Hit {
		return use.Hit{ID: path, Path: path, Source: path + "#L1", Score: 0.5, Used: used, Why: why}
	}
	turns := []use.Turn{
		turn("which port?", hit("old.md", use.Yes, "x")),
		turn("which port?", hit("b.md", use.Yes, "names 5433 of it"), hit("a.md", use.Yes, "x"), hit("b.md", use.Yes, "x"), hit("c.md", use.No, "")),
		turn("go on:\n\"yes\" # now", hit("c.md", use.No, "")),
		turn("not judged", hit("c.md", use.Unknown, "")),
		turn("not known", hit("c.md", use.Unknown, "no longer in the index"), hit("a.md", use.No, "")),
		turn("", hit("a.md", use.Yes, "its prompt was not kept")),
	}
	text, err := FromUse(turns)
	require.NoError(t, err)
	cases, err := ParseCases(text)
	require.NoError(t, err, string(text))
	require.Equal(t, []Case{{Query: "which port?", Expect: Expectations{{Path: "a.md"}, {Path: "b.md"}}}}, cases)
	require.Contains(t, string(text), "# given: c.md#L1 (0.50)\n")
	require.NotContains(t, string(text), "not known")
	require.NotContains(t, string(text), "not judged")

	_, marked, ok := strings.Cut(string(text), unusedHead)
	require.True(t, ok)
	cases, err = ParseCases([]byte("cases:\n" + strings.ReplaceAll(strings.ReplaceAll(marked, "# given", "## given"), "#  ", "  ")))
	require.NoError(t, err, marked)
	require.Equal(t, []Case{{Query: `go on: "yes" # now`, ExpectNothing: true}}, cases, "uncommented they are cases")

	text, err = FromUse(turns[2:3])
	require.NoError(t, err)
	cases, err = ParseCases(text)
	require.NoError(t, err)
	require.Empty(t, cases, "until a person decides")
}
