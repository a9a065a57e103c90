package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/store"
)

// A Change gives a document another text, or removes it.
type Change struct {
	Path string
	Text string
	Gone bool
	// Base is the version that the change was made from; 0 if there was none.
	Base int64
	// Weight is what the document counts for in the bytes of the tenant, if it is more than its
	// text.
	Weight int
	// Same means that the text stays, without a revision: only what is made of it changes.
	Same bool
	// Forget also removes all earlier revisions, at once.
	Forget bool

	// Indexed and Digest are JSON; nil for a document that is not indexed.
	Indexed, Digest []byte
	// Records are put, and those with the IDs Removed deleted; other records of the document stay.
	// One that is put without a vector keeps that of the same ID and Hash, or gets one later.
	Records []store.Record
	Words   [][]byte // of Records
	Removed []string
}

// A Write is what changes have in common.
type Write struct {
	By string
	// Embedder is the fingerprint of what makes the vectors; "" for none.
	Embedder string
	// Cut is the fingerprint of what made the records (core.Cutter).
	Cut string
	// MaxDocuments and MaxBytes of the tenant; 0 and less are no limit. What is replaced and
	// removed may take MaxBytes more, or an eighth of it by who writes: then the oldest of what
	// they wrote goes, and nothing of others.
	MaxDocuments int
	MaxBytes     int64
	// Keep is how long what is replaced stays in the history.
	Keep time.Duration
}

// Errors of Write.
var (
	// ErrChanged means that a document is no longer of its Change's Base: make the change again.
	ErrChanged = kind.As(kind.Conflict, errors.New("others have changed the document meanwhile"))
	// ErrFull means that the tenant would have more than it may.
	ErrFull = errors.New("the tenant is full")
)

// Write makes all changes or none, durably, and returns the versions of the documents, in order.
// The greatest of them is the position. Who may change what is the caller's to judge, but that a
// principal has no more scopes than they see.
func (db *DB) Write(ctx context.Context, p Principal, changes []Change, w Write) ([]int64, error) {
	p, scopes, err := db.scopesOf(ctx, p, changes)
	if err != nil {
		return nil, err
	}
	order := make([]int, len(changes)) // the same for all who write, or they could wait for each other
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(scopes[a], scopes[b]), cmp.Compare(changes[a].Path, changes[b].Path))
	})
	versions := make([]int64, len(changes))
	err = db.write(ctx, p.session(), func(b *pgx.Batch) {
		b.Queue(shareTenant, p.Tenant.ID)
		b.Queue(`select count(*) from scope where id = any ($1)`, scopes).QueryRow(func(row pgx.Row) error {
			var found int
			err := row.Scan(&found)
			if err == nil && found < len(distinct(scopes)) {
				err = ErrChanged
			}
			return err
		})
		queueModel(b, w.Embedder)
		w.queueLock(b, p.Tenant.ID, len(changes))
		b.Queue(`select memcore.take_part($1)`, p.Tenant.ID)
		for _, i := range order {
			queueChange(b, scopes[i], changes[i], w, &versions[i])
		}
		w.queueUsage(b, p.Tenant.ID, p.session().scopes, len(changes))
	})
	return versions, err
}

func distinct(ids []int64) []int64 { return slices.Compact(slices.Sorted(slices.Values(ids))) }

// scopesOf returns the scope of each change. It makes those that are missing.
func (db *DB) scopesOf(ctx context.Context, p Principal, changes []Change) (Principal, []int64, error) {
	p.Scopes = slices.Clone(p.Scopes)
	ids := make([]int64, len(changes))
	for i, c := range changes {
		s, err := p.scopeOf(c.Path)
		if err == nil && s.ID == 0 {
			if s, err = db.makeScope(ctx, p.Tenant.ID, s); err == nil {
				p.Scopes = append(p.Scopes, s)
			}
		}
		if err != nil {
			return p, nil, err
		}
		ids[i] = s.ID
	}
	return p, ids, nil
}

