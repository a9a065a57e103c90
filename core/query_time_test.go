package core

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/core/when"
	"github.com/memcore/memcore/store"
)

// wednesday is the present of these tests.
var wednesday = time.Date(2026, 11, 18, 15, 0, 0, 0, time.UTC)

func TestTimely(t *testing.T) {
	lastWeek := timesAsked("what did we decide about the cache last week", wednesday) // 9 to 15 November
	turn := func(at time.Time) store.Record { return store.Record{Kind: source.KindConversation, Time: at} }
	day := func(d int) time.Time { return time.Date(2026, 11, d, 0, 0, 0, 0, time.UTC) }
	file := store.Record{Kind: source.KindMarkdown, Path: "notes/a.md", Time: day(11)}
	record := func(path string, d int, headings ...string) store.Record {
		return store.Record{Kind: source.KindMarkdown, Path: path, Headings: headings, Time: day(d)}
	}
	lastWeek.readDocuments(&manifest{Documents: map[string]entry{"said.md": {Said: noteDate{At: day(12)}}, "month.md": {Said: noteDate{At: day(30), From: day(1), To: day(31)}},
		"commit.md": {Said: noteDate{At: day(12), Commit: true}}}})
	for name, tt := range map[string]struct {
		rec  store.Record
		want float64
	}{
		"inside":               {turn(day(11)), 1},
		"first moment":         {turn(day(9)), 1},
		"last moment":          {turn(day(16).Add(-time.Second)), 1},
		"a week after":         {turn(day(23)), math.Exp(-1)},
		"half a week after":    {turn(day(16).Add(84 * time.Hour)), math.Exp(-0.25)},
		"half a week before":   {turn(day(9).Add(-84 * time.Hour)), math.Exp(-0.75 * 0.75)},
		"a year before":        {turn(day(9).AddDate(-1, 0, 0)), 0},
		"no time":              {turn(time.Time{}), 0},
		"file":                 {file, modified},
		"date that it says":    {record("said.md", 12), 1},
		"another that it says": {record("said.md", 30), math.Exp(-4)},
		"a month":              {record("month.md", 30), 1},
		"date in a heading":    {record("log.md", 12, "Log", "2026-11-12 Standup"), 1},
		"no date":              {record("log.md", 12), modified},
		"last commit":          {record("commit.md", 12), modified},
	} {
		require.InDelta(t, tt.want, lastWeek.timely(tt.rec), 1e-9, name)
	}
	require.Zero(t, timesAsked("what did we decide about the cache", wednesday).timely(turn(day(11))))
	require.Zero(t, timesAsked("what is due next week", wednesday).timely(turn(day(18))), "what is to come is not remembered")
	require.Empty(t, timesAsked("2026-11-01 a\n2026-11-02 b\n2026-11-03 c\n2026-11-04 d\n2026-11-05 e", wednesday).spans, "a log")
	require.Equal(t, 1.0, timesAsked("before March", wednesday).timely(turn(day(1).AddDate(-1, 0, 0))))
}

// The times of a fresh checkout tell no file from the others.
func TestFreshCheckout(t *testing.T) {
	at := func(files, old int) float64 {
		m := &manifest{Documents: map[string]entry{"sessions/s.jsonl": {Kind: source.KindConversation, ModTime: wednesday.AddDate(-1, 0, 0)}}}
		for n := range files {
			e := entry{Kind: source.KindMarkdown, ModTime: wednesday.Add(-time.Hour)}
			if n < old {
				e.ModTime = wednesday.AddDate(0, -2, 0)
			}
			m.Documents[string(rune('a'+n))] = e
		}
		today := timesAsked("what did we decide today", wednesday)
		today.readDocuments(m)
		return today.timely(store.Record{Kind: source.KindMarkdown, Path: "a.md", Time: wednesday.Add(-time.Hour)})
	}
	require.Zero(t, at(12, 0))
	require.Equal(t, modified, at(20, 10), "half of the files")
	require.Equal(t, modified, at(3, 0), "a young memory")
}

