package postgres_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service/postgres"
	"github.com/memcore/memcore/service/postgres/postgrestest"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/keyword"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Main(m)) }

const dimension = 8

var embedder = postgres.Embedder{Fingerprint: "test", Dimension: dimension}

// A world is an empty database with a tenant.
type world struct {
	testing.TB
	owner string
	node  string
	db    *postgres.DB
	acme  postgres.Tenant
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return newWorldOn(t, postgrestest.Database)
}

func newWorldOn(t testing.TB, database func(testing.TB) (owner, node string)) *world {
	t.Helper()
	w := &world{TB: t}
	w.owner, w.node = database(t)
	w.db = w.open()
	var err error
	w.acme, err = w.db.Tenants().Create(t.Context(), "acme")
	require.NoError(t, err)
	return w
}

// open opens the database as one more node.
func (w *world) open() *postgres.DB {
	w.Helper()
	db, err := postgres.Open(w.Context(), w.node, postgres.Options{})
	require.NoError(w, err)
	w.Cleanup(db.Close)
	return db
}

// as returns a user of acme as the database knows them now.
func (w *world) as(user string, teams ...string) postgres.Principal {
	w.Helper()
	return w.of("acme", user, teams...)
}

func (w *world) of(tenant, user string, teams ...string) postgres.Principal {
	w.Helper()
	p, err := w.db.Keys().ByName(w.Context(), tenant, user, teams)
	require.NoError(w, err)
	return p
}

// state is what a change of a document is made from.
func (w *world) state(p postgres.Principal, path string) (state postgres.State) {
	w.Helper()
	var err error
	for state, err = range w.db.States(w.Context(), p, []string{path}) {
		require.NoError(w, err)
	}
	return state
}

// textOf makes a change of a document: each line is a record.
func (w *world) textOf(p postgres.Principal, path, text string, vectors bool) postgres.Change {
	w.Helper()
	state := w.state(p, path)
	c := postgres.Change{Path: path, Text: text, Base: state.Version, Indexed: []byte(`{}`)}
	kept := map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		r := recordOf(path, i+1, line)
		if kept[r.ID] = true; vectors {
			r.Vector = vectorOf(line)
		}
		c.Records = append(c.Records, r)
	}
	for _, words := range keyword.Analyse(c.Records) {
		c.Words = append(c.Words, words.Append(nil))
	}
	for _, r := range state.Records {
		if !kept[r.ID] {
			c.Removed = append(c.Removed, r.ID)
		}
	}
	return c
}

func recordOf(path string, line int, text string) store.Record {
	h := fnv.New64a()
	fmt.Fprint(h, path, "\x00", line)
	r := store.Record{ID: fmt.Sprintf("%016x", h.Sum64()), Scope: "project", Kind: "markdown", Path: path, StartLine: line, EndLine: line, Text: text, Hash: text, Tokens: 3}
	if strings.HasPrefix(path, "~/") {
		r.Scope = "global"
	}
	return r
}

func vectorOf(text string) []float32 {
	h := fnv.New64a()
	h.Write([]byte(text))
	random := rand.New(rand.NewPCG(h.Sum64(), 1))
	vec, square := make([]float32, dimension), 0.0
	for i := range vec {
		vec[i] = float32(random.NormFloat64())
		square += float64(vec[i]) * float64(vec[i])
	}
	for i := range vec {
		vec[i] /= float32(math.Sqrt(square))
	}
	return vec
}

var written = postgres.Write{By: "ann/key", Embedder: "test", Keep: time.Hour}

func (w *world) write(p postgres.Principal, changes ...postgres.Change) []int64 {
	w.Helper()
	versions, err := w.db.Write(w.Context(), p, changes, written)
	require.NoError(w, err)
	return versions
}

// put writes a document with its vectors.
func (w *world) put(p postgres.Principal, path, text string) int64 {
	w.Helper()
	return w.write(p, w.textOf(p, path, text, true))[0]
}

func (w *world) remove(p postgres.Principal, path string) int64 {
	w.Helper()
	d, err := w.db.Get(w.Context(), p, path)
	require.NoError(w, err)
	return w.write(p, postgres.Change{Path: path, Gone: true, Base: d.Version})[0]
}

func (w *world) texts(p postgres.Principal) map[string]string {
	w.Helper()
	all := map[string]string{}
	for d, err := range w.db.Export(w.Context(), p.Tenant.ID, p.Scopes) {
		require.NoError(w, err)
		all[d.Path] = d.Text
	}
	return all
}

// near returns the texts of a principal's records, nearest to a text first.
func (w *world) near(db *postgres.DB, p postgres.Principal, text string) []string {
	w.Helper()
	contents, err := db.Contents(w.Context(), p, embedder)
	require.NoError(w, err)
	hits, err := contents.Vectors.Nearest(w.Context(), vectorOf(text), 100, store.Filter{})
	require.NoError(w, err)
	var all []string
	for _, h := range hits {
		all = append(all, h.Record.Text)
	}
	return all
}