// makeScope makes a scope, unless another has.
func (db *DB) makeScope(ctx context.Context, tenant int64, s Scope) (Scope, error) {
	err := db.write(ctx, session{tenant: tenant}, func(b *pgx.Batch) {
		b.Queue(`insert into scope (tenant, kind, name) values ($1, $2, $3) on conflict do nothing`, tenant, s.Kind, s.Name)
		b.Queue(`select id from scope where tenant = $1 and kind = $2 and name = $3`, tenant, s.Kind, s.Name).QueryRow(func(row pgx.Row) error { return row.Scan(&s.ID) })
	})
	if isState(err, "23503") { // foreign_key_violation
		err = errNoTenant(tenant)
	}
	return s, err
}

// add adds to a number that the transaction keeps until its end: what all changes add to the usage.
func add(name, more string) string {
	return `set_config('memcore.` + name + `', (coalesce(nullif(current_setting('memcore.` + name + `', true), ''), '0')::bigint + ` + more + `)::text, true)`
}

// charge adds to what revisions of writers take in the history, in the part of usage that no other
// changes at the same time.
func charge(from, size string) string {
	return `insert into history as h (tenant, writer, part, bytes)
		select current_setting('memcore.tenant')::bigint, writer, current_setting('memcore.number')::bigint % 256, sum(` + size + `) from ` + from + ` group by writer
		on conflict (tenant, writer, part) do update set bytes = h.bytes + excluded.bytes`
}

// lostState is the code of memcore.lost, which ends the transaction of a change without its base on
// the server, too. What follows in the batch would take locks of a document that another changes.
const lostState = "MC001"

// queueChange queues a change. A change without its base is ErrChanged.
func queueChange(b *pgx.Batch, scope int64, c Change, w Write, version *int64) {
	path := escaped(c.Path)
	var document string
	switch {
	case c.Gone:
		document = `delete from document where scope = @scope and path = @path and revision = @base returning revision),
			x as (insert into removal (scope, path) select @scope, @path from d),
			w as (delete from waiting where scope = @scope and path = @path`
	case c.Base == 0:
		document = `insert into document (scope, path, revision, indexed, digest, model, chunks, waiting, cut)
			select @scope, @path, n.number, @indexed, @digest, ` + modelNumber("@model") + `, @chunks, @waiting, @cut from n on conflict do nothing returning revision`
	default: // chunks and waiting are counted when the records are there
		document = `update document set revision = n.number, indexed = @indexed, digest = @digest, model = ` + modelNumber("@model") + `, cut = @cut, xid = default
			from n where scope = @scope and path = @path and revision = @base returning revision`
	}
	waiting := 0
	for _, r := range c.Records {
		if r.Vector == nil && w.Embedder != "" {
			waiting++
		}
	}
	arguments := pgx.NamedArgs{"scope": scope, "path": path, "base": c.Base, "text": escaped(c.Text), "bytes": len(c.Text), "weight": max(len(c.Text), c.Weight), "gone": c.Gone, "by": w.By, "keep": w.Keep,
		"indexed": c.Indexed, "digest": c.Digest, "model": w.Embedder, "chunks": len(c.Records), "waiting": waiting, "cut": w.Cut}
	statement := `with n as (select ` + add("number", "256") + `::bigint as number), d as (` + document + `),
		r as (insert into revision (number, scope, path, text, bytes, weight, gone, by_whom, expires)
			select n.number, @scope, @path, @text, @bytes, @weight, @gone, @by, case when @gone then now() + @keep::interval end from n, d returning writer, size),
		o as (update revision set replaced = n.number, expires = now() + @keep::interval from n, d where revision.number = @base and scope = @scope returning weight, writer, size),
		h as (` + charge(`(select writer, size from o union all select writer, size from r where @gone) u`, `size`) + `)
		select coalesce((select n.number from d), memcore.lost()), ` + add("documents", "case when @gone then -1 when @base = 0 then 1 else 0 end") + `, ` + add("bytes", "@weight - coalesce((select weight from o), 0)") + ` from n`
	if c.Same {
		statement = `with d as (update document set indexed = @indexed, digest = @digest, model = ` + modelNumber("@model") + `, cut = @cut, xid = default
			where scope = @scope and path = @path and revision = @base returning revision)
		select coalesce((select revision from d), memcore.lost()), ` + add("documents", "0") + `, ` + add("bytes", "0")
	}
	b.Queue(statement, arguments).QueryRow(func(row pgx.Row) error {
		err := row.Scan(version, nil, nil)
		if isState(err, lostState) {
			err = fmt.Errorf("%.200q: %w", c.Path, ErrChanged)
		}
		return err
	})
	if c.Forget {
		b.Queue(`with o as (update revision set text = null where scope = $1 and path = $2 and replaced is not null and text is not null returning writer, bytes) `+charge(`o`, `-bytes`), scope, path)
	}
	if c.Gone {
		b.Queue(`delete from record where scope = $1 and path = $2`, scope, path)
		b.Queue(`delete from embedding where scope = $1 and path = $2`, scope, path)
		b.Queue(`delete from waiting where scope = $1 and path = $2`, scope, path)
		return
	}
	queueRecords(b, scope, c, w.Embedder)
	switch {
	case c.Base > 0: // records that stay count, too
		b.Queue(`update document d set chunks = n.chunks, waiting = n.waiting from (select count(*) as chunks, count(*) filter (where $3 <> ''
				and not exists (select from embedding v where v.scope = $1 and v.model = `+modelNumber("$3")+` and v.id = r.id)) as waiting from record r where r.scope = $1 and r.path = $2) n
			where d.scope = $1 and d.path = $2`, scope, path, w.Embedder)
		b.Queue(`with d as (select waiting from document where scope = $1 and path = $2), x as (delete from waiting using d where scope = $1 and path = $2 and d.waiting = 0)
			insert into waiting (scope, path) select $1, $2 from d where waiting > 0 on conflict (scope, path) do update set at = now(), taken = null`, scope, path)
	case waiting > 0:
		b.Queue(`insert into waiting (scope, path) values ($1, $2) on conflict (scope, path) do update set at = now(), taken = null`, scope, path)
	}
}