// Nor does one commit of all files.
func TestFirstCommit(t *testing.T) {
	isKnown := func(files int) bool {
		m := &manifest{Documents: map[string]entry{}}
		for n := range files {
			m.Documents[string(rune('a'+n))+".md"] = entry{Kind: source.KindMarkdown, ModTime: wednesday, Said: noteDate{At: wednesday.AddDate(0, 0, -7), Commit: true}}
		}
		asked := timesAsked("what did we decide on 11 November", wednesday)
		asked.readDocuments(m)
		rec := store.Record{Kind: source.KindMarkdown, Path: "a.md", Time: wednesday.AddDate(0, 0, -7)}
		d, _ := asked.said(rec)
		require.Equal(t, d.isKnown(), asked.timely(rec) > 0)
		return d.isKnown()
	}
	require.True(t, isKnown(3))
	require.False(t, isKnown(12))
}

func TestWithin(t *testing.T) {
	day := func(d int) time.Time { return time.Date(2026, 11, d, 0, 0, 0, 0, time.UTC) }
	span := when.Span{From: day(9), To: day(16)}
	for _, tt := range []struct{ since, until, from, to time.Time }{
		{time.Time{}, time.Time{}, day(9), day(16)},
		{day(1), day(30), day(9), day(16)},
		{day(11), day(12), day(11), day(12)},
	} {
		f := within(store.Filter{Scope: "project", Since: tt.since, Until: tt.until}, span)
		require.Equal(t, store.Filter{Scope: "project", Since: tt.from, Until: tt.to}, f)
	}
}

func TestYearsOf(t *testing.T) {
	day := func(y int, m time.Month) time.Time { return time.Date(y, m, 1, 0, 0, 0, 0, time.UTC) }
	require.Equal(t, "2025", yearsOf(when.Span{From: day(2025, 1), To: day(2026, 1)}))
	require.Equal(t, "2025 2026", yearsOf(when.Span{From: day(2025, 12), To: day(2026, 2)}))
	require.Equal(t, "2017 2018 2019 2020 2021 2022 2023 2024 2025 2026", yearsOf(when.Span{To: day(2026, 2)}))
}

func TestAdmitTimely(t *testing.T) {
	of := func(id string, d int, score float64) *candidate {
		return scored(score, store.Record{ID: id, Kind: source.KindConversation, Time: time.Date(2026, 11, d, 9, 0, 0, 0, time.UTC)})
	}
	ranked := func() []*candidate {
		return []*candidate{of("old", 1, 0.3), of("a", 17, 0.02), of("sure", 17, 0.01), of("b", 17, 0.001)}
	}
	ids := func(all []*candidate) (ids string) {
		for _, s := range all {
			ids += s.record.ID + " "
		}
		return ids
	}
	asked := ranked()
	admitTimely(asked, timesAsked("what did I tell you on Tuesday", wednesday))
	require.Equal(t, "a sure b old ", ids(asked), "what was said on Tuesday comes first, in its order")
	require.Equal(t, byTime, asked[0].Score)
	require.True(t, hitOf(asked[0], 1, true).Explain.ByTime)
	require.False(t, hitOf(asked[3], 4, true).Explain.ByTime)
	other := ranked()
	admitTimely(other, timesAsked("what did I tell you about nginx on Tuesday", wednesday))
	require.Equal(t, ranked(), other, "a question about something else is not changed")
}

// A daily note is read from its beginning. The parts of a month's notes stay in their order.
func TestAdmitTimelyNote(t *testing.T) {
	for question, want := range map[string][]int{"what did I note on Tuesday": {4, 9, 14}, "what did I note this month": {9, 14, 4}} {
		var ranked []*candidate
		for i, line := range []int{9, 14, 4} {
			ranked = append(ranked, scored(0.03/float64(i+1), store.Record{ID: "a", Kind: source.KindMarkdown, Path: "daily.md", StartLine: line, Time: wednesday.AddDate(0, 0, -1)}))
		}
		asked := timesAsked(question, wednesday)
		asked.readDocuments(&manifest{Documents: map[string]entry{"daily.md": {Said: noteDate{At: wednesday.AddDate(0, 0, -1), Day: true}}}})
		admitTimely(ranked, asked)
		var lines []int
		for _, c := range ranked {
			lines = append(lines, c.record.StartLine)
		}
		require.Equal(t, want, lines, question)
	}
}
