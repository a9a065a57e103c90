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
		{"each long section loses its end", long, 250, "# Working Memory\n\n## Current Task\n" + strings.Repeat("a line\n", 11) + "…\n\n## Known Context\n" + strings.Repeat("a line\n", 11) + "…\n(The rest is in overview.md.)"},
		{"a short section stays", long + "\n## Pending Issues\nThe winch.\n", 250, "# Working Memory\n\n## Current Task\n" + strings.Repeat("a line\n", 9) + "…\n\n## Known Context\n" + strings.Repeat("a line\n", 9) + "…\n\n## Pending Issues\nThe winch.\n(The rest is in overview.md.)"},
		{"a heading in code begins no section", "## A\n```\n## B\n" + strings.Repeat("a line\n", 20) + "```", 60, "## A\n```\n## B\na line\na line\n…\n(The rest is in overview.md.)"},
		{"a long paragraph", "## Current Task\n" + strings.Repeat("word ", 50), 80, "## Current Task\nword word word word word word wor…\n(The rest is in overview.md.)"},
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

func TestRevised(t *testing.T) {
	task := strings.Replace(overviewTemplate, "<!-- What are you working on? -->", "The proxy.", 1)
	for _, tt := range []struct{ name, overview, text, want string }{
		{"a section replaces its placeholder", overviewTemplate, "## Current Task\nThe proxy.", task},
		{"in any case, and as Windows writes it", overviewTemplate, "# Working Memory\r\n\r\n## current task\r\nThe proxy.\r\n", strings.Replace(task, "Current Task", "current task", 1)},
		{"plain text is the task", overviewTemplate, "The proxy.", task},
		{"there is no file yet", "", "The proxy.", task},
		{"other sections stay", "# Working Memory\n\n## Current Task\nThe crane.\n\n### Steps\n1. Oil\n\n## Pending Issues\nThe winch.\n", "## Current Task\nThe proxy.",
			"# Working Memory\n\n## Current Task\nThe proxy.\n\n## Pending Issues\nThe winch.\n"},
		{"a new section comes last", "## A\none\n", "## B\ntwo", "## A\none\n\n## B\ntwo\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, Revised(tt.overview, tt.text))
			require.Equal(t, tt.want, Revised(tt.want, tt.text), "the same once more changes nothing")
		})
	}
}
