// Package storetest tests implementations of the contracts of store.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/service/store"
)

// TestChangelog tests the contract of store.Changelog. open opens the same log each time.
func TestChangelog(t *testing.T, open func(t *testing.T, name string) store.Changelog) {
	logs := changelogs{open}
	for _, tt := range []struct {
		name string
		test func(*testing.T)
	}{
		{"empty", logs.empty},
		{"revisions come back whole, in order, once", logs.order},
		{"of writers after one mark, one wins", logs.oneWins},
		{"compaction keeps documents, orders and recent history", logs.compaction},
		{"compactions beside writers lose nothing and double nothing", logs.compactionBesideWriters},
		{"repeated after others, an append counts once", logs.repeated},
		{"pages are what one reading returns", logs.pages},
		{"dropped", logs.dropped},
	} {
		t.Run(tt.name, tt.test)
	}
}

// changelogs are the logs of one implementation, by name.
type changelogs struct {
	open func(t *testing.T, name string) store.Changelog
}

func revision(path, text string) store.Revision {
	return store.Revision{Path: path, Text: text, By: "ann", At: time.Now().UTC().Truncate(time.Microsecond)}
}

func appended(t *testing.T, log store.Changelog, mark store.Mark, revisions ...store.Revision) ([]store.Revision, store.Mark) {
	t.Helper()
	since, next, err := log.Append(t.Context(), revisions, mark)
	require.NoError(t, err)
	return since, next
}

// documentsOf returns the current texts by path.
func documentsOf(t *testing.T, log store.Changelog) map[string]string {
	t.Helper()
	all, _, err := log.Since(t.Context(), store.Mark{})
	require.NoError(t, err)
	texts := map[string]string{}
	for _, r := range all {
		if texts[r.Path] = r.Text; r.Gone {
			delete(texts, r.Path)
		}
	}
	return texts
}

func (c changelogs) empty(t *testing.T) {
	log := c.open(t, "empty")
	all, mark, err := log.Since(t.Context(), store.Mark{})
	require.NoError(t, err)
	require.Empty(t, all)
	require.Equal(t, store.Mark{}, mark)
	require.NoError(t, log.Compact(t.Context(), time.Now()))
	require.NoError(t, log.Drop(t.Context()))
}

func (c changelogs) order(t *testing.T) {
	log := c.open(t, "order")
	first := revision("a.md", "it's \x00 \"one\"\n\U0001F642")
	since, mark := appended(t, log, store.Mark{}, first, revision("b/ü.md", ""))
	require.Len(t, since, 2)
	require.NotEmpty(t, since[0].ID)
	first.ID, first.Order = since[0].ID, since[0].Order
	require.Equal(t, first, since[0])
	require.Less(t, since[0].Order, since[1].Order)
	require.Equal(t, since[1].Order, mark.Order)

	other := c.open(t, "order")
	since, next := appended(t, other, mark, revision("a.md", "two"))
	require.Len(t, since, 1)
	require.Equal(t, "two", since[0].Text)

	since, _, err := log.Since(t.Context(), mark)
	require.NoError(t, err)
	require.Len(t, since, 1)
	since, same, err := log.Since(t.Context(), next)
	require.NoError(t, err)
	require.Empty(t, since)
	require.Equal(t, next, same)
}

func (c changelogs) oneWins(t *testing.T) {
	log := c.open(t, "one")
	_, mark := appended(t, log, store.Mark{}, revision("a.md", "0"))
	var writers sync.WaitGroup
	var won atomic.Int32
	for i := range 4 {
		writers.Go(func() {
			since, _, err := c.open(t, "one").Append(t.Context(), []store.Revision{revision("a.md", fmt.Sprint(i+1))}, mark)
			switch {
			case err == nil && since[0].Text == fmt.Sprint(i+1):
				won.Add(1)
			case !errors.Is(err, store.ErrBehind) || len(since) == 0:
				t.Errorf("append: %v, %v; want it to win, or what is new", since, err)
			}
		})
	}
	writers.Wait()
	require.EqualValues(t, 1, won.Load())
	all, _, err := log.Since(t.Context(), store.Mark{})
	require.NoError(t, err)
	require.Len(t, all, 2)
	before := documentsOf(t, log)
	require.NoError(t, log.Compact(t.Context(), time.Time{}))
	require.Equal(t, before, documentsOf(t, log))
}