// matching returns the texts of records with a word.
func (w *world) matching(db *postgres.DB, p postgres.Principal, word string) []string {
	w.Helper()
	contents, err := db.Contents(w.Context(), p, embedder)
	require.NoError(w, err)
	matches, err := contents.Keywords.Match(w.Context(), word, 100, store.Filter{})
	require.NoError(w, err)
	var all []string
	for _, h := range matches.Hits {
		all = append(all, h.Record.Text)
	}
	slices.Sort(all)
	return all
}

func TestDocuments(t *testing.T) {
	w := newWorld(t)
	ann := w.as("ann", "ops")
	first := w.put(ann, "a.md", "one")
	w.put(ann, "@ops/b.md", "two")
	w.put(ann, "~/.beans/memories/c.md", "three\x00 \xff\uffff")
	ann = w.as("ann", "ops")
	require.Len(t, ann.Scopes, 3, "each is made by its first write")
	all, position, err := w.db.List(t.Context(), ann)
	require.NoError(t, err)
	require.Equal(t, []string{"@ops/b.md", "a.md", "~/.beans/memories/c.md"}, []string{all[0].Path, all[1].Path, all[2].Path})
	require.Equal(t, all[2].Version, position)
	require.Equal(t, int64(3), all[1].Bytes)
	require.True(t, all[1].Embedded)
	d, err := w.db.Get(t.Context(), ann, "~/.beans/memories/c.md")
	require.NoError(t, err)
	require.Equal(t, "three\x00 \xff\uffff", d.Text)

	second := w.put(ann, "a.md", "one more")
	require.Greater(t, second, first)
	w.remove(ann, "@ops/b.md")
	require.Equal(t, map[string]string{"a.md": "one more", "~/.beans/memories/c.md": "three\x00 \xff\uffff"}, w.texts(ann))
	u, err := w.db.Usage(t.Context(), w.acme.ID)
	require.NoError(t, err)
	require.Equal(t, 2, u.Documents)
	require.Equal(t, int64(len("one more")+len("three\x00 \xff\uffff")), u.Bytes)

	bob := w.as("bob")
	require.Equal(t, map[string]string{"a.md": "one more"}, w.texts(bob))
	_, err = w.db.Get(t.Context(), bob, "@ops/b.md")
	require.Equal(t, kind.Forbidden, kind.Of(err))
	_, err = w.db.Get(t.Context(), bob, "~/.beans/memories/c.md")
	require.Equal(t, kind.NotFound, kind.Of(err))
	_, err = w.db.Write(t.Context(), bob, []postgres.Change{{Path: "@ops/x.md", Text: "x"}}, written)
	require.Equal(t, kind.Forbidden, kind.Of(err))

	w.put(ann, "docs/Beans.md", "instructs")
	some, err := w.db.Files(t.Context(), ann, []string{"a.md", "nothing.md"}, 1<<20)
	require.NoError(t, err)
	require.Len(t, some, 3)
	require.Equal(t, "one more", some[0].Text)
	some, err = w.db.Texts(t.Context(), ann, []string{"a.md"}, 1<<20)
	require.NoError(t, err)
	require.Equal(t, "one more", some[0].Text)
}

func TestHistoryAndPast(t *testing.T) {
	w := newWorld(t)
	ann := w.as("ann")
	one := w.put(ann, "a.md", "one")
	w.put(ann, "b.md", "b")
	ann = w.as("ann")
	two := w.put(ann, "a.md", "two")
	w.remove(ann, "b.md")
	w.put(ann, "c.md", "c")
	all, more, position, err := w.db.History(t.Context(), ann, "", 0, 4)
	require.NoError(t, err)
	require.True(t, more)
	require.Equal(t, all[3].Version, position)
	var got []string
	for _, d := range all {
		got = append(got, fmt.Sprint(d.Path, d.Gone, d.By))
	}
	require.Equal(t, []string{"b.mdfalseann/key", "a.mdfalseann/key", "b.mdtrueann/key", "c.mdfalseann/key"}, got)
	all, more, _, err = w.db.History(t.Context(), ann, "a.md", two, 10)
	require.NoError(t, err)
	require.False(t, more)
	require.Equal(t, one, all[0].Version)

	past, err := w.db.Past(t.Context(), ann, two-1, 1<<30)
	require.NoError(t, err)
	slices.SortFunc(past, func(a, b postgres.Change) int { return cmp.Compare(a.Path, b.Path) })
	require.Equal(t, []postgres.Change{{Path: "a.md", Text: "one", Base: two}, {Path: "b.md", Text: "b"}, {Path: "c.md", Gone: true, Base: position}}, past)
	w.write(ann, past...)
	require.Equal(t, map[string]string{"a.md": "one", "b.md": "b"}, w.texts(ann))

	_, err = w.db.Past(t.Context(), ann, 1<<40, 1<<30)
	require.Equal(t, kind.BadInput, kind.Of(err))
	late := written
	late.Keep = 0
	_, err = w.db.Write(t.Context(), ann, []postgres.Change{w.textOf(ann, "a.md", "three", true)}, late)
	require.NoError(t, err)
	require.NoError(t, w.db.Maintain(t.Context()))
	_, err = w.db.Past(t.Context(), ann, position+1, 1<<30)
	require.Equal(t, kind.BadInput, kind.Of(err), "what was replaced then has expired")
	c := w.textOf(ann, "a.md", "four", true)
	c.Forget = true
	w.write(ann, c)
	all, _, _, err = w.db.History(t.Context(), ann, "a.md", 0, 10)
	require.NoError(t, err)
	require.Len(t, all, 1, "earlier texts are forgotten")
	past, err = w.db.Past(t.Context(), ann, all[0].Version-1, 1<<30)
	require.NoError(t, err)
	require.Empty(t, past, "a document of which something was forgotten stays")
}

