package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service/postgres"
	"github.com/memcore/memcore/service/postgres/postgrestest"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/flat"
)

// Two nodes see each write at once, and only what a principal may see.
func TestContentsAreFresh(t *testing.T) {
	w := newWorld(t)
	other := w.open()
	both := func(p postgres.Principal, want ...string) {
		t.Helper()
		for _, db := range []*postgres.DB{w.db, other, w.db} {
			require.Equal(t, want, w.matching(db, p, "tea"))
			near := w.near(db, p, "tea")
			slices.Sort(near)
			require.Equal(t, want, near)
		}
	}
	require.Empty(t, w.matching(w.db, w.as("ann"), "tea"), "nobody has written")
	require.Empty(t, w.near(w.db, w.as("ann"), "tea"))
	w.put(w.as("ann"), "a.md", "tea one\ntea two")
	both(w.as("ann"), "tea one", "tea two")
	both(w.as("bob"), "tea one", "tea two")
	w.put(w.as("ann"), "~/.beans/a.md", "tea of ann")
	w.put(w.as("ann", "ops"), "@ops/a.md", "tea of ops")
	both(w.as("ann", "ops"), "tea of ann", "tea of ops", "tea one", "tea two")
	both(w.as("bob", "ops"), "tea of ops", "tea one", "tea two")
	w.put(w.as("bob"), "a.md", "tea one\ntea 2")
	both(w.as("bob"), "tea 2", "tea one")
	w.remove(w.as("bob"), "a.md")
	both(w.as("ann"), "tea of ann")
	w.put(w.as("ann"), "a.md", "tea again")
	both(w.as("ann"), "tea again", "tea of ann")
	require.NoError(t, w.db.Tenants().DeleteUser(t.Context(), w.acme.ID, "ann"))
	both(w.as("ann"), "tea again")

	c, err := other.Contents(t.Context(), w.as("ann"), embedder)
	require.NoError(t, err)
	same, err := other.Contents(t.Context(), w.as("ann"), embedder)
	require.NoError(t, err)
	require.Equal(t, c.Layers, same.Layers)
	w.put(w.as("ann"), "b.md", "more")
	next, err := other.Contents(t.Context(), w.as("ann"), embedder)
	require.NoError(t, err)
	require.NotEqual(t, c.Layers, next.Layers)
}

// A document that is written again, or moved, after a question has looked is found as it is now.
func TestAWriteWhileAQuestionRuns(t *testing.T) {
	w := newWorld(t)
	w.put(w.as("ann"), "a.md", "milk\ntea one")
	c, err := w.db.Contents(t.Context(), w.as("ann"), embedder)
	require.NoError(t, err)
	w.put(w.as("ann"), "a.md", "tea two")
	matches, err := c.Keywords.Match(t.Context(), "tea", 10, store.Filter{})
	require.NoError(t, err)
	require.Len(t, matches.Hits, 1)
	require.Equal(t, "tea two", matches.Hits[0].Record.Text)
	w.remove(w.as("ann"), "a.md")
	w.put(w.as("ann"), "b.md", "tea two")
	near, err := c.Vectors.Nearest(t.Context(), vectorOf("tea two"), 1, store.Filter{})
	require.NoError(t, err)
	require.Len(t, near, 1)
	require.Equal(t, "b.md", near[0].Record.Path)
}

// A write that commits after a later one is seen, too: nothing depends on the order of numbers.
func TestContentsSeeLateCommits(t *testing.T) {
	w := newWorld(t)
	w.put(w.as("ann"), "a.md", "tea")
	p := w.as("ann")
	c, err := pgx.Connect(t.Context(), w.node)
	require.NoError(t, err)
	defer c.Close(t.Context())
	tx, err := c.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `select set_config('memcore.scopes', $1, true)`, fmt.Sprintf("{%d}", p.Scopes[0].ID))
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `insert into memcore.removal (scope, path) values ($1, 'a.md')`, p.Scopes[0].ID)
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `delete from memcore.document where path = 'a.md'`)
	require.NoError(t, err)
	w.put(p, "b.md", "tea later")
	require.Equal(t, []string{"tea", "tea later"}, w.matching(w.db, p, "tea"))
	require.NoError(t, tx.Commit(t.Context()))
	require.Equal(t, []string{"tea later"}, w.matching(w.db, p, "tea"))
}

