package session

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestOverview(t *testing.T) {
	const where = "overview.md"
	filled := strings.Replace(overviewTemplate, "<!-- What are you working on? -->", "The proxy.\n\nAnd its tests.", 1)
	long := "# Working Memory\n\n## Current Task\n" + strings.Repeat("a line\n", 20) + "\n## Known Context\n" + strings.Repeat("a line\n", 20)
	for _, tt := range []struct {
		name, text string
		room       int
		want       string
	}{
		{"nothing is filled in", overviewTemplate, 2000, ""},
		{"a title", "# Working Memory\n", 2000, ""},
		{"nothing", "", 2000, ""},
		{"one section is filled in", filled, 2000, "# Working Memory\n\n## Current Task\nThe proxy.\n\nAnd its tests."},
		{"as Windows writes it", strings.ReplaceAll(filled, "\n", "\r\n"), 2000, "# Working Memory\n\n## Current Task\nThe proxy.\n\nAnd its tests."},
		{"cut before a section", long, 250, "# Working Memory\n\n## Current Task\n" + strings.Repeat("a line\n", 20) + "(The rest is in overview.md.)"},
		{"cut within a section", long, 100, "# Working Memory\n\n## Current Task\n" + strings.Repeat("a line\n", 5) + "(The rest is in overview.md.)"},
		{"one long line", strings.Repeat("渡", 100), 50, strings.Repeat("渡", 19) + "…\n(The rest is in overview.md.)"},
		{"no room", long, 10, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Excerpt(FilledIn(tt.text), where, tt.room)
			require.Equal(t, tt.want, got)
			require.LessOrEqual(t, utf8.RuneCountInString(got), tt.room)
		})
	}
}
