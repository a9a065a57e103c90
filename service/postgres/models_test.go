package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/service/postgres"
	"github.com/memcore/memcore/store"
)

// While a tenant's vectors are made anew by a model of another dimension, a question compares only
// those of its own model.
func TestVectorsOfTwoDimensions(t *testing.T) {
	w := newWorld(t)
	p := w.as("ann")
	w.put(p, "a.md", "one\ntwo")
	w.put(p, "b.md", "three")
	p = w.as("ann")
	_, err := w.db.Requeue(t.Context(), w.acme.ID, "short")
	require.NoError(t, err)
	jobs, err := w.db.Pending(t.Context(), 1, 0)
	require.NoError(t, err)
	require.Len(t, jobs, 1)
	ids := []string{recordOf("a.md", 1, "one").ID, recordOf("a.md", 2, "two").ID, recordOf("b.md", 1, "three").ID}
	short := map[string][]float32{}
	for _, r := range jobs[0].Records {
		short[r.ID] = []float32{0.6, 0.8}
	}
	require.NoError(t, w.db.Embedded(t.Context(), jobs[0], short))
	for _, e := range []postgres.Embedder{embedder, {Fingerprint: "short", Dimension: 2}} {
		vec := make([]float32, e.Dimension)
		vec[0] = 1
		c, err := w.db.Contents(t.Context(), p, e)
		require.NoError(t, err)
		near, err := c.Vectors.Nearest(t.Context(), vec, 9, store.Filter{})
		require.NoError(t, err)
		similar, err := c.Vectors.Similarities(t.Context(), vec, ids)
		require.NoError(t, err)
		require.Len(t, similar, len(near), e.Fingerprint)
	}
}

// A number that a model had before a failover or a restore may be another's by now: it is the name
// that counts.
func TestNumbersOfModelsChange(t *testing.T) {
	w := newWorld(t)
	w.put(w.as("ann"), "a.md", "one")
	p := w.as("ann")
	require.Equal(t, []string{"one"}, w.near(w.db, p, "one"))
	c, err := pgx.Connect(t.Context(), w.owner)
	require.NoError(t, err)
	defer c.Close(t.Context())
	_, err = c.Exec(t.Context(), `delete from memcore.model; delete from memcore.embedding; update memcore.document set model = null, xid = default;
		insert into memcore.model (id, fingerprint) overriding system value values (1, 'foreign'), (7, 'test')`)
	require.NoError(t, err)
	require.Empty(t, w.near(w.db, p, "one"))
	w.put(p, "b.md", "two")
	require.Equal(t, []string{"two"}, w.near(w.db, p, "two"))
	var model int
	require.NoError(t, c.QueryRow(t.Context(), `select model from memcore.embedding`).Scan(&model))
	require.Equal(t, 7, model)
	n, err := w.db.Requeue(t.Context(), w.acme.ID, "test")
	require.NoError(t, err)
	require.Equal(t, 1, n, "b.md has the model already")
}

// A model gets its number with the first vectors that it makes, or not at all; asking for it again
// and again uses up none.
func TestNumbersOfModelsAreGivenByWrites(t *testing.T) {
	w := newWorld(t)
	changed := w.textOf(w.as("ann"), "a.md", "one", true)
	changed.Base = 77
	_, err := w.db.Write(t.Context(), w.as("ann"), []postgres.Change{changed}, written)
	require.ErrorIs(t, err, postgres.ErrChanged)
	c, err := pgx.Connect(t.Context(), w.owner)
	require.NoError(t, err)
	defer c.Close(t.Context())
	last := func() (models, last int) {
		require.NoError(t, c.QueryRow(t.Context(), `select count(*), coalesce(max(id), 0) from memcore.model`).Scan(&models, &last))
		return models, last
	}
	models, _ := last()
	require.Zero(t, models, "nothing was written")
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			_, err := w.db.Write(t.Context(), w.as("ann"), []postgres.Change{w.textOf(w.as("ann"), fmt.Sprint(i, ".md"), "one", true)}, written)
			assert.NoError(t, err)
		})
	}
	writers.Wait()
	models, before := last()
	require.Equal(t, 1, models)
	for range 40 {
		w.put(w.as("ann"), "a.md", "again")
	}
	_, err = w.db.Requeue(t.Context(), w.acme.ID, "other")
	require.NoError(t, err)
	_, after := last()
	require.LessOrEqual(t, after, before+9)
	require.Len(t, w.near(w.db, w.as("ann"), "one"), 9)
}

// A tenant that no longer embeds has no vectors left, and nothing waits for any.
func TestRequeueWithoutAModel(t *testing.T) {
	w := newWorld(t)
	w.put(w.as("ann"), "a.md", "one")
	p := w.as("ann")
	_, err := w.db.Requeue(t.Context(), w.acme.ID, "")
	require.NoError(t, err)
	jobs, err := w.db.Pending(t.Context(), 9, 0)
	require.NoError(t, err)
	require.Len(t, jobs, 1)
	require.NoError(t, w.db.Embedded(t.Context(), jobs[0], nil))
	jobs, err = w.db.Pending(t.Context(), 9, 0)
	require.NoError(t, err)
	require.Empty(t, jobs)
	require.Empty(t, w.near(w.db, p, "one"))
}

// Documents are taken in one order by all who change several: a write that has taken the first of
// them, here by hand, gets the others, too.
func TestRequeueBesideWrites(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"b.md", "a.md"} { // the order of their rows
		w.put(w.as("ann"), path, "one")
	}
	c, err := pgx.Connect(t.Context(), w.owner)
	require.NoError(t, err)
	defer c.Close(context.Background())
	begun, err := c.Begin(t.Context())
	require.NoError(t, err)
	_, err = begun.Exec(t.Context(), `select from memcore.document where path = 'a.md' for update`)
	require.NoError(t, err)
	var requeuing sync.WaitGroup
	requeuing.Go(func() {
		n, err := w.db.Requeue(context.Background(), w.acme.ID, "other")
		assert.NoError(t, err)
		assert.Equal(t, 2, n)
	})
	require.Eventually(t, func() bool {
		var waiting bool
		require.NoError(t, c.QueryRow(t.Context(), `select exists (select from pg_locks where not granted)`).Scan(&waiting))
		return waiting
	}, time.Minute, time.Millisecond)
	_, err = begun.Exec(t.Context(), `select from memcore.document where path = 'b.md' for update`)
	require.NoError(t, err)
	require.NoError(t, begun.Commit(t.Context()))
	requeuing.Wait()
}
