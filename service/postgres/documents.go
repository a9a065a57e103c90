package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/store"
)

// A Document has a path as its principal sees it: a.md is shared, @team/a.md a team's,
// ~/.beans/a.md the user's own.
type Document struct {
	Path     string    `json:"path"`
	Version  int64     `json:"version"`
	Bytes    int64     `json:"bytes"`
	By       string    `json:"by"` // user and ID of the key that wrote it
	At       time.Time `json:"at"`
	Text     string    `json:"text,omitempty"` // of Get and Export
	Gone     bool      `json:"gone,omitempty"` // in a history
	Embedded bool      `json:"-"`              // it waits for no vectors; not in a history
}

const documentColumns = `d.path, r.number, r.bytes, r.by_whom, r.at, d.waiting = 0`

func documentOf(row pgx.CollectableRow) (d Document, err error) {
	err = row.Scan(&d.Path, &d.Version, &d.Bytes, &d.By, &d.At, &d.Embedded)
	d.Path, d.At = unescaped(d.Path), d.At.UTC()
	return d, err
}

// withText reads documentColumns and the text.
func withText(row pgx.CollectableRow) (d Document, err error) {
	err = row.Scan(&d.Path, &d.Version, &d.Bytes, &d.By, &d.At, &d.Embedded, &d.Text)
	d.Path, d.Text, d.At = unescaped(d.Path), unescaped(d.Text), d.At.UTC()
	return d, err
}

// queuePosition asks for the newest revision of some scopes.
func queuePosition(b *pgx.Batch, scopes []int64, position *int64) {
	b.Queue(`select coalesce(max(newest), 0) from unnest($1::bigint[]) s(id) cross join lateral (select max(number) as newest from revision where scope = s.id) r`, scopes).
		QueryRow(func(row pgx.Row) error { return row.Scan(position) })
}

// List returns the documents of a principal, by path, and the position of the answer.
func (db *DB) List(ctx context.Context, p Principal) (all []Document, position int64, err error) {
	s := p.session()
	err = db.read(ctx, s, func(b *pgx.Batch) {
		queuePosition(b, s.scopes, &position)
		b.Queue(`select `+documentColumns+` from document d join revision r on r.scope = d.scope and r.number = d.revision where d.scope = any ($1) order by d.path`, s.scopes).Query(func(rows pgx.Rows) error {
			all, err = pgx.CollectRows(rows, documentOf)
			return err
		})
	})
	return all, position, err
}

func errNoDocument(path string) error {
	return kind.As(kind.NotFound, fmt.Errorf("there is no document %.200q", path))
}

// Get returns a document.
func (db *DB) Get(ctx context.Context, p Principal, path string) (d Document, err error) {
	scope, err := p.scopeOf(path)
	if err != nil {
		return d, err
	}
	err = db.read(ctx, p.session(), func(b *pgx.Batch) {
		b.Queue(`select `+documentColumns+`, r.text from document d join revision r on r.scope = d.scope and r.number = d.revision where d.scope = $1 and d.path = $2`, scope.ID, escaped(path)).Query(func(rows pgx.Rows) error {
			d, err = pgx.CollectOneRow(rows, withText)
			return err
		})
	})
	if errors.Is(err, pgx.ErrNoRows) {
		err = errNoDocument(path)
	}
	return d, err
}

// ErrLarge means that documents have more bytes than the caller can take.
var ErrLarge = errors.New("the documents have too many bytes")

// Texts returns those of the documents with some paths that there are, by path; at most most bytes.
func (db *DB) Texts(ctx context.Context, p Principal, paths []string, most int64) ([]Document, error) {
	return db.texts(ctx, p, `d.path = any ($2)`, paths, most)
}

// Files returns, with their texts, the documents that instruct agents or that agents write, and
// those with some paths: BEANS.md and BEANS.local.md in any folder, and what is below .beans; at
// most most bytes.
func (db *DB) Files(ctx context.Context, p Principal, also []string, most int64) ([]Document, error) {
	return db.texts(ctx, p, `(d.file or d.path = any ($2))`, also, most)
}

// Instructions returns those of Files that instruct the agents of several users: neither what
// agents write, nor the user's own.
func (db *DB) Instructions(ctx context.Context, p Principal, most int64) ([]Document, error) {
	return db.texts(ctx, p, `(d.file and d.path !~ '^~/' and (d.path !~ '^(@[^/]+/)?\.beans/memories/' or d.path ~* '(^|/)beans(\.local)?\.md$') or d.path = any ($2))`, nil, most)
}

