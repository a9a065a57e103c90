package journal

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
)

func TestSummarise(t *testing.T) {
	of := func(paths ...string) Entry {
		e := prompted("x", paths...)
		for i := range e.Given {
			e.Given[i].Tokens = 7
		}
		return e
	}
	a, b, c := of("a.md", "b.md"), of("a.md"), of()
	a.Given[0].Opened = true
	script, skipped, early := of("a.md"), of(), of("a.md")
	script.Session, skipped.Took, early.At = "", "", testTime.Add(-time.Hour)
	require.Equal(t, Summary{
		Since: testTime, Prompts: 3, Turns: 2, Counts: Counts{Given: 3, Opened: 1}, Tokens: 21,
		Documents: []DocumentCounts{{"a.md", Counts{2, 1}}, {"b.md", Counts{1, 0}}},
	}, Summarise([]Entry{early, a, b, c, script, skipped}, testTime))
	said, listed, began, late := of(), of(), of(), of("late.md")
	said.Given = []Given{{Kind: Statement, Key: "said-1", Path: "log.jsonl"}}
	listed.Given = []Given{{Kind: Line, Key: "k3f9a-1", Path: "notes.md", Opened: true}}
	began.Given = []Given{{Kind: Beginning}, {Kind: Statement, Key: core.Statement{Key: "said-2"}.AtStart(), Path: "old.jsonl"}}
	late.Undelivered = "late"
	require.Equal(t, Summary{
		Since: testTime, Prompts: 4, Turns: 3, Said: 1, Lines: Counts{Given: 1, Opened: 1}, Counts: Counts{Given: 1}, Tokens: 7,
		Documents: []DocumentCounts{{"late.md", Counts{1, 0}}},
	}, Summarise([]Entry{said, listed, began, late}, testTime), "what was said is given, too, but for what a session begins with")
	require.Equal(t, Summary{Documents: []DocumentCounts{}}, Summarise(nil, time.Time{}))
}
