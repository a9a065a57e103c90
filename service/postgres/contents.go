package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/jackc/pgx/v5"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/flat"
	"github.com/memcore/memcore/store/keyword"
)

// A cache keeps what questions need of scopes in memory, but texts; of vectors their codes. Each
// question asks what changed, so it is never stale.
type cache struct {
	mu    sync.Mutex
	bytes int64
	most  int64
	held  *lru.LRU[int64, *held] // by scope
}

// A held is what is kept of a scope. It is never changed, but for loading.
type held struct {
	loading sync.Mutex // held by the one who reads all of it
	model   string     // fingerprint of the embedder; "" if nobody asks for vectors
	seen    string     // the snapshot of the last look; "" before the first
	server  string     // where it looked
	looked  time.Time
	part    *keyword.Part
	codes   *flat.Part
	layer   *core.Layer
	changed int64 // the last change
}

// bytesOfDocument is about what a core.Layer keeps of one.
const bytesOfDocument = 1 << 10

func (h *held) bytes() int64 {
	if h.isNew() {
		return 0
	}
	return h.part.Bytes() + h.codes.Bytes() + int64(h.layer.Len())*bytesOfDocument
}

func newCache(most int64) *cache {
	c := &cache{most: most}
	c.held, _ = lru.NewLRU(1<<20, func(_ int64, h *held) { c.bytes -= h.bytes() }) // fails for sizes below 1
	return c
}

// removalsKept is how old a held may be: what was removed before is no longer known.
const removalsKept = 23 * time.Hour

// of returns what is held of scopes.
func (c *cache) of(scopes []int64, model string) []*held {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]*held, len(scopes))
	for i, scope := range scopes {
		h, ok := c.held.Get(scope)
		if !ok || !h.isNew() && (h.model != model || time.Since(h.looked) > removalsKept) {
			c.held.Remove(scope)
			h = &held{model: model}
			c.held.Add(scope, h)
		}
		all[i] = h
	}
	return all
}

// anew is of, without what was held before.
func (c *cache) anew(scopes []int64, before []*held, model string) []*held {
	c.mu.Lock()
	for i, scope := range scopes {
		if now, ok := c.held.Peek(scope); ok && now == before[i] {
			c.held.Remove(scope)
		}
	}
	c.mu.Unlock()
	return c.of(scopes, model)
}

// keep replaces what is held of a scope, unless another has.
func (c *cache) keep(scope int64, before, after *held) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now, ok := c.held.Peek(scope); !ok || now != before {
		return
	}
	c.bytes += after.bytes() - before.bytes()
	c.held.Add(scope, after)
	for c.bytes > c.most && c.held.Len() > 1 {
		c.held.RemoveOldest()
	}
}

// never is a snapshot that sees nothing.
const never = "3:3:"

// Contents is what a principal sees now. It asks the database what changed, in one round trip.
func (db *DB) Contents(ctx context.Context, p Principal, e Embedder) (core.Contents, error) {
	s := p.session()
	slices.Sort(s.scopes)
	c := core.Contents{Embedder: e.Fingerprint, Scale: e.Scale}
	now, err := db.look(ctx, s, e.Fingerprint)
	if err != nil {
		return c, err
	}
	if e.Fingerprint != "" {
		c.Vectors = &vectors{db, s, e.Fingerprint, e.Dimension, codesOf(now)}
	}
	var changed []string
	for i, h := range now {
		c.Layers = append(c.Layers, h.layer)
		changed = append(changed, fmt.Sprintf("%d:%d", s.scopes[i], h.changed))
	}
	c.Revision = strings.Join(changed, " ")
	c.Keywords = db.wordsOf(s, e.Fingerprint, now)
	c.Digests = func(ctx context.Context, paths []string) (map[string][]byte, error) { return db.digests(ctx, s, paths) }
	return c, nil
}