// A scope that is too large for a node is refused there, and costs others nothing.
func TestAScopeLargerThanTheMemory(t *testing.T) {
	w := newWorld(t)
	w.put(w.as("ann"), "a.md", "tea")
	w.put(w.as("ann"), "~/.beans/a.md", strings.TrimSuffix(strings.Repeat("tea of ann\n", 800), "\n"))
	small, err := postgres.Open(t.Context(), w.node, postgres.Options{CacheBytes: 60 << 10})
	require.NoError(t, err)
	defer small.Close()
	require.Len(t, w.matching(w.db, w.as("ann"), "tea"), 100)
	for range 3 {
		_, err = small.Contents(t.Context(), w.as("ann"), embedder)
		require.ErrorIs(t, err, postgres.ErrMemory)
		require.Equal(t, []string{"tea"}, w.matching(small, w.as("bob"), "tea"))
	}
	// Several that are too large together are refused, too.
	for _, team := range []string{"one", "two", "three"} {
		w.put(w.as("bob", team), "@"+team+"/a.md", strings.TrimSuffix(strings.Repeat("tea of "+team+"\n", 150), "\n"))
		require.Len(t, w.near(small, w.as("bob", team), "tea"), 100)
	}
	for range 2 {
		_, err = small.Contents(t.Context(), w.as("bob", "one", "two", "three"), embedder)
		require.ErrorIs(t, err, postgres.ErrMemory)
		require.Len(t, w.near(small, w.as("bob", "two"), "tea"), 100)
	}
}

// Those who ask at the same moment for what a node does not hold share one reading of it.
func TestAScopeIsReadOnce(t *testing.T) {
	w := newWorld(t)
	w.put(w.as("ann"), "a.md", "tea")
	p := w.as("ann")
	c, err := pgx.Connect(t.Context(), w.owner)
	require.NoError(t, err)
	defer c.Close(context.Background())
	begun, err := c.Begin(t.Context())
	require.NoError(t, err)
	_, err = begun.Exec(t.Context(), `lock table memcore.record`)
	require.NoError(t, err)
	var asking sync.WaitGroup
	for range 6 {
		asking.Go(func() {
			c, err := w.db.Contents(context.Background(), p, embedder)
			if assert.NoError(t, err) {
				m, err := c.Keywords.Match(context.Background(), "tea", 9, store.Filter{})
				assert.NoError(t, err)
				assert.Len(t, m.Hits, 1)
			}
		})
	}
	waiting := func() (n int) {
		require.NoError(t, c.QueryRow(t.Context(), `select count(*) from pg_locks where not granted`).Scan(&n))
		return n
	}
	require.Eventually(t, func() bool { return waiting() > 0 }, time.Minute, time.Millisecond)
	for range 30 {
		require.Equal(t, 1, waiting())
		time.Sleep(10 * time.Millisecond)
	}
	require.NoError(t, begun.Rollback(t.Context()))
	asking.Wait()

	// So do those who ask after much has changed.
	var lines []string
	for i := range 6_000 {
		lines = append(lines, fmt.Sprint("tea ", i))
	}
	w.put(p, "b.md", strings.Join(lines, "\n"))
	for range 3 {
		asking.Go(func() {
			c, err := w.db.Contents(context.Background(), p, embedder)
			if assert.NoError(t, err) {
				m, err := c.Keywords.Match(context.Background(), "tea", 9_999, store.Filter{})
				assert.NoError(t, err)
				assert.Len(t, m.Hits, 6_001)
			}
		})
	}
	asking.Wait()
}