// queueAsked asks how many bytes what follows in the batch would return; more than most are
// ErrLarge. The batch is sent as a whole, so that what follows has to compare isAsked, too.
func queueAsked(b *pgx.Batch, sum string, most int64, arguments ...any) {
	b.Queue(`select set_config('memcore.asked', (`+sum+`)::text, true)::bigint`, arguments...).QueryRow(func(row pgx.Row) error {
		var bytes int64
		if err := row.Scan(&bytes); err != nil {
			return err
		}
		if bytes > most {
			return ErrLarge
		}
		return nil
	})
}

const isAsked = `current_setting('memcore.asked')::bigint`

func (db *DB) texts(ctx context.Context, p Principal, which string, paths []string, most int64) (all []Document, err error) {
	s := p.session()
	err = db.read(ctx, s, func(b *pgx.Batch) {
		from := ` from document d join revision r on r.scope = d.scope and r.number = d.revision where d.scope = any ($1) and ` + which
		arguments := []any{s.scopes, allEscaped(paths)}
		queueAsked(b, `select coalesce(sum(r.bytes), 0)`+from, most, arguments...)
		b.Queue(`select `+documentColumns+`, r.text`+from+` and `+isAsked+` <= $3 order by d.path`, append(arguments, most)...).Query(func(rows pgx.Rows) error {
			all, err = pgx.CollectRows(rows, withText)
			return err
		})
	})
	return all, err
}

// A State is what a change of a document is made from.
type State struct {
	Path    string
	Version int64          // 0 if there is none
	Records []store.Record // without vectors
}

// statesAtOnce bounds the records that States holds, but those of one document.
const statesAtOnce = 5_000

// States yields those of documents, in order; of documents that there are not, too.
func (db *DB) States(ctx context.Context, p Principal, paths []string) iter.Seq2[State, error] {
	return func(yield func(State, error) bool) {
		for len(paths) > 0 {
			some, err := db.states(ctx, p, paths)
			if err != nil {
				yield(State{}, err)
				return
			}
			for _, s := range some {
				if !yield(s, nil) {
					return
				}
			}
			paths = paths[len(some):]
		}
	}
}

// states returns the first of States.
func (db *DB) states(ctx context.Context, p Principal, paths []string) (states []State, err error) {
	var scopes []int64
	for _, path := range paths {
		scope, err := p.scopeOf(path)
		if err != nil {
			return nil, err
		}
		scopes = append(scopes, scope.ID)
	}
	err = db.read(ctx, p.session(), func(b *pgx.Batch) {
		const first = `(select * from (select n.*, coalesce(revision, 0) as revision, sum(coalesce(chunks, 0)) over (order by at) - coalesce(chunks, 0) as before
			from unnest($1::bigint[], $2::text[]) with ordinality n(scope, path, at) left join document d using (scope, path)) n where before < $3) n`
		b.Queue(`select path, revision from `+first+` order by at`, scopes, allEscaped(paths), statesAtOnce).Query(func(rows pgx.Rows) error {
			states, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (s State, err error) {
				err = row.Scan(&s.Path, &s.Version)
				s.Path = unescaped(s.Path)
				return s, err
			})
			return err
		})
		b.Queue(`select `+recordColumns+`, n.at from `+first+` join record r using (scope, path) order by n.at, r.start_line, r.id`, scopes, allEscaped(paths), statesAtOnce).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var at int
				var r store.Record
				if err := scanRecord(rows, &r, &at); err != nil {
					return err
				}
				states[at-1].Records = append(states[at-1].Records, r)
			}
			return rows.Err()
		})
	})
	return states, err
}

// History returns revisions without texts, oldest first: the newest ones before a version, or the
// newest for 0; of a document, or of all for "". more means that there are earlier ones.
func (db *DB) History(ctx context.Context, p Principal, path string, before int64, limit int) (all []Document, more bool, position int64, err error) {
	s := p.session()
	scopes := s.scopes
	if path != "" {
		scope, err := p.scopeOf(path)
		if err != nil {
			return nil, false, 0, err
		}
		scopes = []int64{scope.ID}
	}
	err = db.read(ctx, s, func(b *pgx.Batch) {
		queuePosition(b, s.scopes, &position)
		b.Queue(`select path, number, bytes, by_whom, at, gone from revision where scope = any ($1) and text is not null and ($2 = '' or path = $2) and ($3 = 0 or number < $3)
			order by number desc limit $4`, scopes, escaped(path), before, limit+1).Query(func(rows pgx.Rows) error {
			all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (d Document, err error) {
				err = row.Scan(&d.Path, &d.Version, &d.Bytes, &d.By, &d.At, &d.Gone)
				d.Path, d.At = unescaped(d.Path), d.At.UTC()
				return d, err
			})
			return err
		})
	})
	if more = len(all) > limit; more {
		all = all[:limit]
	}
	slices.Reverse(all)
	return all, more, position, err
}