// words are those of a principal's scopes. They implement store.KeywordSearch.
type words struct {
	*keyword.Reader
	db      *DB
	session session
	model   string
	missed  *atomic.Bool // a record is gone since the look
}

func (db *DB) wordsOf(s session, model string, now []*held) words {
	var parts []*keyword.Part
	for _, h := range now {
		parts = append(parts, h.part)
	}
	missed := new(atomic.Bool)
	return words{keyword.Over(parts, func(ctx context.Context, ids []string) ([]store.Record, error) {
		all, err := db.records(ctx, s, `r.id = any ($2)`, ids)
		if len(all) < len(ids) {
			missed.Store(true)
		}
		return all, err
	}), db, s, model, missed}
}

// Match implements store.KeywordSearch. A document that is written again while it is asked for has
// other records then, so that it would not be found at all: the question is asked again, of one state
// of the database.
func (w words) Match(ctx context.Context, query string, k int, f store.Filter) (store.Matches, error) {
	matches, err := w.Reader.Match(ctx, query, k, f)
	if err != nil || !w.missed.Load() {
		return matches, err
	}
	err = w.db.lookTogether(ctx, w.session, w.model, func(ctx context.Context, now []*held) error {
		matches, err = w.db.wordsOf(w.session, w.model, now).Reader.Match(ctx, query, k, f)
		return err
	})
	return matches, err
}

// Document implements store.KeywordSearch.
func (w words) Document(ctx context.Context, path string) ([]store.Record, error) {
	return w.db.records(ctx, w.session, `r.path = $2`, escaped(path))
}

func (db *DB) digests(ctx context.Context, s session, paths []string) (map[string][]byte, error) {
	all := map[string][]byte{}
	err := db.read(ctx, s, func(b *pgx.Batch) {
		b.Queue(`select path, digest from document where scope = any ($1) and path = any ($2) and digest is not null`, s.scopes, allEscaped(paths)).Query(func(rows pgx.Rows) error {
			var path string
			var digest []byte
			_, err := pgx.ForEachRow(rows, []any{&path, &digest}, func() error {
				all[unescaped(path)] = digest
				return nil
			})
			return err
		})
	})
	return all, err
}