// Of several who change a document from the same version one wins; all or nothing is written.
func TestWriteConflicts(t *testing.T) {
	w := newWorld(t)
	ann := w.as("ann")
	w.put(ann, "a.md", "0")
	ann = w.as("ann")
	base := w.textOf(ann, "a.md", "1", true)
	var won sync.Map
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			c := base
			c.Text = fmt.Sprint("winner ", i)
			_, err := w.db.Write(context.Background(), ann, []postgres.Change{{Path: fmt.Sprintf("beside%d.md", i), Text: "x"}, c}, written)
			if err == nil {
				won.Store(i, true)
			} else if !errors.Is(err, postgres.ErrChanged) || kind.Of(err) != kind.Conflict {
				t.Errorf("a change of an old version: error %v, want ErrChanged", err)
			}
		})
	}
	wait.Wait()
	winners := 0
	won.Range(func(i, _ any) bool {
		winners++
		require.Equal(t, map[string]string{"a.md": fmt.Sprint("winner ", i), fmt.Sprintf("beside%d.md", i): "x"}, w.texts(ann))
		return true
	})
	require.Equal(t, 1, winners)
	_, err := w.db.Write(t.Context(), ann, []postgres.Change{{Path: "a.md", Text: "new"}}, written)
	require.ErrorIs(t, err, postgres.ErrChanged, "there is one")
	_, err = w.db.Write(t.Context(), ann, []postgres.Change{{Path: "none.md", Gone: true, Base: 77}}, written)
	require.ErrorIs(t, err, postgres.ErrChanged)
}

func TestLimits(t *testing.T) {
	w := newWorld(t)
	ann := w.as("ann")
	few := written
	few.MaxDocuments, few.MaxBytes = 10, 1000
	var wait sync.WaitGroup
	var mu sync.Mutex
	written := 0
	for i := range 30 {
		wait.Go(func() {
			_, err := w.db.Write(context.Background(), ann, []postgres.Change{{Path: fmt.Sprintf("%d.md", i), Text: "text"}}, few)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				written++
			} else if !errors.Is(err, postgres.ErrFull) {
				t.Errorf("document %d: error %v, want ErrFull", i, err)
			}
		})
	}
	wait.Wait()
	require.Equal(t, 10, written)
	ann = w.as("ann")
	all, _, err := w.db.List(t.Context(), ann)
	require.NoError(t, err)
	_, err = w.db.Write(t.Context(), ann, []postgres.Change{{Path: all[0].Path, Base: all[0].Version, Text: strings.Repeat("x", 1000)}}, few)
	require.ErrorIs(t, err, postgres.ErrFull)
	few.MaxDocuments = 5
	_, err = w.db.Write(t.Context(), ann, []postgres.Change{{Path: all[0].Path, Base: all[0].Version, Gone: true}}, few)
	require.NoError(t, err, "less than before is never refused")
	require.NoError(t, w.db.Maintain(t.Context()))
	u, err := w.db.Usage(t.Context(), w.acme.ID)
	require.NoError(t, err)
	require.Equal(t, []int64{9, 36}, []int64{int64(u.Documents), u.Bytes})
}

// Imports at the same moment do not pass a limit together that each of them keeps.
func TestLimitsOfImportsAtOnce(t *testing.T) {
	w := newWorld(t)
	ann := w.as("ann")
	c, err := pgx.Connect(t.Context(), w.owner)
	require.NoError(t, err)
	defer c.Close(context.Background())
	_, err = c.Exec(t.Context(), `create function late() returns trigger language plpgsql as 'begin perform pg_advisory_xact_lock_shared(42); return null; end';
		create constraint trigger late after insert or update on memcore.usage deferrable initially deferred for each row execute function late();
		select pg_advisory_lock(42)`) // none is committed before all have looked, or wait to look
	require.NoError(t, err)
	limited := written
	limited.MaxDocuments = 1500
	var imports sync.WaitGroup
	for i := range 6 {
		var changes []postgres.Change
		for j := range 400 {
			changes = append(changes, postgres.Change{Path: fmt.Sprintf("%d/%d.md", i, j)})
		}
		imports.Go(func() {
			if _, err := w.db.Write(context.Background(), ann, changes, limited); err != nil && !errors.Is(err, postgres.ErrFull) {
				t.Errorf("import: %v", err)
			}
		})
	}
	require.Eventually(t, func() bool {
		var waiting int
		require.NoError(t, c.QueryRow(t.Context(), `select count(*) from pg_locks where not granted`).Scan(&waiting))
		return waiting == 6
	}, time.Minute, time.Millisecond)
	_, err = c.Exec(t.Context(), `select pg_advisory_unlock(42)`)
	require.NoError(t, err)
	imports.Wait()
	u, err := w.db.Usage(t.Context(), w.acme.ID)
	require.NoError(t, err)
	require.LessOrEqual(t, u.Documents, limited.MaxDocuments)
}