// Past returns the changes that take what a principal sees back to a version, with Path, Base, and
// Text or Gone. What else a Change needs is the caller's to make. A document whose text of then was
// forgotten, or may have made room for others, stays as it is. The texts have at most most bytes.
func (db *DB) Past(ctx context.Context, p Principal, version, most int64) (changes []Change, err error) {
	s := p.session()
	var position, oldest int64
	err = db.read(ctx, session{p.Tenant.ID, s.scopes}, func(b *pgx.Batch) {
		queuePosition(b, s.scopes, &position)
		b.Queue(`select coalesce(max(oldest), 0) from scope where id = any ($1)`, s.scopes).QueryRow(func(row pgx.Row) error { return row.Scan(&oldest) })
		const changed = ` from (select scope, path, number, text, bytes from revision where scope = any ($1) and number <= $2 and not gone and (replaced is null or replaced > $2)) f
			full join (select d.scope, d.path, d.revision, s.short from document d join scope s on s.id = d.scope where d.scope = any ($1)) c using (scope, path)
			where f.number is distinct from c.revision and case when f.number is null then c.short <= $2 else f.text is not null end`
		queueAsked(b, `select coalesce(sum(f.bytes), 0)`+changed, most, s.scopes, version)
		b.Queue(`select path, coalesce(c.revision, 0), coalesce(f.text, ''), f.number is null`+changed+` and `+isAsked+` <= $3`, s.scopes, version, most).Query(func(rows pgx.Rows) error {
			changes, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (c Change, err error) {
				err = row.Scan(&c.Path, &c.Base, &c.Text, &c.Gone)
				c.Path, c.Text = unescaped(c.Path), unescaped(c.Text)
				return c, err
			})
			return err
		})
	})
	switch {
	case err != nil:
		return nil, err
	case version > position:
		return nil, kind.Usagef("there is no version %d; the newest is %d", version, position)
	case version < oldest:
		return nil, kind.Usagef("version %d is too old: what was replaced before version %d has expired", version, oldest)
	}
	return changes, nil
}

// An Exported document is of a scope.
type Exported struct {
	Scope Scope
	Document
}

// An export holds so many documents in memory, and so many bytes beside one document.
const (
	exportPage  = 64
	exportBytes = 8 << 20
)

// Export yields the documents of scopes with their texts: those of a principal, or of Tenants.Scopes.
func (db *DB) Export(ctx context.Context, tenant int64, scopes []Scope) iter.Seq2[Exported, error] {
	return func(yield func(Exported, error) bool) {
		for _, scope := range scopes {
			for after, more := "", true; more; {
				var page []Document
				err := db.read(ctx, session{tenant, []int64{scope.ID}}, func(b *pgx.Batch) {
					b.Queue(`select `+documentColumns+`, r.text from (select d.*, sum(r.bytes) over (order by d.path) - r.bytes as before from document d join revision r on r.scope = d.scope and r.number = d.revision
							where d.scope = $1 and d.path > $2 order by d.path limit $3) d
						join revision r on r.scope = d.scope and r.number = d.revision where d.before < $4 order by d.path`, scope.ID, after, exportPage, exportBytes).Query(func(rows pgx.Rows) error {
						var err error
						page, err = pgx.CollectRows(rows, withText)
						return err
					})
				})
				if err != nil {
					yield(Exported{}, err)
					return
				}
				for _, d := range page {
					if after = escaped(d.Path); !yield(Exported{scope, d}, nil) {
						return
					}
				}
				more = len(page) > 0
			}
		}
	}
}

// Usage is what a tenant has.
type Usage struct {
	Documents   int
	Bytes, Kept int64 // Kept is what replaced and removed revisions take
}

// Usage counts what a tenant has.
func (db *DB) Usage(ctx context.Context, tenant int64) (u Usage, err error) {
	err = db.read(ctx, session{tenant: tenant}, func(b *pgx.Batch) {
		b.Queue(sumUsage, tenant).QueryRow(func(row pgx.Row) error { return row.Scan(&u.Documents, &u.Bytes) })
		b.Queue(`select coalesce(sum(bytes), 0)::bigint from history where tenant = $1`, tenant).QueryRow(func(row pgx.Row) error { return row.Scan(&u.Kept) })
	})
	return u, err
}

const sumUsage = `select coalesce(sum(documents), 0)::bigint, coalesce(sum(bytes), 0)::bigint from usage where tenant = $1`