// Readers beside writers see whole documents, and what was written before they asked.
func TestContentsBesideWrites(t *testing.T) {
	w := newWorld(t)
	w.put(w.as("ann"), "0.md", "tea 0 0\ntea 0 0")
	p := w.as("ann")
	ctx, stop := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			for ctx.Err() == nil {
				c, err := w.db.Contents(context.Background(), p, embedder)
				if err != nil {
					t.Error(err)
					return
				}
				m, err := c.Keywords.Match(context.Background(), "tea", 1000, store.Filter{})
				if err != nil {
					t.Error(err)
					return
				}
				near, err := c.Vectors.Nearest(context.Background(), vectorOf("tea"), 1000, store.Filter{})
				if err != nil {
					t.Error(err)
					return
				}
				if len(m.Hits) < 2 || len(near) < 2 {
					t.Errorf("words find %d records, vectors %d", len(m.Hits), len(near))
				}
				versions := map[string]map[string]bool{}
				for _, h := range m.Hits {
					if versions[h.Record.Path] == nil {
						versions[h.Record.Path] = map[string]bool{}
					}
					versions[h.Record.Path][h.Record.Text] = true
				}
				for path, texts := range versions {
					if len(texts) != 1 {
						t.Errorf("%s has texts of two versions: %v", path, texts)
					}
				}
			}
		})
	}
	for i := range 60 {
		line := fmt.Sprintf("tea %d %d", i%4, i)
		w.put(p, fmt.Sprintf("%d.md", i%4), line+"\n"+line)
		require.Subset(t, w.matching(w.db, p, "tea"), []string{line})
	}
	stop()
	wait.Wait()
}

// Nearest and Similarities answer as the engine flat does, whatever the filter.
func TestNearestIsExact(t *testing.T) {
	w := newWorld(t)
	index, err := flat.Open(t.Context(), t.TempDir(), dimension)
	require.NoError(t, err)
	defer index.Close()
	random := rand.New(rand.NewPCG(1, 2))
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for n, path := range []string{"notes/a.md", "notes/b.md", "notes.md", "it's/100%_x.md", "@ops/a.md", "~/.beans/a.md"} {
		c := w.textOf(w.as("ann", "ops"), path, strings.TrimSuffix(strings.Repeat(path+"\n", 40), "\n"), true)
		for i := range c.Records {
			r := &c.Records[i]
			r.Text = fmt.Sprint(r.Text, i)
			r.Kind = []string{"markdown", "conversation", store.KindStatement}[i%3]
			if i%7 > 0 {
				r.Time = day.Add(time.Duration(random.IntN(48)) * time.Hour)
			}
			r.Vector = vectorOf(fmt.Sprint(n, i%37)) // some are equal
		}
		w.write(w.as("ann", "ops"), c)
		require.NoError(t, index.Put(t.Context(), c.Records))
	}
	require.NoError(t, index.Commit(t.Context()))
	contents, err := w.db.Contents(t.Context(), w.as("ann", "ops"), embedder)
	require.NoError(t, err)
	for i, f := range []store.Filter{
		{}, {Scope: "global"}, {Kind: "conversation"}, {NotKind: store.KindStatement}, {Path: "notes"}, {Path: "notes/"}, {Path: "notes.md"}, {Path: "it's"},
		{Not: []string{"notes/a.md", "@ops/a.md"}}, {Since: day.Add(9 * time.Hour)}, {Until: day.Add(20 * time.Hour), Path: "@ops"},
		{Since: day, Until: day.Add(time.Hour), NotKind: "markdown", Scope: "project"}, {Kind: "none"},
	} {
		for _, k := range []int{0, 1, 7, 500} {
			vec := vectorOf(fmt.Sprint("question", i))
			want, err := index.Nearest(t.Context(), vec, k, f)
			require.NoError(t, err)
			got, err := contents.Vectors.Nearest(t.Context(), vec, k, f)
			require.NoError(t, err)
			require.Len(t, got, len(want), "%+v", f)
			ids := []string{"unknown"}
			for j := range want {
				require.Equal(t, want[j].Record, got[j].Record, "hit %d of %+v", j, f)
				require.InDelta(t, want[j].Score, got[j].Score, 1e-6)
				ids = append(ids, got[j].Record.ID)
			}
			similar, err := contents.Vectors.Similarities(t.Context(), vec, ids)
			require.NoError(t, err)
			require.Len(t, similar, len(got))
			for _, h := range got {
				require.Equal(t, h.Score, similar[h.Record.ID])
			}
		}
	}
	_, err = contents.Vectors.Nearest(t.Context(), make([]float32, dimension), 3, store.Filter{})
	require.Error(t, err)
	_, err = contents.Vectors.Nearest(t.Context(), make([]float32, 3), 3, store.Filter{})
	require.ErrorIs(t, err, store.ErrDimension)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err = contents.Vectors.Nearest(ctx, vectorOf("x"), 3, store.Filter{})
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, w.db.Ready(t.Context()))
}