// A tenant whose writes wait for each other leaves connections to others.
func TestATenantHoldsNotAllConnections(t *testing.T) {
	w := newWorld(t)
	db, err := postgres.Open(t.Context(), w.node, postgres.Options{Connections: 4})
	require.NoError(t, err)
	defer db.Close()
	w.put(w.as("ann"), "a.md", "1")
	_, err = w.db.Tenants().Create(t.Context(), "other")
	require.NoError(t, err)
	ann, eve := w.as("ann"), w.of("other", "eve")
	c, err := pgx.Connect(t.Context(), w.owner)
	require.NoError(t, err)
	defer c.Close(context.Background())
	begun, err := c.Begin(t.Context())
	require.NoError(t, err)
	_, err = begun.Exec(t.Context(), `select from memcore.document for update`)
	require.NoError(t, err)
	change := w.textOf(ann, "a.md", "2", true)
	var writers sync.WaitGroup
	defer writers.Wait()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for range 8 {
		writers.Go(func() { _, _ = db.Write(ctx, ann, []postgres.Change{change}, written) })
	}
	waiting := func() (n int) {
		require.NoError(t, c.QueryRow(t.Context(), `select count(*) from pg_locks where not granted`).Scan(&n))
		return n
	}
	require.Eventually(t, func() bool { return waiting() >= 2 }, time.Minute, time.Millisecond)
	others, late := context.WithTimeout(t.Context(), 10*time.Second)
	defer late()
	_, _, err = db.List(others, eve)
	require.NoError(t, err)
	_, _, err = db.Keys().Owner(others, "other", "none", nil)
	require.ErrorIs(t, err, postgres.ErrKey)
	require.NoError(t, begun.Rollback(t.Context()))
}

func TestTenantsAndKeys(t *testing.T) {
	w := newWorld(t)
	_, err := w.db.Tenants().Create(t.Context(), "acme")
	require.Equal(t, kind.Conflict, kind.Of(err))
	_, err = w.db.Tenants().Get(t.Context(), "none")
	require.Equal(t, kind.NotFound, kind.Of(err))
	changed, err := w.db.Tenants().Set(t.Context(), w.acme.ID, func(json.RawMessage) (json.RawMessage, error) { return json.RawMessage(`{"rate": 5}`), nil })
	require.NoError(t, err)
	require.JSONEq(t, `{"rate": 5}`, string(changed.Settings))
	other, err := w.db.Tenants().Create(t.Context(), "other")
	require.NoError(t, err)
	k := postgres.Key{ID: "k1", User: "ann", Teams: []string{"ops"}, Right: "write", Name: "laptop", Hash: []byte("hash")}
	require.NoError(t, w.db.Keys().Create(t.Context(), w.acme.ID, k, 2))
	w.put(w.as("ann", "ops"), "@ops/a.md", "a")
	p, got, err := w.db.Keys().Owner(t.Context(), "acme", "k1", []byte("hash"))
	require.NoError(t, err)
	require.JSONEq(t, `{"rate": 5}`, string(p.Tenant.Settings))
	require.Equal(t, []string{"ann", "write", "laptop", "ops"}, []string{p.User, got.Right, got.Name, p.Scopes[0].Name})
	for _, ask := range [][3]string{{"acme", "k1", "wrong"}, {"other", "k1", "hash"}, {"none", "k1", "hash"}, {"acme", "k2", "hash"}} {
		_, _, err := w.db.Keys().Owner(t.Context(), ask[0], ask[1], []byte(ask[2]))
		require.ErrorIs(t, err, postgres.ErrKey, ask)
	}
	expired := k
	expired.ID, expired.Expires = "k2", time.Now().Add(-time.Second)
	require.NoError(t, w.db.Keys().Create(t.Context(), w.acme.ID, expired, 2))
	_, _, err = w.db.Keys().Owner(t.Context(), "acme", "k2", []byte("hash"))
	require.ErrorIs(t, err, postgres.ErrKey)
	third := k
	third.ID = "k3"
	require.Equal(t, kind.Conflict, kind.Of(w.db.Keys().Create(t.Context(), w.acme.ID, third, 2)))
	require.Equal(t, kind.NotFound, kind.Of(w.db.Keys().Revoke(t.Context(), other.ID, "k1")), "of another tenant")
	all, err := w.db.Keys().List(t.Context(), w.acme.ID)
	require.NoError(t, err)
	require.Equal(t, []string{"k1", "k2"}, []string{all[0].ID, all[1].ID})
	require.NoError(t, w.db.Keys().Revoke(t.Context(), w.acme.ID, "k1"))
	_, _, err = w.db.Keys().Owner(t.Context(), "acme", "k1", []byte("hash"))
	require.ErrorIs(t, err, postgres.ErrKey)
}

