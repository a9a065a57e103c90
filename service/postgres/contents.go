package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/flat"
	"github.com/memcore/memcore/store/keyword"
)

// What a node holds of a scope is what questions need, but texts; of vectors their codes. It is
// never changed.
type held struct {
	model  string // fingerprint of the embedder; "" if nobody asks for vectors
	seen   string // the snapshot of the last look; "" before the first
	server string // where it looked
	looked time.Time
	part   *keyword.Part
	codes  *flat.Part
	layer  *core.Layer
	bytes  int64
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
	for _, h := range now {
		c.Layers = append(c.Layers, h.layer)
	}
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

// look returns what scopes hold now, by one state of the database.
func (db *DB) look(ctx context.Context, s session, model string) (now []*held, err error) {
	for tries := range maxLooks {
		var before []*held
		if before, err = db.heldOf(ctx, s, model, tries > 0); err != nil {
			return nil, err
		}
		room := manyChunks
		if tries == maxLooks-1 {
			room = math.MaxInt
		}
		now, err = db.update(ctx, s, model, before, tries > 0, room)
		switch {
		case errors.Is(err, errOtherServer): // all is read again, as what is not held
			db.cache.forget(s.scopes, before)
		case !errors.Is(err, errMany):
			return now, err
		}
	}
	return nil, err
}

const (
	// maxLooks bounds how often a question looks again.
	maxLooks = 3
	// manyChunks are read by one question for all that ask meanwhile, if they have changed.
	manyChunks = 5_000
)

// heldOf returns what is held of scopes. What is not held at all, or all of it if much has changed,
// is read by one who asks, for all who do meanwhile and also if this one no longer waits.
func (db *DB) heldOf(ctx context.Context, s session, model string, changed bool) ([]*held, error) {
	if db.cache.isRefused(s.scopes, model) {
		return nil, ErrMemory
	}
	all := db.cache.of(s.scopes, model)
	bytes := int64(0)
	for i, scope := range s.scopes {
		if all[i].isNew() || changed {
			one := []int64{scope}
			if db.cache.isRefused(one, model) {
				return nil, ErrMemory
			}
			reading := db.cache.shared.DoChan(fmt.Sprint(scope, " ", model), func() (any, error) {
				ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), maxStatement)
				defer stop()
				now, err := db.readAlone(ctx, session{s.tenant, one}, model)
				return now, db.cache.note(one, model, err)
			})
			select {
			case read := <-reading:
				if read.Err != nil {
					return nil, read.Err
				}
				all[i] = read.Val.(*held)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		if bytes += all[i].bytes; bytes > db.cache.maxBytes {
			return nil, db.cache.note(s.scopes, model, ErrMemory)
		}
	}
	return all, nil
}

// readAlone reads a scope, a large one once no other large one is read.
func (db *DB) readAlone(ctx context.Context, s session, model string) (*held, error) {
	var chunks int64
	err := db.read(ctx, s, func(b *pgx.Batch) {
		b.Queue(`select coalesce(sum(chunks), 0) from document where scope = any ($1)`, s.scopes).QueryRow(func(row pgx.Row) error { return row.Scan(&chunks) })
	})
	if err != nil {
		return nil, err
	}
	if db.cache.isLarge(chunks) {
		select {
		case db.cache.large <- struct{}{}:
			defer func() { <-db.cache.large }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	now, err := db.update(ctx, s, model, db.cache.of(s.scopes, model), true, math.MaxInt)
	if err != nil {
		return nil, err
	}
	return now[0], nil
}

// lookTogether calls do with what scopes hold now, and a context in which all that is read is of the
// same state of the database.
func (db *DB) lookTogether(ctx context.Context, s session, model string, do func(context.Context, []*held) error) error {
	return db.readTogether(ctx, s, func(ctx context.Context) error {
		now, err := db.update(ctx, s, model, db.cache.of(s.scopes, model), true, math.MaxInt)
		if err != nil {
			return err
		}
		return do(ctx, now)
	})
}

// errOtherServer means that what is held was read of another server.
var errOtherServer = errors.New("the database is another one than before")

// update returns what scopes hold after what has changed since: errMany if that has no room,
// counted in chunks. Of another server it reads all again, or is errOtherServer.
func (db *DB) update(ctx context.Context, s session, model string, before []*held, again bool, room int) (now []*held, err error) {
	since := slices.Clone(before)
	for known := false; !known; {
		r := newReading(db.cache, model, s.scopes, since, room)
		err = db.changes(ctx, s, r)
		if err == nil {
			now, err = r.finish(s.scopes)
		}
		r.end()
		if err != nil {
			return nil, err
		}
		known = true
		for i, h := range since {
			if !h.isNew() && h.server != r.server {
				if !again {
					return nil, errOtherServer
				}
				since[i], known = &held{model: model}, false
			}
		}
	}
	for i, scope := range s.scopes {
		db.cache.keep(scope, before[i], now[i])
	}
	return now, nil
}

// serverID tells servers apart whose numbers of transactions may be others: another one, one that was
// started again, and one that went on after the crash of a connection, which resets its statistics.
const serverID = `concat(pg_postmaster_start_time(), pg_stat_get_bgwriter_stat_reset_time(), pg_is_in_recovery(), inet_server_addr(), 'memcore.document'::regclass::oid)`

// A documentState is what a document says of itself.
type documentState struct {
	indexed         core.Indexed
	bytes           int
	model           int16 // number, 0 for none
	chunks, waiting int
}

// sinceThen holds for rows of a table x that a snapshot does not see. Its least transaction is a
// number here, as an index is only asked by functions that row-level security takes for safe.
const sinceThen = `x.scope = k.scope and x.xid >= k.least and not pg_visible_in_snapshot(x.xid::text::xid8, k.seen::pg_snapshot)`

// changes reads what has changed in scopes since they were read.
func (db *DB) changes(ctx context.Context, s session, r *reading) error {
	seen, least := make([]string, len(s.scopes)), make([]int64, len(s.scopes))
	for i, scope := range s.scopes {
		if seen[i] = r.of[scope].seen; seen[i] == "" {
			seen[i] = never
		}
		number, _, _ := strings.Cut(seen[i], ":")
		var err error
		if least[i], err = strconv.ParseInt(number, 10, 64); err != nil {
			return fmt.Errorf("snapshot %q of the database: %w", seen[i], err)
		}
	}
	err := db.read(ctx, s, func(b *pgx.Batch) {
		const since = ` from unnest($1::bigint[], $2::text[], $3::bigint[]) k(scope, seen, least) join `
		if slices.Contains(seen, never) {
			b.Queue(fmt.Sprintf(`set local statement_timeout = %d`, maxStatement.Milliseconds()))
		}
		b.Queue(`select pg_current_snapshot()::text, `+serverID+`, coalesce(`+modelNumber("$1")+`, 0)`, r.model).QueryRow(func(row pgx.Row) error {
			return row.Scan(&r.snapshot, &r.server, &r.number)
		})
		b.Queue(`select x.scope, x.path`+since+`removal x on `+sinceThen, s.scopes, seen, least).Query(func(rows pgx.Rows) error {
			var scope int64
			var path string
			_, err := pgx.ForEachRow(rows, []any{&scope, &path}, func() error { return r.document(scope, unescaped(path), nil) })
			return err
		})
		b.Queue(`select x.scope, x.path, x.indexed, coalesce(x.model, 0), x.chunks, x.waiting`+since+`document x on `+sinceThen, s.scopes, seen, least).Query(func(rows pgx.Rows) error {
			var scope int64
			var path string
			var indexed []byte
			var d documentState
			_, err := pgx.ForEachRow(rows, []any{&scope, &path, &indexed, &d.model, &d.chunks, &d.waiting}, func() error {
				path := unescaped(path)
				if indexed == nil {
					return r.document(scope, path, nil)
				}
				d.indexed, d.bytes = core.Indexed{}, len(indexed)
				if err := json.Unmarshal(indexed, &d.indexed); err != nil {
					return fmt.Errorf("document %.200q: %w: %w", path, store.ErrCorrupt, err)
				}
				return r.document(scope, path, &d)
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
					r.of[scope].stale = append(r.of[scope].stale, m.ID)
					return nil
				}
				if err != nil {
					return fmt.Errorf("words of a record of %.200q: %w", m.Path, err)
				}
				return r.record(scope, m, len(packed))
			})
			return err
		})
		if r.model != "" {
			queueCodes(b, `select v.scope, v.id, v.path, v.kind, v.visibility, v.time, vector_send(v.vector)`+since+`document x on `+sinceThen+`
				join embedding v on v.scope = x.scope and v.path = x.path and v.model = `+modelNumber("$4"), r, s.scopes, seen, least, r.model)
		}
	})
	for scope, of := range r.of {
		for ids := range slices.Chunk(of.stale, maxAnalysed) {
			if err == nil {
				err = db.analyse(ctx, session{s.tenant, []int64{scope}}, ids, r)
			}
		}
	}
	return err
}

// maxAnalysed bounds the texts that are in memory to be analysed.
const maxAnalysed = 1_000

// analyse reads records whose words this release cannot read.
func (db *DB) analyse(ctx context.Context, s session, ids []string, r *reading) error {
	records, err := db.records(ctx, s, `r.id = any ($2)`, ids)
	for i, w := range keyword.Analyse(records) {
		if err == nil {
			one := records[i]
			err = r.record(s.scopes[0], keyword.Member{ID: one.ID, Path: one.Path, Kind: one.Kind, Scope: one.Scope, Time: one.Time, Words: w}, len(one.Text))
		}
	}
	return err
}