// Documents wait for their vectors; each is given to one node at a time, and again if that node
// ends.
func TestPending(t *testing.T) {
	w := newWorld(t)
	for i := range 6 {
		w.write(w.as("ann"), w.textOf(w.as("ann"), fmt.Sprintf("%d.md", i), fmt.Sprintf("one %d\ntwo %d", i, i), false))
	}
	p := w.as("ann")
	require.Empty(t, w.near(w.db, p, "one"))
	require.Len(t, w.matching(w.db, p, "two"), 6, "words find it at once")
	all, err := w.db.Pending(t.Context(), 4, time.Hour)
	require.NoError(t, err)
	require.Len(t, all, 4)
	rest, err := w.open().Pending(t.Context(), 4, time.Hour)
	require.NoError(t, err)
	require.Len(t, rest, 2, "no two nodes have the same")
	none, err := w.db.Pending(t.Context(), 4, time.Hour)
	require.NoError(t, err)
	require.Empty(t, none)
	report := func(jobs ...postgres.Job) {
		t.Helper()
		for _, j := range jobs {
			vectors := map[string][]float32{}
			for _, r := range j.Records {
				vectors[r.ID] = vectorOf(r.Text)
			}
			require.Equal(t, "test", j.Embedder)
			require.NoError(t, w.db.Embedded(t.Context(), j, vectors))
		}
	}
	report(all...)
	require.Len(t, w.near(w.db, p, "one"), 8)
	again, err := w.db.Pending(t.Context(), 9, 0)
	require.NoError(t, err)
	require.Len(t, again, 2, "their node has not reported")
	w.write(p, w.textOf(p, again[0].Path, "three", false))
	report(again...)
	require.Len(t, w.near(w.db, p, "one"), 10, "vectors of a text that has changed meanwhile are dropped")
	last, err := w.db.Pending(t.Context(), 9, 0)
	require.NoError(t, err)
	require.Len(t, last, 1)
	require.Equal(t, "three", last[0].Records[0].Text)
	require.NoError(t, w.db.Embedded(t.Context(), last[0], nil), "the model fails with this text")
	none, err = w.db.Pending(t.Context(), 9, 0)
	require.NoError(t, err)
	require.Empty(t, none, "it is set aside")

	// Of a changed document only what changed is embedded again.
	d, err := w.db.Get(t.Context(), p, all[0].Path)
	require.NoError(t, err)
	w.write(p, w.textOf(p, d.Path, strings.Split(d.Text, "\n")[0]+"\nchanged", false))
	one, err := w.db.Pending(t.Context(), 9, 0)
	require.NoError(t, err)
	require.Len(t, one, 1)
	require.Len(t, one[0].Records, 1)
	require.Equal(t, "changed", one[0].Records[0].Text)
	report(one...)

	// Another embedder: words answer until its vectors are made.
	n, err := w.db.Requeue(t.Context(), w.acme.ID, "other")
	require.NoError(t, err)
	require.Equal(t, 6, n)
	anew, err := w.db.Pending(t.Context(), 9, 0)
	require.NoError(t, err)
	require.Len(t, anew, 6)
	require.Equal(t, "other", anew[0].Embedder)
	for _, j := range anew {
		vectors := map[string][]float32{}
		for _, r := range j.Records {
			vectors[r.ID] = vectorOf(r.Text)
		}
		require.NoError(t, w.db.Embedded(t.Context(), j, vectors))
	}
	contents, err := w.db.Contents(t.Context(), p, postgres.Embedder{Fingerprint: "other", Dimension: dimension})
	require.NoError(t, err)
	hits, err := contents.Vectors.Nearest(t.Context(), vectorOf("one"), 100, store.Filter{})
	require.NoError(t, err)
	require.Len(t, hits, 11)
	require.Empty(t, w.near(w.db, p, "one"), "the former vectors are gone")
}