// What is deleted is in no table; other tenants and users keep theirs.
func TestDelete(t *testing.T) {
	w := newWorld(t)
	other, err := w.db.Tenants().Create(t.Context(), "other")
	require.NoError(t, err)
	w.put(w.of("other", "ann"), "a.md", "stays")
	for _, path := range []string{"a.md", "@ops/a.md", "~/.beans/a.md"} {
		w.put(w.as("ann", "ops"), path, "zqsecret "+path)
		w.put(w.as("ann", "ops"), path, "zqsecret again "+path)
	}
	w.put(w.as("bob"), "~/.beans/a.md", "bob's")
	require.NoError(t, w.db.Keys().Create(t.Context(), w.acme.ID, postgres.Key{ID: "k1", User: "ann", Teams: []string{"ops"}, Hash: []byte("h")}, 9))
	require.NoError(t, w.db.Keys().Create(t.Context(), w.acme.ID, postgres.Key{ID: "k2", User: "bob", Teams: []string{"ops", "dev"}, Hash: []byte("h")}, 9))

	require.Equal(t, kind.NotFound, kind.Of(w.db.Tenants().DeleteUser(t.Context(), w.acme.ID, "anne")), "a slip of the pen")
	require.Equal(t, kind.NotFound, kind.Of(w.db.Tenants().DeleteTeam(t.Context(), w.acme.ID, "opps")), "a slip of the pen")
	require.NoError(t, w.db.Tenants().DeleteUser(t.Context(), w.acme.ID, "ann"))
	require.Equal(t, []string{"@ops/a.md", "a.md"}, slices.Sorted(mapKeys(w.texts(w.as("ann", "ops")))))
	require.Equal(t, map[string]string{"a.md": "zqsecret again a.md", "~/.beans/a.md": "bob's"}, w.texts(w.as("bob")))
	require.NoError(t, w.db.Tenants().DeleteTeam(t.Context(), w.acme.ID, "ops"))
	keys, err := w.db.Keys().List(t.Context(), w.acme.ID)
	require.NoError(t, err)
	require.Len(t, keys, 1)
	require.Equal(t, []string{"dev"}, keys[0].Teams)
	u, err := w.db.Usage(t.Context(), w.acme.ID)
	require.NoError(t, err)
	require.Equal(t, 2, u.Documents)
	stale := w.as("ann")
	require.NoError(t, w.db.Tenants().Delete(t.Context(), w.acme.ID))
	require.Equal(t, kind.NotFound, kind.Of(w.db.Tenants().Delete(t.Context(), w.acme.ID)))
	_, err = w.db.Write(t.Context(), stale, []postgres.Change{{Path: "late.md", Text: "zqsecret"}}, written)
	require.Error(t, err, "by one who was known before")
	require.Equal(t, map[string]string{"a.md": "stays"}, w.texts(w.of("other", "ann")))

	c, err := pgx.Connect(t.Context(), w.owner)
	require.NoError(t, err)
	defer c.Close(t.Context())
	for _, table := range []string{"document", "revision", "record", "embedding", "removal", "waiting", "scope", "usage", "api_key"} {
		var left int
		condition := ` where scope not in (select id from memcore.scope)`
		if table == "scope" || table == "usage" || table == "api_key" {
			condition = fmt.Sprintf(` where tenant <> %d`, other.ID)
		}
		require.NoError(t, c.QueryRow(t.Context(), `select count(*) from memcore.`+table+condition).Scan(&left))
		require.Zero(t, left, table)
	}
}