// queueRecords queues the records of a change and their vectors.
func queueRecords(b *pgx.Batch, scope int64, c Change, embedder string) {
	if len(c.Removed) > 0 {
		b.Queue(`delete from record where scope = $1 and id = any ($2)`, scope, c.Removed)
		b.Queue(`delete from embedding where scope = $1 and id = any ($2)`, scope, c.Removed)
	}
	if c.Base > 0 && len(c.Records) > 0 {
		var ids, hashes []string
		var times []*time.Time
		for _, r := range c.Records {
			ids, hashes, times = append(ids, r.ID), append(hashes, escaped(r.Hash)), append(times, timeOf(r))
		}
		b.Queue(`with n as (select * from unnest($2::text[], $3::text[], $4::timestamptz[]) n(id, hash, time)),
			other as (delete from embedding v using n, record r where v.scope = $1 and v.id = n.id and r.scope = $1 and r.id = n.id and r.hash <> n.hash)
			update embedding v set time = n.time from n, record r where v.scope = $1 and v.id = n.id and r.scope = $1 and r.id = n.id and r.hash = n.hash and v.time is distinct from n.time`,
			scope, ids, hashes, times)
	}
	for i, r := range c.Records {
		var words []byte
		if i < len(c.Words) {
			words = c.Words[i]
		}
		putRecord(b, scope, r, words)
		if r.Vector != nil && embedder != "" {
			putVector(b, scope, embedder, r, r.Vector)
		}
	}
}

func putVector(b *pgx.Batch, scope int64, embedder string, r store.Record, vector []float32) {
	b.Queue(`insert into embedding (scope, model, id, path, visibility, kind, time, vector) values ($1, `+modelNumber("$2")+`, $3, $4, $5, $6, $7, $8::real[]::vector)
		on conflict (scope, model, id) do update set path = excluded.path, visibility = excluded.visibility, kind = excluded.kind, time = excluded.time, vector = excluded.vector`,
		scope, embedder, r.ID, escaped(r.Path), escaped(r.Scope), escaped(r.Kind), timeOf(r), vector)
}