// A document whose vectors take longer than a lease is embedded by one node alone. Who works on it
// learns if it changes meanwhile.
func TestALongJobIsDoneOnce(t *testing.T) {
	w := newWorld(t)
	w.write(w.as("ann"), w.textOf(w.as("ann"), "a.md", "one\ntwo", false))
	const lease = 2 * time.Second
	jobs, err := w.db.Pending(t.Context(), 1, lease)
	require.NoError(t, err)
	require.Len(t, jobs, 1)
	other := w.open()
	var embedded sync.Map
	embedder := func(ctx context.Context, j postgres.Job) error {
		vectors := map[string][]float32{}
		for _, r := range j.Records { // each takes longer than a lease
			for late := time.Now().Add(lease * 5 / 4); time.Now().Before(late); time.Sleep(50 * time.Millisecond) {
				taken, err := other.Pending(ctx, 1, lease)
				if err != nil {
					return err
				}
				if len(taken) > 0 {
					return errors.New("another node has the job, too")
				}
			}
			_, twice := embedded.LoadOrStore(r.ID, true)
			require.False(t, twice)
			vectors[r.ID] = vectorOf(r.Text)
		}
		return w.db.Embedded(ctx, j, vectors)
	}
	require.NoError(t, w.db.Hold(t.Context(), jobs[0], lease, func(ctx context.Context) error { return embedder(ctx, jobs[0]) }))
	require.Len(t, w.near(w.db, w.as("ann"), "one"), 2)
	none, err := other.Pending(t.Context(), 1, 0)
	require.NoError(t, err)
	require.Empty(t, none)

	w.write(w.as("ann"), w.textOf(w.as("ann"), "a.md", "three", false))
	jobs, err = w.db.Pending(t.Context(), 1, time.Hour)
	require.NoError(t, err)
	require.Len(t, jobs, 1)
	ended := false
	require.NoError(t, w.db.Hold(t.Context(), jobs[0], 30*time.Millisecond, func(ctx context.Context) error {
		w.write(w.as("ann"), w.textOf(w.as("ann"), "a.md", "four", false))
		<-ctx.Done()
		ended = true
		return ctx.Err()
	}))
	require.True(t, ended, "it is another document by now")
	jobs, err = other.Pending(t.Context(), 1, time.Hour)
	require.NoError(t, err)
	require.Len(t, jobs, 1)
	failed := errors.New("the model fails")
	require.ErrorIs(t, w.db.Hold(t.Context(), jobs[0], time.Hour, func(context.Context) error { return failed }), failed)
}

// Documents whose vectors cannot be made, such as of a tenant at its limit, hold up no other.
func TestPendingTakesTurns(t *testing.T) {
	w := newWorld(t)
	p := w.as("ann")
	for i := range 3 {
		w.write(p, w.textOf(p, fmt.Sprintf("%d.md", i), "one", false))
	}
	var taken []string
	for range 5 {
		jobs, err := w.db.Pending(t.Context(), 1, 0)
		require.NoError(t, err)
		require.Len(t, jobs, 1)
		taken = append(taken, jobs[0].Path)
	}
	require.Equal(t, []string{"2.md", "1.md", "0.md", "2.md", "1.md"}, taken)
}

// A tenant that writes much does not keep another's documents from getting their vectors.
func TestPendingIsFair(t *testing.T) {
	w := newWorld(t)
	_, err := w.db.Tenants().Create(t.Context(), "noisy")
	require.NoError(t, err)
	w.write(w.as("ann"), w.textOf(w.as("ann"), "a.md", "one", false))
	taken := 0
	for i := range 30 {
		noisy := w.of("noisy", "eve")
		for _, path := range []string{"%d.md", "~/.beans/%d.md"} { // in several scopes
			w.write(noisy, w.textOf(noisy, fmt.Sprintf(path, i), "one", false))
		}
		jobs, err := w.db.Pending(t.Context(), 1, time.Hour)
		require.NoError(t, err)
		require.Len(t, jobs, 1)
		if jobs[0].Tenant.Name == "acme" {
			taken++
		}
	}
	require.Equal(t, 1, taken)
}