// look returns what scopes hold now, by one state of the database. What is not held at all may take
// longer than one question: it is read for the next ones, too, if this one ends.
func (db *DB) look(ctx context.Context, s session, model string) ([]*held, error) {
	before := db.cache.of(s.scopes, model)
	if !slices.ContainsFunc(before, (*held).isNew) {
		now, err := db.update(ctx, s, model, before, false)
		if !errors.Is(err, errOtherServer) {
			return now, err
		}
		before = db.cache.anew(s.scopes, before, model)
	}
	type answer struct {
		now []*held
		err error
	}
	found := make(chan answer, 1)
	go func() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), maxStatement)
		defer stop()
		for _, h := range before { // one reads all of a scope, the others then what has changed
			if h.isNew() {
				h.loading.Lock()
				defer h.loading.Unlock()
			}
		}
		now, err := db.update(ctx, s, model, db.cache.of(s.scopes, model), true)
		found <- answer{now, err}
	}()
	select {
	case a := <-found:
		return a.now, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// lookTogether calls do with what scopes hold now, and a context in which all that is read is of the
// same state of the database.
func (db *DB) lookTogether(ctx context.Context, s session, model string, do func(context.Context, []*held) error) error {
	return db.readTogether(ctx, s, func(ctx context.Context) error {
		now, err := db.update(ctx, s, model, db.cache.of(s.scopes, model), true)
		if err != nil {
			return err
		}
		return do(ctx, now)
	})
}

func (h *held) isNew() bool { return h.seen == "" }

// errOtherServer means that what is held was read of another server.
var errOtherServer = errors.New("the database is another one than before")

// update returns what scopes hold after what has changed since. Of another server it reads all again,
// or is errOtherServer.
func (db *DB) update(ctx context.Context, s session, model string, before []*held, again bool) ([]*held, error) {
	since := slices.Clone(before)
	var found changes
	for known := false; !known; {
		seen := make([]string, len(since))
		for i, h := range since {
			if seen[i] = h.seen; h.isNew() {
				seen[i] = never
			}
		}
		var err error
		if found, err = db.changes(ctx, s, model, seen); err != nil {
			return nil, err
		}
		known = true
		for i, h := range since {
			if !h.isNew() && h.server != found.server {
				if !again {
					return nil, errOtherServer
				}
				since[i], known = &held{model: model}, false
			}
		}
	}
	now := make([]*held, len(before))
	for i, scope := range s.scopes {
		now[i] = since[i].with(found.of[scope], found, model)
		db.cache.keep(scope, before[i], now[i])
	}
	return now, nil
}

// serverID tells servers apart whose numbers of transactions may be others: another one, one that was
// started again, and one that went on after the crash of a connection, which resets its statistics.
const serverID = `concat(pg_postmaster_start_time(), pg_stat_get_bgwriter_stat_reset_time(), pg_is_in_recovery(), inet_server_addr(), 'memcore.document'::regclass::oid)`

// changes are those of scopes since snapshots.
type changes struct {
	snapshot, server string
	model            int16 // number of the embedder, 0 for none
	of               map[int64]*change
}

// A change is that of a scope.
type change struct {
	gone    []string
	changed map[string]documentState
	members []keyword.Member
	vectors []flat.Member
	last    int64
}

// A documentState is what a document says of itself.
type documentState struct {
	indexed         core.Indexed
	model           int16 // number, 0 for none
	chunks, waiting int
}

// sinceThen holds for rows of a table x that a snapshot does not see. Its least transaction is a
// number here, as an index is only asked by functions that row-level security takes for safe.
const sinceThen = `x.scope = k.scope and x.xid >= k.least and not pg_visible_in_snapshot(x.xid::text::xid8, k.seen::pg_snapshot)`

func (db *DB) changes(ctx context.Context, s session, model string, seen []string) (changes, error) {
	found := changes{of: map[int64]*change{}}
	for _, scope := range s.scopes {
		found.of[scope] = &change{changed: map[string]documentState{}}
	}
	stale := map[int64][]string{} // IDs of records whose words another release has analysed
	least := make([]int64, len(seen))
	for i, snapshot := range seen {
		number, _, _ := strings.Cut(snapshot, ":")
		var err error
		if least[i], err = strconv.ParseInt(number, 10, 64); err != nil {
			return found, fmt.Errorf("snapshot %q of the database: %w", snapshot, err)
		}
	}
	err := db.read(ctx, s, func(b *pgx.Batch) {
		const since = ` from unnest($1::bigint[], $2::text[], $3::bigint[]) k(scope, seen, least) join `
		if slices.Contains(seen, never) {
			b.Queue(fmt.Sprintf(`set local statement_timeout = %d`, maxStatement.Milliseconds()))
		}
		b.Queue(`select pg_current_snapshot()::text, `+serverID+`, coalesce(`+modelNumber("$1")+`, 0)`, model).QueryRow(func(row pgx.Row) error {
			return row.Scan(&found.snapshot, &found.server, &found.model)
		})
		b.Queue(`select x.scope, x.path, x.xid`+since+`removal x on `+sinceThen, s.scopes, seen, least).Query(func(rows pgx.Rows) error {
			var scope int64
			var path string
			var xid int64
			_, err := pgx.ForEachRow(rows, []any{&scope, &path, &xid}, func() error {
				c := found.of[scope]
				c.gone, c.last = append(c.gone, unescaped(path)), max(c.last, xid)
				return nil
			})
			return err
		})
		b.Queue(`select x.scope, x.path, x.indexed, coalesce(x.model, 0), x.chunks, x.waiting, x.xid`+since+`document x on `+sinceThen, s.scopes, seen, least).Query(func(rows pgx.Rows) error {
			var scope int64
			var path string
			var xid int64
			var indexed []byte
			var d documentState
			_, err := pgx.ForEachRow(rows, []any{&scope, &path, &indexed, &d.model, &d.chunks, &d.waiting, &xid}, func() error {
				c := found.of[scope]
				path = unescaped(path)
				c.gone, c.last = append(c.gone, path), max(c.last, xid)
				if indexed == nil {
					return nil
				}
				d.indexed = core.Indexed{}
				if err := json.Unmarshal(indexed, &d.indexed); err != nil {
					return fmt.Errorf("document %.200q: %w: %w", path, store.ErrCorrupt, err)
				}
				c.changed[path] = d
				return nil
			})
			return err
		})
		b.Queue(`select r.scope, r.id, r.path, r.kind, r.visibility, r.time, r.words`+since+`document x on `+sinceThen+` join record r on r.scope = x.scope and r.path = x.path`, s.scopes, seen, least).Query(func(rows pgx.Rows) error {
			var scope int64
			var m keyword.Member
			var at *time.Time
			var packed []byte
			_, err := pgx.ForEachRow(rows, []any{&scope, &m.ID, &m.Path, &m.Kind, &m.Scope, &at, &packed}, func() (err error) {
				m.Path, m.Kind, m.Scope, m.Time = unescaped(m.Path), unescaped(m.Kind), unescaped(m.Scope), time.Time{}
				if at != nil {
					m.Time = at.UTC()
				}
				if m.Words, err = keyword.DecodeWords(packed); errors.Is(err, keyword.ErrWords) {
					stale[scope] = append(stale[scope], m.ID)
					return nil
				}
				if err != nil {
					return fmt.Errorf("words of a record of %.200q: %w", m.Path, err)
				}
				found.of[scope].members = append(found.of[scope].members, m)
				return nil
			})
			return err
		})
		if model != "" {
			queueCodes(b, `select v.scope, v.id, v.path, v.kind, v.visibility, v.time, vector_send(v.vector)`+since+`document x on `+sinceThen+`
				join embedding v on v.scope = x.scope and v.path = x.path and v.model = `+modelNumber("$4"), found.of, s.scopes, seen, least, model)
		}
	})
	for scope, ids := range stale {
		if err == nil {
			err = db.analyse(ctx, session{s.tenant, []int64{scope}}, ids, found.of[scope])
		}
	}
	return found, err
}

// analyse adds records whose words this release cannot read.
func (db *DB) analyse(ctx context.Context, s session, ids []string, c *change) error {
	records, err := db.records(ctx, s, `r.id = any ($2)`, ids)
	for i, w := range keyword.Analyse(records) {
		r := records[i]
		c.members = append(c.members, keyword.Member{ID: r.ID, Path: r.Path, Kind: r.Kind, Scope: r.Scope, Time: r.Time, Words: w})
	}
	return err
}

// with returns what is held after a change.
func (h *held) with(c *change, found changes, model string) *held {
	now := &held{model: model, seen: found.snapshot, server: found.server, looked: time.Now(), part: h.part, codes: h.codes, layer: h.layer, changed: h.changed}
	if now.layer == nil {
		now.layer = core.NewLayer(nil)
	}
	if len(c.gone) == 0 {
		return now
	}
	more := map[string]core.Indexed{}
	for path, d := range c.changed {
		waiting := d.waiting
		if d.model != found.model { // its vectors are another embedder's, or there are none
			waiting = d.chunks
		}
		if model == "" { // nobody asks for vectors
			waiting = 0
		}
		more[path] = d.indexed.WithPending(waiting)
	}
	now.layer = now.layer.With(c.gone, more)
	now.part = now.part.With(keyword.PartChange{Paths: c.gone, Members: c.members})
	now.codes = now.codes.With(c.gone, c.vectors)
	now.changed = c.last
	return now
}