// Near its limits a tenant's writes wait for each other, since they do not see each other's growth.
// So many writes as large as one, and bytes, may come at the same moment.
const (
	writesAtOnce = 64
	bytesAtOnce  = 256 << 20
)

const quotaLocks = "7161003"

// queueLock lets the writes of a tenant that is nearly full wait for each other.
func (w Write) queueLock(b *pgx.Batch, tenant int64, documents int) {
	if w.MaxDocuments > 0 || w.MaxBytes > 0 {
		b.Queue(`select pg_advisory_xact_lock(`+quotaLocks+`, $1::bigint::integer) from (`+sumUsage+`) u(documents, bytes)
			where $2::bigint > 0 and documents + $3::bigint > $2 or $4::bigint > 0 and bytes + $5::bigint > $4`, tenant, w.MaxDocuments, writesAtOnce*documents, w.MaxBytes, bytesAtOnce)
	}
}

const (
	// shareOfWriter is what part of the room for the history a writer may have however full it is.
	shareOfWriter = "8"
	// removedAtOnce bounds what a write looks at to make room. It is more than a write adds.
	removedAtOnce = 100
)

// queueUsage adds what changed, and refuses changes that leave a tenant above its limits, unless it
// has less than before.
func (w Write) queueUsage(b *pgx.Batch, tenant int64, scopes []int64, changes int) {
	var more, now Usage
	if w.MaxBytes > 0 {
		writer, _, _ := strings.Cut(w.By, "/")
		b.Queue(`with over as (select least(sum(bytes) - $3::bigint, sum(bytes) filter (where writer = $4) - $3 / `+shareOfWriter+`) as bytes from history where tenant = $1),
			k as (select scope, number, sum(size) over (order by expires, number) - size as before from (
				select r.* from unnest($2::bigint[]) s(id) cross join lateral (select scope, number, size, expires from revision
					where scope = s.id and writer = $4 and expires is not null order by expires, number limit $5 for update skip locked) r
				where (select bytes from over) > 0) r),
			o as (delete from revision r using k, over where r.scope = k.scope and r.number = k.number and k.before < over.bytes returning r.scope, r.replaced, r.writer, r.size),
			these as (select id from scope where id in (select scope from o where replaced is not null) order by id for update),
			s as (update scope set short = greatest(short, m.replaced) from (select scope, max(replaced) as replaced from o group by scope) m where id = m.scope and id in (select id from these))
			`+charge(`o`, `-size`), tenant, scopes, w.MaxBytes, writer, removedAtOnce+2*changes)
	}
	b.Queue(`update usage set documents = documents + current_setting('memcore.documents')::bigint, bytes = bytes + current_setting('memcore.bytes')::bigint,
			last = current_setting('memcore.number')::bigint
		where tenant = $1 and part = current_setting('memcore.number')::bigint % 256
		returning current_setting('memcore.documents')::bigint, current_setting('memcore.bytes')::bigint`, tenant).QueryRow(func(row pgx.Row) error { return row.Scan(&more.Documents, &more.Bytes) })
	b.Queue(sumUsage, tenant).QueryRow(func(row pgx.Row) error {
		if err := row.Scan(&now.Documents, &now.Bytes); err != nil {
			return err
		}
		switch {
		case w.MaxDocuments > 0 && more.Documents > 0 && now.Documents > w.MaxDocuments:
			return fmt.Errorf("%w: it would have more than its %d documents", ErrFull, w.MaxDocuments)
		case w.MaxBytes > 0 && more.Bytes > 0 && now.Bytes > w.MaxBytes:
			return fmt.Errorf("%w: it would have more than its %d bytes", ErrFull, w.MaxBytes)
		}
		return nil
	})
}