// After a deletion and a rewrite of the tables no text, term or vector of it is in any of their
// files.
func TestDeletionLeavesNothing(t *testing.T) {
	server := postgrestest.New(t)
	w := newWorldOn(t, server.Database)
	w.put(w.as("ann"), "kept.md", "zqkeptword stays")
	w.put(w.as("ann"), "~/.beans/a.md", "zqsecretword one\nzqsecretword two")
	w.put(w.as("ann"), "~/.beans/a.md", "zqsecretword again\nzqsecretword two")
	c, err := pgx.Connect(t.Context(), w.owner)
	require.NoError(t, err)
	defer c.Close(t.Context())
	found := func(word string) (files []string) {
		_, err := c.Exec(t.Context(), `checkpoint`)
		require.NoError(t, err)
		require.NoError(t, filepath.WalkDir(filepath.Join(server.Data(), "base"), func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if strings.Contains(string(text), word) {
				files = append(files, path)
			}
			return err
		}))
		return files
	}
	require.NotEmpty(t, found("zqsecretword"))
	require.NoError(t, w.db.Tenants().DeleteUser(t.Context(), w.acme.ID, "ann"))
	_, err = c.Exec(t.Context(), `vacuum full`)
	require.NoError(t, err)
	require.Empty(t, found("zqsecretword"))
	require.NotEmpty(t, found("zqkeptword"))
}

// Nothing that was acknowledged is lost, nor half of a write there, if the server crashes.
func TestCrash(t *testing.T) {
	server := postgrestest.New(t, "fsync=on")
	w := newWorldOn(t, server.Database)
	w.put(w.as("ann"), "a.md", "tea")
	p := w.as("ann")
	require.Equal(t, []string{"tea"}, w.matching(w.db, p, "tea"))
	for round := range 3 {
		var mu sync.Mutex
		var wait sync.WaitGroup
		acknowledged := map[string]string{}
		ctx, stop := context.WithCancel(t.Context())
		for writer := range 4 {
			wait.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					one, two := fmt.Sprintf("%d/%d/%d.md", round, writer, n), fmt.Sprintf("%d/%d/%d-two.md", round, writer, n)
					_, err := w.db.Write(context.Background(), p, []postgres.Change{{Path: one, Text: one}, {Path: two, Text: two}}, written)
					if err != nil {
						return
					}
					mu.Lock()
					acknowledged[one], acknowledged[two] = one, two
					mu.Unlock()
				}
			})
		}
		time.Sleep(200 * time.Millisecond)
		require.NoError(t, server.Kill())
		stop()
		wait.Wait()
		_, _, err := w.db.List(t.Context(), p)
		require.Equal(t, kind.Unavailable, kind.Of(err), err)
		require.NoError(t, server.Start())
		require.Eventually(t, func() bool { return w.db.Ready(t.Context()) == nil }, 20*time.Second, 20*time.Millisecond)
		there := w.texts(p)
		require.NotEmpty(t, acknowledged)
		for path, text := range acknowledged {
			require.Equal(t, text, there[path], "%s was acknowledged", path)
		}
		for path := range there {
			if one, ok := strings.CutSuffix(path, "-two.md"); ok {
				require.Contains(t, there, one+".md", "half of a write")
			}
		}
	}
	w.put(p, "a.md", "tea again")
	require.Equal(t, []string{"tea again"}, w.matching(w.db, p, "tea"), "the cache of words is of the server as it is now")
}

