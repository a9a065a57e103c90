package core

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/store"
)

func TestSaidDate(t *testing.T) {
	modified := time.Date(2026, 11, 26, 9, 30, 0, 0, time.Local)
	for _, tt := range []struct{ name, path, front, want string }{
		{"daily note", "daily/2026-09-01.md", "", "2026-09-01 day"},
		{"its name before its frontmatter", "2026_09_01 Meeting.md", "date: 2026-01-02", "2026-09-01 day"},
		{"folders of years and months", "journal/2026/09/01 Tuesday.md", "", "2026-09-01 day"},
		{"a folder alone", "2026-09-01/meeting.md", "", ""},
		{"a week", "2026-W36.md", "", "2026-09-06"},
		{"the week of the change", "2026-W48.md", "", "2026-11-26"},
		{"a month to come", "2027-01.md", "", "2027-01-01"},
		{"no date", "notes/a.md", "title: A", ""},
		{"date", "a.md", "date: 2026-07-10", "2026-07-10 day"},
		{"date with a time", "a.md", "date: 2026-07-10T08:00:00+02:00", "2026-07-10 day"},
		{"text", "a.md", "Date: 'Friday, 10 July 2026'", "2026-07-10 day"},
		{"link to a daily note", "a.md", "day: '[[2026-07-10]]'", "2026-07-10 day"},
		{"number", "a.md", "date: 20260710", "2026-07-10 day"},
		{"created", "a.md", "created: 2026-07-10", "2026-07-10"},
		{"created before updated", "a.md", "updated: 2026-08-01\ncreated_at: 2026-07-10", "2026-07-10"},
		{"date before created", "a.md", "created: 2026-07-10\ndate: 2026-07-08", "2026-07-08 day"},
		{"with blanks", "a.md", "Date Modified: 2026-07-10 14:00", "2026-07-10"},
		{"Unix time", "a.md", "created: 1783677600", "2026-07-10"},
		{"in milliseconds", "a.md", "created: 1783677600000", "2026-07-10"},
		{"list", "a.md", "date: [2026-07-10, 2026-07-12]", "2026-07-10 day"},
		{"template", "a.md", "date: '{{date}}'\ncreated: 2026-07-10", "2026-07-10"},
		{"a year", "a.md", "date: 2026", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			meta, _, _, err := chunker.SplitFrontmatter([]byte("---\n" + tt.front + "\n---\n"))
			require.NoError(t, err)
			d := saidDate(source.Document{Path: tt.path, ModTime: modified}, meta)
			got := ""
			if d.isKnown() {
				got = d.At.In(time.Local).Format(time.DateOnly)
			}
			if d.Day {
				got += " day"
			}
			assert.Equal(t, tt.want, got)
		})
	}
	meta, _, _, err := chunker.SplitFrontmatter([]byte("+++\ndate = 2026-07-10\n+++\n"))
	require.NoError(t, err)
	require.True(t, saidDate(source.Document{Path: "a.md"}, meta).Day, "a date of TOML")
}

func TestDateOfSection(t *testing.T) {
	at := func(month time.Month, day int) time.Time { return time.Date(2026, month, day, 12, 0, 0, 0, time.Local) }
	said := noteDate{At: at(1, 2), Day: true}
	for _, tt := range []struct {
		name     string
		headings []string
		want     noteDate
	}{
		{"no heading", nil, said},
		{"no date", []string{"Log", "Notes"}, said},
		{"the innermost", []string{"2026-02-03", "1 March 2026: Standup", "Next"}, noteDate{At: at(3, 1), Day: true}},
		{"a release", []string{"Changelog", "[1.2.0] - 2026-03-01"}, noteDate{At: at(3, 1), Day: true}},
		{"a month", []string{"March 2026"}, noteDate{At: at(3, 31), From: at(3, 1).Add(-12 * time.Hour), To: at(4, 1).Add(-12 * time.Hour)}},
		{"what is planned", []string{"Plan for March 2026"}, said},
	} {
		assert.Equal(t, tt.want, dateOf(tt.headings, said, at(11, 26)), tt.name)
	}
}

// A text keeps the time of its first save, but not a date that its note takes back.
func TestTimesOfKeptRecords(t *testing.T) {
	first, second, said := time.Unix(1000, 0), time.Unix(2000, 0), time.Unix(500, 0)
	old := []store.Record{{ID: "a", Time: first}, {ID: "b", Time: first}}
	now := []store.Record{{ID: "a", Time: second}, {ID: "b", Time: said}, {ID: "c", Time: second}}
	keepTimes(old, now, second)
	require.Equal(t, []time.Time{first, said, second}, []time.Time{now[0].Time, now[1].Time, now[2].Time})
	put, _ := difference(old, now)
	require.Len(t, put, 2)
	require.Equal(t, "b", put[0].ID)
}