func mapKeys(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// The role of nodes sees no row of a scope or tenant that its transaction does not name.
func TestRowLevelSecurity(t *testing.T) {
	w := newWorld(t)
	w.put(w.as("ann"), "a.md", "text")
	w.put(w.as("ann"), "~/.beans/a.md", "text")
	w.write(w.as("ann"), w.textOf(w.as("ann"), "b.md", "waits", false))
	w.remove(w.as("ann"), "a.md")
	require.NoError(t, w.db.Keys().Create(t.Context(), w.acme.ID, postgres.Key{ID: "k1", User: "ann", Hash: []byte("h")}, 9))
	own := w.as("ann").Scopes[1].ID
	c, err := pgx.Connect(t.Context(), w.node)
	require.NoError(t, err)
	defer c.Close(t.Context())
	count := func(table, scopes, tenant string) (n int) {
		require.NoError(t, pgx.BeginFunc(t.Context(), c, func(tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), `select set_config('memcore.scopes', $1, true), set_config('memcore.tenant', $2, true)`, scopes, tenant)
			require.NoError(t, err)
			return tx.QueryRow(t.Context(), `select count(*) from memcore.`+table).Scan(&n)
		}))
		return n
	}
	for _, table := range []string{"document", "revision", "record", "embedding", "removal", "waiting"} {
		require.Zero(t, count(table, "{}", "0"), table)
		require.Zero(t, count(table, "{999}", fmt.Sprint(w.acme.ID)), table)
	}
	require.Equal(t, 1, count("document", fmt.Sprintf("{%d}", own), "0"))
	for _, table := range []string{"scope", "usage", "api_key"} {
		require.Zero(t, count(table, fmt.Sprintf("{%d}", own), "0"), table)
		require.NotZero(t, count(table, "{}", fmt.Sprint(w.acme.ID)), table)
	}
	_, err = c.Exec(t.Context(), `select set_config('memcore.scopes', $1, false)`, fmt.Sprintf("{%d}", own))
	require.NoError(t, err)
	_, err = c.Exec(t.Context(), `insert into memcore.removal (scope, path) values (999, 'x')`)
	require.ErrorContains(t, err, "row-level security", "nor does it write one")
	for _, statement := range []string{`alter table memcore.document disable row level security`, `drop policy of_scope on memcore.document`, `truncate memcore.document`, `set role owner`,
		`insert into memcore.schema (version) values (99)`, `delete from memcore.schema`, `select memcore.renew()`} {
		_, err := c.Exec(t.Context(), statement)
		require.Error(t, err, statement)
	}
	_, err = postgres.Open(t.Context(), w.owner, postgres.Options{})
	require.ErrorContains(t, err, "bypass")
}

// A role without rights learns which it needs.
func TestRoleWithoutRights(t *testing.T) {
	w := newWorld(t)
	c, err := pgx.Connect(t.Context(), w.owner)
	require.NoError(t, err)
	_, err = c.Exec(t.Context(), `create role stranger login`)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := c.Exec(context.Background(), `drop role stranger`)
		require.NoError(t, errors.Join(err, c.Close(context.Background())))
	})
	stranger := strings.Replace(w.node, "user=node", "user=stranger", 1)
	_, err = postgres.Open(t.Context(), stranger, postgres.Options{})
	require.ErrorContains(t, err, "grant it memcore_node")
	require.Contains(t, kind.HintOf(postgres.Migrate(t.Context(), stranger)), "own the database")
}

func TestMigrateAgain(t *testing.T) {
	w := newWorld(t)
	w.put(w.as("ann"), "a.md", "text")
	require.NoError(t, postgres.Migrate(t.Context(), w.owner))
	require.Equal(t, map[string]string{"a.md": "text"}, w.texts(w.as("ann")))
	c, err := pgx.Connect(t.Context(), w.owner)
	require.NoError(t, err)
	defer c.Close(t.Context())
	_, err = c.Exec(t.Context(), `insert into memcore.schema (version) values (99)`)
	require.NoError(t, err)
	_, err = postgres.Open(t.Context(), w.node, postgres.Options{})
	require.ErrorIs(t, err, postgres.ErrSchema)
	require.ErrorIs(t, postgres.Migrate(t.Context(), w.owner), postgres.ErrSchema)
}

func TestAwait(t *testing.T) {
	w := newWorld(t)
	version := w.put(w.as("ann"), "a.md", "text")
	require.NoError(t, w.db.Await(t.Context(), w.acme.ID, version))
	require.NoError(t, w.db.Await(t.Context(), w.acme.ID, 0))
	require.Equal(t, kind.BadInput, kind.Of(w.db.Await(t.Context(), w.acme.ID, version+1000)))
	require.NoError(t, w.db.Ready(t.Context()))
}

// Versions ascend in a tenant, also beside writes that run, and say nothing of what other tenants
// write.
func TestVersionsAreOfATenant(t *testing.T) {
	w := newWorld(t)
	before := w.put(w.as("ann"), "a.md", "1")
	_, err := w.db.Tenants().Create(t.Context(), "other")
	require.NoError(t, err)
	for i := range 20 {
		w.put(w.of("other", "eve"), "a.md", fmt.Sprint(i))
	}
	require.Equal(t, kind.BadInput, kind.Of(w.db.Await(t.Context(), w.of("other", "eve").Tenant.ID, 1<<40)))
	c, err := pgx.Connect(t.Context(), w.owner)
	require.NoError(t, err)
	defer c.Close(t.Context())
	running, err := c.Begin(t.Context()) // holds what the writes of before had
	require.NoError(t, err)
	_, err = running.Exec(t.Context(), `select from memcore.usage where tenant = $1 for update`, w.acme.ID)
	require.NoError(t, err)
	for i := range 3 {
		version := w.put(w.as("ann"), "a.md", fmt.Sprint("again ", i))
		require.Greater(t, version, before)
		require.Less(t, version, before+512, "one count more")
		require.NoError(t, w.db.Await(t.Context(), w.acme.ID, version))
		before = version
	}
	require.NoError(t, running.Rollback(t.Context()))

	var mu sync.Mutex
	given := map[int64]bool{}
	var writers sync.WaitGroup
	for writer := range 8 {
		writers.Go(func() {
			own := int64(0)
			for i := range 20 {
				path := fmt.Sprintf("%d/%d.md", writer, i)
				versions, err := w.db.Write(t.Context(), w.as("ann"), []postgres.Change{{Path: path, Text: path}, {Path: "second/" + path, Text: path}}, written)
				if !assert.NoError(t, err) {
					return
				}
				mu.Lock()
				for _, version := range versions {
					assert.False(t, given[version], "given twice")
					assert.Greater(t, version, own)
					given[version] = true
				}
				mu.Unlock()
				own = slices.Max(versions)
			}
		})
	}
	writers.Wait()
}

