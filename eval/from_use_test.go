package eval

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/journal"
)

func TestFromUse(t *testing.T) {
	_, err := FromUse(nil)
	require.ErrorIs(t, err, ErrNothingUsed)

	at := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	turn := func(prompt string, given ...journal.Given) journal.Entry {
		at = at.Add(time.Minute)
		return journal.Entry{Head: journal.Head{ID: prompt, Session: "s"}, Event: journal.Event{At: at, Kind: journal.PromptEvent, Prompt: prompt}, Answer: journal.Answer{Given: given, Took: "1ms"}}
	}
	hit := func(path string, used journal.Use, why string) journal.Given {
		return journal.Given{Kind: journal.Passage, Key: path, Path: path, Source: path + "#L1", Score: 0.5, Used: used, Why: why}
	}
	turns := []journal.Entry{
		turn("which port?", hit("old.md", journal.Yes, "x")),
		turn("which port?", hit("b.md", journal.Yes, "names 5433 of it"), hit("a.md", journal.Yes, "x"), hit("b.md", journal.Yes, "x"), hit("c.md", journal.No, "")),
		turn("go on:\n\"yes\" # now", hit("c.md", journal.No, "")),
		turn("not judged", hit("c.md", journal.Unknown, "")),
		turn("not known", hit("c.md", journal.Unknown, "no longer in the index"), hit("a.md", journal.No, "")),
		turn("", hit("a.md", journal.Yes, "its prompt was not kept")),
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
