package core_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
)

// A committing folder says that all notes were committed on a day, and notes how often it is asked.
type committing struct {
	*source.Folder
	at    time.Time
	err   error
	asked [][]source.Document
}

func (c *committing) Committed(_ context.Context, docs []source.Document) (map[string]time.Time, error) {
	c.asked = append(c.asked, docs)
	all := map[string]time.Time{}
	for _, doc := range docs {
		all[doc.Path] = c.at
	}
	return all, c.err
}

// A run asks once for the commits of what it reads, and only if a note says no date itself.
func TestCommitsAreAskedForOnce(t *testing.T) {
	mem := newMemory(t)
	folder := &committing{Folder: mem.options.Sources[0].(*source.Folder), at: time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)}
	mem.options.Sources[0] = folder
	mem.write("2026-07-10.md", "# Audit\n\nThe auditors came.\n")
	m := mem.open()
	then := func(since string) (paths []string) {
		t.Helper()
		day, err := time.Parse(time.DateOnly, since)
		require.NoError(t, err)
		options := core.SearchOptions{}
		options.Since, options.Until = day, day.AddDate(0, 0, 1)
		result, err := m.Search(t.Context(), "nginx postgres auditors on call", options)
		require.NoError(t, err)
		for _, h := range result.Hits {
			paths = append(paths, h.Path)
		}
		slices.Sort(paths)
		return slices.Compact(paths)
	}
	for _, step := range []struct {
		name   string
		change func()
		asked  []int // numbers of documents
	}{
		{"first", func() {}, []int{3}},
		{"nothing", func() {}, nil},
		{"a note with a date", func() {
			mem.write("2026-07-10.md", "# Audit\n\nThe auditors came.\n\nAnd went.\n")
			mem.write("said.md", "---\ndate: 2026-07-11\n---\nThe auditors wrote.\n")
		}, nil},
		{"a note without", func() { mem.write("team.md", "# Team\n\nAda is on call.\n") }, []int{1}},
	} {
		folder.asked = nil
		step.change()
		index(t, m)
		var asked []int
		for _, docs := range folder.asked {
			asked = append(asked, len(docs))
		}
		require.Equal(t, step.asked, asked, step.name)
	}
	require.Equal(t, []string{"notes/deploy.md", "notes/staging.md", "notes/team.md"}, then("2026-09-01"))
	require.Equal(t, []string{"notes/2026-07-10.md"}, then("2026-07-10"))

	folder.at, folder.err = time.Time{}, errors.New("damaged")
	mem.write("new.md", "# New\n\nThe zeppelin has landed.\n")
	require.Equal(t, 1, index(t, m).Added, "commits that cannot be read cost nothing else")
}

// A date that a manifest could not have costs no more than itself.
func TestCommitsOfOddYears(t *testing.T) {
	for _, at := range []time.Time{time.Unix(999999999999, 0), time.Unix(-1<<40, 0), {}} {
		mem := newMemory(t)
		mem.options.Sources[0] = &committing{Folder: mem.options.Sources[0].(*source.Folder), at: at}
		require.Equal(t, 3, index(t, mem.open()).Added, "%d", at.Unix())
	}
}