// What is only kept has a limit, too: the oldest goes that the writer wrote.
func TestHistoryIsBounded(t *testing.T) {
	w := newWorld(t)
	limited := written
	limited.MaxBytes = 800
	text := func(i int) string { return fmt.Sprintf("%040d", i) }
	version := int64(0)
	for i := range 5 {
		versions, err := w.db.Write(t.Context(), w.as("ann"), []postgres.Change{{Path: "a.md", Text: text(i), Base: version}}, limited)
		require.NoError(t, err)
		version = versions[0]
	}
	history, _, _, err := w.db.History(t.Context(), w.as("ann"), "", 0, 100)
	require.NoError(t, err)
	require.Len(t, history, 3, "two of 40 bytes, and the document")
	u, err := w.db.Usage(t.Context(), w.acme.ID)
	require.NoError(t, err)
	require.Equal(t, postgres.Usage{Documents: 1, Bytes: 40, Kept: 2 * (40 + 300 + 3*int64(len("a.md")))}, u, "a row counts as much as its text")
	past, err := w.db.Past(t.Context(), w.as("ann"), history[0].Version-1, 1<<30)
	require.NoError(t, err)
	require.Empty(t, past, "the document is not removed because nobody knows what it was")
	past, err = w.db.Past(t.Context(), w.as("ann"), history[0].Version, 1<<30)
	require.NoError(t, err)
	require.Len(t, past, 1)

	c, err := pgx.Connect(t.Context(), w.owner)
	require.NoError(t, err)
	defer c.Close(t.Context())
	_, err = c.Exec(t.Context(), `update memcore.revision set expires = now() - interval '1 s' where number = $1`, history[0].Version)
	require.NoError(t, err)
	require.NoError(t, w.db.Maintain(t.Context()))
	_, err = w.db.Write(t.Context(), w.as("ann"), []postgres.Change{{Path: "a.md", Base: version, Gone: true, Forget: true}}, limited)
	require.NoError(t, err)
	u, err = w.db.Usage(t.Context(), w.acme.ID)
	require.NoError(t, err)
	left := postgres.Usage{Kept: 2 * (300 + 3*int64(len("a.md")))}
	require.Equal(t, left, u, "what has expired does not count, of what was forgotten the rows do")
	w.put(w.as("ann"), "~/.beans/a.md", "one")
	w.put(w.as("ann"), "~/.beans/a.md", "again")
	require.NoError(t, w.db.Tenants().DeleteUser(t.Context(), w.acme.ID, "ann"))
	u, err = w.db.Usage(t.Context(), w.acme.ID)
	require.NoError(t, err)
	require.Equal(t, left, u)
}

// A write that has lost ends on the server, too: what follows in it waits for nobody there.
func TestAWriteThatHasLostEnds(t *testing.T) {
	w := newWorld(t)
	w.put(w.as("ann"), "a.md", "1")
	lost := w.textOf(w.as("ann"), "a.md", "2", true)
	w.put(w.as("ann"), "a.md", "3")
	c, err := pgx.Connect(t.Context(), w.owner)
	require.NoError(t, err)
	defer c.Close(context.Background())
	begun, err := c.Begin(t.Context())
	require.NoError(t, err)
	_, err = begun.Exec(t.Context(), `lock table memcore.record`)
	require.NoError(t, err)
	ctx, late := context.WithTimeout(t.Context(), 20*time.Second)
	defer late()
	_, err = w.db.Write(ctx, w.as("ann"), []postgres.Change{lost}, written)
	require.ErrorIs(t, err, postgres.ErrChanged)
	require.NoError(t, ctx.Err())
	require.NoError(t, begun.Rollback(t.Context()))
}

