package summary

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/cputime"
)

func TestSummaries(t *testing.T) {
	for _, tt := range []struct{ name, before, text, given, want string }{
		{"given", "", "# A\n\ntext\n", "by hand", "# A\n\n> Summary: by hand\n\ntext\n"},
		{"replaced", "", "# A\n\n> Summary: old\n\ntext\n", "new  one", "# A\n\n> Summary: new one\n\ntext\n"},
		{"a person's summary gets what is new", "# A\n\n> Summary: mine\n\n- x: 1\n", "# A\n\n> Summary: mine\n\n- x: 1\n- y: 2\n", "", "# A\n\n> Summary: y, mine\n\n- x: 1\n- y: 2\n"},
		{"and stays while it covers the file", "# A\n\n> Summary: X and Y\n\n- x: 1\n", "# A\n\n> Summary: X and Y\n\n- x: 3\n- y: 2\n", "", "# A\n\n> Summary: X and Y\n\n- x: 3\n- y: 2\n"},
		{"or if it comes with the change", "# A\n\n> Summary: mine\n\n- x: 1\n", "# A\n\n> Summary: all of it\n\n- y: 2\n", "", "# A\n\n> Summary: all of it\n\n- y: 2\n"},
		{"one that grew too long is generated", "# A\n\n> Summary: " + strings.Repeat("word ", 48) + "\n\n- x: 1\n", "# A\n\n> Summary: " + strings.Repeat("word ", 48) + "\n\n- x: 1\n- y: 2\n", "", "# A\n\n> Summary: x, y\n\n- x: 1\n- y: 2\n"},
		{"a person edited below a generated summary", "# A\n\n> Summary: x\n\n- x: 1\n- y: 2\n", "# A\n\n> Summary: x\n\n- x: 1\n- y: 2\n- z: 3\n", "", "# A\n\n> Summary: x, y, z\n\n- x: 1\n- y: 2\n- z: 3\n"},
		{"items before entries", "", "# A\n\nAll about Ada.\n\n- Name: Ada\n\n## Moved to Graz\n- Date: today\n", "", "# A\n\n> Summary: Moved to Graz, name\n\nAll about Ada.\n\n- Name: Ada\n\n## Moved to Graz\n- Date: today\n"},
		{"a generated summary is generated again", "# A\n\n> Summary: x\n\n- x: 1\n", "# A\n\n> Summary: x\n\n- x: 1\n- y: 2\n", "", "# A\n\n> Summary: x, y\n\n- x: 1\n- y: 2\n"},
		{"without a heading", "", "- The deploy needs a VPN to the office in Graz today\n", "", "> Summary: the deploy needs a vpn to the office in\n\n- The deploy needs a VPN to the office in Graz today\n"},
		{"nothing to say", "", "# A\n", "", "# A\n"},
		{"keys in bold", "", "# A\n\n- **Editor**: vim\n- **Shell:** fish\n", "", "# A\n\n> Summary: editor, shell\n\n- **Editor**: vim\n- **Shell:** fish\n"},
		{"entries without a summary", "", "# A\n## One, two\ntext\n## **Three**\n- no: x\n", "", "# A\n\n> Summary: Three, One two\n\n## One, two\ntext\n## **Three**\n- no: x\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, Set(tt.before, tt.text, tt.given))
		})
	}
	many := "# A\n"
	for i := range 20 {
		many += fmt.Sprintf("## Entry %d\n", i)
	}
	require.Equal(t, "the token of the staging server in oslo is", generate("- the token of the staging server in Oslo is [redacted: github-pat] now\n"))
	require.Equal(t, "the token", generate("- the token [redacted: github-pat]: new\n"))
	require.Equal(t, "Entry 19, Entry 18, Entry 17, Entry 16, Entry 15, Entry 14, Entry 13, Entry 12, Entry 11, Entry 10, Entry 9, Entry 8, and older", generate(many))
}

// Without removes a generated summary and keeps one that a person wrote.
func TestWithout(t *testing.T) {
	made := "# User\n\n> Summary: name, role\n\n- Name: Ada\n- Role: engineer\n"
	require.NotContains(t, Without(made), "Summary")
	require.Contains(t, Without(made), "- Name: Ada\n- Role: engineer\n")
	for _, text := range []string{strings.Replace(made, "name, role", "who I am", 1), "# User\n\n- Name: Ada\n", ""} {
		require.Equal(t, text, Without(text))
	}
}

// A summary does not say what is struck through, by memcore or by hand.
func TestSummaryOfStruckText(t *testing.T) {
	before := "# A\n\n> Summary: the port is 5433, editor\n\n- The port is 5433\n- Editor: vim\n"
	struck := strings.Replace(before, "- The port is 5433", "- ~~The port is 5433~~ (superseded 2026-02-24)", 1)
	require.Equal(t, "editor", For(struck))
	require.NotContains(t, Without(struck), "Summary")
	require.Equal(t, strings.Replace(struck, "the port is 5433, editor", "editor", 1), WithoutForgotten(before, struck))
	own := func(text string) string {
		return strings.Replace(text, "the port is 5433, editor", "ports, The port is 5433", 1)
	}
	require.Equal(t, strings.Replace(own(struck), "ports, The port is 5433", "ports", 1), WithoutForgotten(own(before), own(struck)))
	require.Equal(t, own(struck), Without(own(struck)), "a person's")
}

// A summary takes linear time, because others wait for the journal.
func TestSummaryOfManyItems(t *testing.T) {
	items := func(n int) string {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, "- item%d\n", i)
		}
		return text.String()
	}
	few, many := items(500), items(5_000)
	took := func(text string) time.Duration {
		return cputime.Least(10, func() {
			require.Equal(t, "item0, item1, item2, item3, item4, item5, item6, item7, item8, item9, item10, item11, and more", generate(text))
		})
	}
	a, b := max(took(few), time.Millisecond), took(many) // some clocks are coarse
	if b > 40*a {
		t.Errorf("a summary of 500 items takes %v, one of 5,000 takes %v", a, b)
	}
}
