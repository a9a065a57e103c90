package use

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/journal"
)

func TestByDay(t *testing.T) {
	zone := time.FixedZone("east", 5*3600)
	now := time.Date(2026, 11, 25, 3, 0, 0, 0, zone)
	turn := func(at time.Time, used ...journal.Use) journal.Entry {
		e := turnOf("x", make([]string, len(used))...)
		e.At = at
		for i := range used {
			e.Given[i].Used = used[i]
		}
		return e
	}
	days := ByDay([]journal.Entry{
		turn(time.Date(2026, 11, 24, 21, 0, 0, 0, time.UTC), journal.Yes, journal.No, ""), // the 25th in the east
		turn(now.AddDate(0, 0, -2)),
		turn(now.AddDate(0, 0, -3), journal.Yes), // too early
	}, now, 3)
	require.Equal(t, []Day{
		{Day: "2026-11-23", Prompts: 1}, {Day: "2026-11-24"},
		{Day: "2026-11-25", Prompts: 1, Counts: Counts{Given: 3, Used: 1, Unused: 1, Unknown: 1}},
	}, days)
}

func TestMostUsedAndNoise(t *testing.T) {
	s := Summary{Documents: []Document{
		{"given and unknown", Counts{Given: 9, Unknown: 9}}, {"noise", Counts{Given: 5, Unused: 4, Unknown: 1}}, {"worse noise", Counts{Given: 5, Unused: 5}},
		{"used once", Counts{Given: 4, Used: 1, Unused: 3}}, {"used", Counts{Given: 3, Used: 3}}, {"rare", Counts{Given: 2, Unused: 2}},
	}}
	names := func(all []Document) (names []string) {
		for _, d := range all {
			names = append(names, d.Path)
		}
		return names
	}
	require.Equal(t, []string{"used", "used once"}, names(s.MostUsed(9)))
	require.Equal(t, []string{"used"}, names(s.MostUsed(1)))
	require.Equal(t, []string{"worse noise", "noise"}, names(s.Noise(9)))
	require.NotNil(t, Summary{}.Noise(1))
}

func TestSummarise(t *testing.T) {
	a, b, c := turnOf("x", "a.md", "b.md"), turnOf("y", "a.md"), turnOf("z")
	a.Given[0].Used, a.Given[1].Used, b.Given[0].Used = journal.Yes, journal.No, journal.Unknown
	script, skipped, early := turnOf("x", "a.md"), turnOf("x"), turnOf("x", "a.md")
	script.Session, skipped.Took, early.At = "", "", testTime.Add(-time.Hour)
	s := Summarise([]journal.Entry{early, a, b, c, script, skipped}, testTime)
	require.Equal(t, Summary{
		Since: testTime, Prompts: 3, Turns: 2, Counts: Counts{Given: 3, Used: 1, Unused: 1, Unknown: 1}, Tokens: 21,
		Documents: []Document{{"a.md", Counts{2, 1, 0, 1}}, {"b.md", Counts{1, 0, 1, 0}}},
	}, s)
	said, listed, began := turnOf("x"), turnOf("y"), turnOf("z")
	said.Given = []journal.Given{{Kind: journal.Statement, Key: "said-1", Path: "log.jsonl"}}
	listed.Given = []journal.Given{{Kind: journal.Line, Key: "k3f9a-1", Path: "notes.md", Used: journal.Yes}}
	began.Given = []journal.Given{{Kind: journal.Beginning}, {Kind: journal.Statement, Key: core.Statement{Key: "said-2"}.AtStart(), Path: "old.jsonl"}}
	late := turnOf("x", "late.md")
	late.Undelivered = "late"
	all := []journal.Entry{said, listed, began, late}
	require.Equal(t, Summary{
		Since: testTime, Prompts: 4, Turns: 3, Said: 1, Lines: Counts{Given: 1, Used: 1}, Counts: Counts{Given: 1, Unknown: 1}, Tokens: 7,
		Documents: []Document{{"late.md", Counts{1, 0, 0, 1}}},
	}, Summarise(all, testTime), "what was said is given, too, but for what a session begins with")

	share, ok := s.Share()
	require.True(t, ok)
	require.Equal(t, 0.5, share)
	_, ok = Summarise(nil, testTime).Share()
	require.False(t, ok)
}