// Nobody makes room in the history at the cost of others, be it by large texts, by many that are
// empty or by removals, in what all share or elsewhere.
func TestHistoriesOfUsersAreApart(t *testing.T) {
	w := newWorld(t)
	limited := written
	limited.MaxBytes = 40_000
	write := func(user string, c postgres.Change) int64 {
		by := limited
		by.By = user + "/key"
		versions, err := w.db.Write(t.Context(), w.as(user), []postgres.Change{c}, by)
		require.NoError(t, err)
		return versions[0]
	}
	anns, last := map[int64]string{}, int64(0)
	for i := range 20 {
		text := fmt.Sprint("of ann ", i)
		last = write("ann", postgres.Change{Path: "a.md", Text: text, Base: last})
		anns[last] = text
	}
	own := write("ann", postgres.Change{Path: "~/.beans/a.md", Text: "mine"})
	write("ann", postgres.Change{Path: "~/.beans/a.md", Text: "mine again", Base: own})

	taken := write("bob", postgres.Change{Path: "a.md", Text: "of bob", Base: last})
	large, version := strings.Repeat("x", 9_000), int64(0)
	for range 20 {
		version = write("bob", postgres.Change{Path: "large.md", Text: large, Base: version})
	}
	for i := range 300 {
		at := write("bob", postgres.Change{Path: fmt.Sprint(i, ".md")})
		write("bob", postgres.Change{Path: fmt.Sprint(i, ".md"), Base: at, Gone: true})
	}
	for i := range 300 {
		taken = write("bob", postgres.Change{Path: "a.md", Text: fmt.Sprint(i), Base: taken, Forget: i%2 == 1 && i > 250})
		if i == 250 {
			history, _, _, err := w.db.History(t.Context(), w.as("ann"), "a.md", last+1, 100)
			require.NoError(t, err)
			require.Len(t, history, len(anns))
			past, err := w.db.Past(t.Context(), w.as("ann"), last, 1<<30)
			require.NoError(t, err)
			require.Contains(t, past, postgres.Change{Path: "a.md", Text: anns[last], Base: taken})
		}
	}
	past, err := w.db.Past(t.Context(), w.as("ann"), own, 1<<30)
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(past, func(c postgres.Change) bool { return c.Path == "~/.beans/a.md" && c.Text == "mine" }))
	c, err := pgx.Connect(t.Context(), w.owner)
	require.NoError(t, err)
	defer c.Close(t.Context())
	var rows, kept, counted int64
	require.NoError(t, c.QueryRow(t.Context(), `select count(*), sum(size), (select sum(bytes) from memcore.history) from memcore.revision where expires is not null`).Scan(&rows, &kept, &counted))
	require.Equal(t, kept, counted)
	require.LessOrEqual(t, kept, limited.MaxBytes)
	require.Less(t, rows, limited.MaxBytes/300)

	// Many who write at the limit at the same moment do not wait for each other for ever.
	var writers sync.WaitGroup
	for i := range 6 {
		writers.Go(func() {
			p, by := w.as("bob", "ops"), limited
			by.By = "bob/key"
			for n := range 20 {
				var changes []postgres.Change
				for _, path := range []string{"%d/%d.md", "@ops/%d/%d.md", "~/.beans/%d/%d.md"} {
					changes = append(changes, postgres.Change{Path: fmt.Sprintf(path, i, n), Text: "x"})
				}
				versions, err := w.db.Write(t.Context(), p, changes, by)
				if !assert.NoError(t, err) {
					return
				}
				for j := range changes {
					changes[j].Base, changes[j].Gone = versions[j], true
				}
				_, err = w.db.Write(t.Context(), w.as("bob", "ops"), changes, by)
				assert.NoError(t, err)
			}
		})
	}
	writers.Wait()
	u, err := w.db.Usage(t.Context(), w.acme.ID)
	require.NoError(t, err)
	require.LessOrEqual(t, u.Kept, limited.MaxBytes+limited.MaxBytes/4, "they do not see each other's growth")
}

// What a request reads at once has a bound: the states of documents, an export, what is restored.
func TestReadsAreBounded(t *testing.T) {
	w := newWorld(t)
	var paths []string
	for i := range 3 {
		path := fmt.Sprintf("%d.md", i)
		c := w.textOf(w.as("ann"), path, strings.TrimSuffix(strings.Repeat(path+"\n", 3_000), "\n"), false)
		c.Text = strings.Repeat("x", 5<<20)
		w.write(w.as("ann"), c)
		paths = append(paths, path, fmt.Sprintf("none%d.md", i))
	}
	p := w.as("ann")
	read := 0
	for state, err := range w.db.States(t.Context(), p, paths) {
		require.NoError(t, err)
		require.Equal(t, paths[read], state.Path)
		require.Equal(t, read%2 == 0, state.Version > 0)
		require.Len(t, state.Records, []int{3_000, 0, 3_000, 0, 1, 0}[read])
		if read++; read == 1 {
			w.put(p, "2.md", "what is read later is read as it is then")
		}
	}
	require.Equal(t, len(paths), read)
	exported := 0
	for _, err := range w.db.Export(t.Context(), p.Tenant.ID, p.Scopes) {
		require.NoError(t, err)
		if exported++; exported == 1 {
			w.remove(p, "1.md")
			w.remove(p, "2.md")
		}
	}
	require.Equal(t, 2, exported, "of three, two were read at once")

	version := w.put(p, "small.md", "1")
	w.put(p, "0.md", "now small")
	_, err := w.db.Past(t.Context(), p, version, 5<<20-1)
	require.ErrorIs(t, err, postgres.ErrLarge)
	past, err := w.db.Past(t.Context(), p, version, 5<<20)
	require.NoError(t, err)
	require.Len(t, past, 1)
}