func (c changelogs) compaction(t *testing.T) {
	log := c.open(t, "compact")
	mark := store.Mark{}
	var since []store.Revision
	for i := range 5 {
		since, mark = appended(t, log, mark, revision("a.md", fmt.Sprint(i)), revision(fmt.Sprintf("%d.md", i), "x"))
	}
	gone := revision("3.md", "")
	gone.Gone = true
	_, mark = appended(t, log, mark, gone)
	before := documentsOf(t, log)
	early := store.Mark{Order: since[0].Order - 1}

	require.NoError(t, log.Compact(t.Context(), time.Time{}))
	all, _, err := log.Since(t.Context(), store.Mark{})
	require.NoError(t, err)
	require.Len(t, all, 11, "all history is recent")
	require.NoError(t, log.Compact(t.Context(), time.Now().Add(time.Hour)))
	require.Equal(t, before, documentsOf(t, log))
	all, _, err = log.Since(t.Context(), store.Mark{})
	require.NoError(t, err)
	require.Len(t, all, 6)
	require.Equal(t, mark.Order, all[5].Order)

	later, _, err := c.open(t, "compact").Since(t.Context(), early)
	require.NoError(t, err)
	require.Len(t, later, 3, "a reader in between gets what it lacks")
	appended(t, log, mark, revision("a.md", "5"))
	require.Equal(t, "5", documentsOf(t, log)["a.md"], "a mark holds after a compaction")
}

func (c changelogs) compactionBesideWriters(t *testing.T) {
	var work sync.WaitGroup
	for w := range 4 {
		work.Go(func() {
			log, mark := c.open(t, "race"), store.Mark{}
			for i := 0; i < 8; {
				var err error
				if _, mark, err = log.Append(t.Context(), []store.Revision{revision("a.md", fmt.Sprintf("%d-%d", w, i))}, mark); err == nil {
					i++
				} else if !errors.Is(err, store.ErrBehind) {
					t.Error(err)
					return
				}
			}
		})
	}
	work.Go(func() {
		for range 3 {
			if err := c.open(t, "race").Compact(t.Context(), time.Time{}); err != nil {
				t.Logf("compact: %v", err) // it may give way to writers
			}
		}
	})
	work.Wait()
	all, _, err := c.open(t, "race").Since(t.Context(), store.Mark{})
	require.NoError(t, err)
	require.Len(t, all, 32)
	next := [4]int{}
	for _, r := range all {
		var w, i int
		_, err := fmt.Sscanf(r.Text, "%d-%d", &w, &i)
		require.NoError(t, err)
		require.Equal(t, next[w], i, "each writer's revisions stand in its order")
		next[w]++
	}
}

func (c changelogs) repeated(t *testing.T) {
	log := c.open(t, "repeated")
	_, mark := appended(t, log, store.Mark{}, revision("a.md", "0"))
	again := revision("a.md", "1")
	again.ID = "given"
	first, _ := appended(t, log, mark, again)
	_, last := appended(t, c.open(t, "repeated"), store.Mark{Order: first[0].Order}, revision("b.md", "of others"))
	since, next := appended(t, log, mark, again)
	require.Equal(t, first, since, "nothing of others")
	others, same, err := log.Since(t.Context(), next)
	require.NoError(t, err)
	require.Len(t, others, 1, "the mark is before those of others")
	require.Equal(t, "b.md", others[0].Path)
	require.Equal(t, last.Order, same.Order)
}

func (c changelogs) pages(t *testing.T) {
	pages := func(mark store.Mark) (all []store.Revision) {
		for page, err := range c.open(t, "pages").Pages(t.Context(), mark) {
			require.NoError(t, err)
			require.NotEmpty(t, page)
			all = append(all, page...)
		}
		return all
	}
	require.Empty(t, pages(store.Mark{}))
	log, mark := c.open(t, "pages"), store.Mark{}
	var marks []store.Mark
	for i := range 4 {
		var many []store.Revision
		for k := range 900 {
			many = append(many, revision(fmt.Sprintf("%d.md", k+i*300), fmt.Sprint(i)))
		}
		marks = append(marks, mark)
		_, mark = appended(t, log, mark, many...)
	}
	for range 2 {
		for _, mark := range append(marks, mark) {
			since, _, err := c.open(t, "pages").Since(t.Context(), mark)
			require.NoError(t, err)
			require.Equal(t, since, append([]store.Revision(nil), pages(mark)...))
		}
		require.NoError(t, log.Compact(t.Context(), time.Now().Add(time.Hour)))
	}
	for range log.Pages(t.Context(), store.Mark{}) {
		break
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for _, err := range log.Pages(stopped, store.Mark{}) {
		require.ErrorIs(t, err, context.Canceled)
	}
	require.NoError(t, log.Drop(t.Context()))
	for _, err := range log.Pages(t.Context(), mark) {
		require.ErrorIs(t, err, store.ErrGone)
	}
}

func (c changelogs) dropped(t *testing.T) {
	log := c.open(t, "drop")
	_, mark := appended(t, log, store.Mark{}, revision("a.md", "x"))
	require.NoError(t, log.Drop(t.Context()))
	_, _, err := log.Since(t.Context(), mark)
	require.ErrorIs(t, err, store.ErrGone)
	_, _, err = log.Append(t.Context(), []store.Revision{revision("a.md", "too late")}, mark)
	require.ErrorIs(t, err, store.ErrGone)
	require.Empty(t, documentsOf(t, log))
	appended(t, log, store.Mark{}, revision("b.md", "y"))
	require.Equal(t, map[string]string{"b.md": "y"}, documentsOf(t, log))
}