// A replica answers, and waits for a write that it does not have yet. Promoted, it goes on.
func TestReplica(t *testing.T) {
	server := postgrestest.New(t)
	w := newWorldOn(t, server.Database)
	first := w.put(w.as("ann"), "a.md", "tea")
	replica := server.Replica(t)
	_, database, _ := strings.Cut(w.node, "dbname=")
	follower, err := postgres.Open(t.Context(), replica.DSN("node", database), postgres.Options{})
	require.NoError(t, err)
	defer follower.Close()
	require.NoError(t, follower.Await(t.Context(), w.acme.ID, first))
	require.Equal(t, []string{"tea"}, w.matching(follower, w.as("ann"), "tea"))
	for i := range 20 {
		version := w.put(w.as("ann"), "a.md", fmt.Sprint("tea ", i))
		require.NoError(t, follower.Await(t.Context(), w.acme.ID, version))
		require.Equal(t, []string{fmt.Sprint("tea ", i)}, w.matching(follower, w.as("ann"), "tea"))
		require.Equal(t, []string{fmt.Sprint("tea ", i)}, w.near(follower, w.as("ann"), "tea"))
	}
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	require.Equal(t, kind.Unavailable, kind.Of(follower.Await(ctx, w.acme.ID, 1<<40)))

	require.NoError(t, server.Stop())
	c, err := pgx.Connect(t.Context(), replica.DSN("owner", database))
	require.NoError(t, err)
	defer c.Close(t.Context())
	_, err = c.Exec(t.Context(), `select pg_promote()`)
	require.NoError(t, err)
	w.db = follower
	w.put(w.as("ann"), "a.md", "tea of the new one")
	require.Equal(t, []string{"tea of the new one"}, w.matching(follower, w.as("ann"), "tea"))
}

// Numbers of transactions that a crash has lost are used again. What is held of the time before does
// not hide what has them now, also if only a connection crashed and the server went on.
func TestNumbersOfTransactionsAreUsedAgain(t *testing.T) {
	server := postgrestest.New(t, "fsync=on", "wal_level=minimal", "max_wal_senders=0") // which would log the numbers
	w := newWorldOn(t, server.Database)
	w.put(w.as("ann"), "a.md", "tea")
	p := w.as("ann")
	c, err := pgx.Connect(t.Context(), w.owner)
	require.NoError(t, err)
	var before time.Time
	require.NoError(t, c.QueryRow(t.Context(), `select now()`).Scan(&before))
	for range 50 {
		_, err = c.Exec(t.Context(), `begin; select pg_current_xact_id(); rollback`)
		require.NoError(t, err)
	}
	require.Equal(t, []string{"tea"}, w.matching(w.db, p, "tea"))
	require.NoError(t, syscall.Kill(int(c.PgConn().PID()), syscall.SIGKILL))
	require.Error(t, c.Ping(t.Context()))
	require.Eventually(t, func() bool {
		c, err := pgx.Connect(t.Context(), w.owner)
		if err != nil {
			return false
		}
		defer c.Close(t.Context())
		recovered := false
		err = c.QueryRow(t.Context(), `select pg_stat_get_bgwriter_stat_reset_time() > $1`, before).Scan(&recovered)
		return err == nil && recovered && w.db.Ready(t.Context()) == nil
	}, time.Minute, 20*time.Millisecond)
	w.put(p, "a.md", "coffee")
	require.Equal(t, []string{"coffee"}, w.matching(w.db, p, "coffee"))
	require.Equal(t, []string{"coffee"}, w.near(w.db, p, "coffee"))
}

// A commit that a synchronous replica may not have is not acknowledged.
func TestCommitsWaitForTheReplica(t *testing.T) {
	server := postgrestest.New(t, "fsync=on")
	w := newWorldOn(t, server.Database)
	replica := server.Replica(t)
	require.NoError(t, server.Synchronous())
	p := w.as("ann")
	w.put(p, "a.md", "tea")
	require.NoError(t, replica.Kill())
	hasty, err := postgres.Open(t.Context(), w.node, postgres.Options{Timeout: 500 * time.Millisecond})
	require.NoError(t, err)
	defer hasty.Close()
	_, err = hasty.Write(t.Context(), p, []postgres.Change{{Path: "b.md", Text: "tea"}}, written)
	require.Equal(t, kind.Unavailable, kind.Of(err), err)
	require.NoError(t, replica.Start())
	require.NoError(t, server.Synchronous())
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	_, err = hasty.Write(ctx, p, []postgres.Change{{Path: "c.md", Text: "tea"}}, written)
	require.NoError(t, err)
}
