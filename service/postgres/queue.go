package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/memcore/memcore/store"
)

// A Job is a document some of whose records have no vector yet.
type Job struct {
	Tenant   Tenant
	Scope    int64
	Path     string
	Version  int64
	Embedder string         // fingerprint of the one to use
	Records  []store.Record // those without a vector

	taken time.Time
}

// Pending takes at most n documents, of tenants and scopes in turn, so that one who writes much
// holds up no other. Of a scope the newest come first, and those that were taken before only after
// all others. No other node gets them before the lease is over: Hold what takes long. A job without
// records has all its vectors, of an embedder that the tenant had before: call Embedded.
func (db *DB) Pending(ctx context.Context, n int, lease time.Duration) (jobs []Job, err error) {
	rows, _ := db.pool.Query(ctx, `select n.scope, n.path, n.taken, `+tenantColumns+` from memcore.take($1, $2) n join tenant t on t.id = n.tenant`, n, lease) // CollectRows has its error
	jobs, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (j Job, err error) {
		err = row.Scan(&j.Scope, &j.Path, &j.taken, &j.Tenant.ID, &j.Tenant.Name, &j.Tenant.Created, &j.Tenant.Settings)
		j.Path = unescaped(j.Path)
		return j, err
	})
	failing := map[int64]bool{} // tenants; those of others go on
	for i := range jobs {
		if of := jobs[i].Tenant.ID; !failing[of] {
			one := db.fill(ctx, &jobs[i])
			failing[of], err = one != nil, errors.Join(err, one)
		}
	}
	return slices.DeleteFunc(jobs, func(j Job) bool { return j.Version == 0 }), failed(ctx, err) // 0: it was removed meanwhile
}

// errNotHeld ends the work on a job that another node has, or whose document has changed.
var errNotHeld = errors.New("the job is no longer this node's")

// Hold calls do with a context that ends once the job is another's, and renews its lease meanwhile.
// What do returns then does not count: who has the job does it, or it is no more.
func (db *DB) Hold(ctx context.Context, j Job, lease time.Duration, do func(context.Context) error) error {
	ctx, release := context.WithCancelCause(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() {
		every := time.NewTicker(lease / 3)
		defer every.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-every.C:
			}
			if err := db.renew(ctx, &j); errors.Is(err, pgx.ErrNoRows) {
				release(errNotHeld)
			}
		}
	})
	err := do(ctx)
	lost := errors.Is(context.Cause(ctx), errNotHeld)
	release(nil)
	renewing.Wait()
	if lost {
		return nil
	}
	return err
}

// renew takes a job again from where it was taken.
func (db *DB) renew(ctx context.Context, j *Job) error {
	return db.write(ctx, session{j.Tenant.ID, []int64{j.Scope}}, func(b *pgx.Batch) {
		b.Queue(`update waiting set taken = clock_timestamp() where scope = $1 and path = $2 and taken = $3 returning taken`, j.Scope, escaped(j.Path), j.taken).
			QueryRow(func(row pgx.Row) error { return row.Scan(&j.taken) })
	})
}

// fill reads the records of a job.
func (db *DB) fill(ctx context.Context, j *Job) error {
	return db.read(ctx, session{j.Tenant.ID, []int64{j.Scope}}, func(b *pgx.Batch) {
		b.Queue(`select d.revision, coalesce(m.fingerprint, '') from document d left join model m on m.id = d.model where d.scope = $1 and d.path = $2`, j.Scope, escaped(j.Path)).Query(func(rows pgx.Rows) error {
			_, err := pgx.ForEachRow(rows, []any{&j.Version, &j.Embedder}, func() error { return nil })
			return err
		})
		b.Queue(`select `+recordColumns+` from record r join document d using (scope, path) where r.scope = $1 and r.path = $2
			and not exists (select from embedding v where v.scope = r.scope and v.model = d.model and v.id = r.id) order by r.start_line, r.id`, j.Scope, escaped(j.Path)).Query(func(rows pgx.Rows) (err error) {
			j.Records, err = pgx.CollectRows(rows, recordOf)
			return err
		})
	})
}

// Embedded keeps the vectors of a job's records, by ID; records without one are set aside until the
// document changes. If it has changed meanwhile, nothing is kept.
func (db *DB) Embedded(ctx context.Context, j Job, vectors map[string][]float32) error {
	path := escaped(j.Path)
	return db.write(ctx, session{j.Tenant.ID, []int64{j.Scope}}, func(b *pgx.Batch) {
		b.Queue(shareTenant, j.Tenant.ID)
		// Who changes the document waits from here on, or has done so before: then it is not this
		// version.
		b.Queue(`update document set waiting = 0, xid = default where scope = $1 and path = $2 and revision = $3 and model is not distinct from `+modelNumber("$4"), j.Scope, path, j.Version, j.Embedder)
		unchanged := ` from document d where d.scope = $1 and d.path = $2 and d.revision = $3 and d.model is not distinct from ` + modelNumber("$4")
		for _, r := range j.Records {
			if vector := vectors[r.ID]; vector != nil {
				b.Queue(`insert into embedding (scope, model, id, path, visibility, kind, time, vector) select d.scope, d.model, $5, d.path, $6, $7, $8, $9::real[]::vector`+unchanged+` on conflict do nothing`,
					j.Scope, path, j.Version, j.Embedder, r.ID, escaped(r.Scope), escaped(r.Kind), timeOf(r), vector)
			}
		}
		b.Queue(`delete from embedding v using (select d.model`+unchanged+`) n where v.scope = $1 and v.path = $2 and v.model is distinct from n.model`, j.Scope, path, j.Version, j.Embedder)
		b.Queue(`delete from waiting w where w.scope = $1 and w.path = $2 and exists (select`+unchanged+`)`, j.Scope, path, j.Version, j.Embedder)
	})
}

// Requeue lets all documents of a tenant be embedded with another embedder, and returns how many.
// Until one is, words find it.
func (db *DB) Requeue(ctx context.Context, tenant int64, embedder string) (n int, err error) {
	scopes, err := db.Tenants().Scopes(ctx, tenant)
	if err != nil {
		return 0, err
	}
	ids := idsOf(scopes)
	return n, db.write(ctx, session{tenant, ids}, func(b *pgx.Batch) {
		b.Queue(fmt.Sprintf(`set local statement_timeout = %d`, maxStatement.Milliseconds()))
		b.Queue(shareTenant, tenant)
		queueModel(b, embedder)
		// Documents are locked in the order of writes, which would wait for this one, and this for
		// them.
		b.Queue(`with k as (select scope, path from document where scope = any ($1) and model is distinct from `+modelNumber("$2")+` and indexed is not null order by scope, path for update),
			d as (update document d set model = `+modelNumber("$2")+`, waiting = chunks, xid = default from k where d.scope = k.scope and d.path = k.path returning d.scope, d.path, d.chunks),
			w as (insert into waiting (scope, path) select scope, path from d where chunks > 0 on conflict (scope, path) do update set at = now(), taken = null)
			select count(*) from d`, ids, embedder).QueryRow(func(row pgx.Row) error { return row.Scan(&n) })
	})
}

// A Cut is what made records of documents of a tenant (Write.Cut).
type Cut struct {
	Tenant Tenant
	By     string
}

// Cuts returns by what the records of all documents were made. It looks at all of them.
func (db *DB) Cuts(ctx context.Context) ([]Cut, error) {
	rows, _ := db.pool.Query(ctx, `select c.cut, `+tenantColumns+` from memcore.cuts() c join tenant t on t.id = c.tenant`) // CollectRows has its error
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c Cut, err error) {
		return c, row.Scan(&c.By, &c.Tenant.ID, &c.Tenant.Name, &c.Tenant.Created, &c.Tenant.Settings)
	})
	return all, failed(ctx, err)
}

// CutOtherwise returns, with their texts, at most n documents of a scope after a path, by path, whose
// records were not made by a cut.
func (db *DB) CutOtherwise(ctx context.Context, tenant int64, s Scope, cut, after string, n int) (all []Document, err error) {
	err = db.read(ctx, session{tenant, []int64{s.ID}}, func(b *pgx.Batch) {
		b.Queue(`select d.path, d.revision, r.text, r.at from document d join revision r on r.scope = d.scope and r.number = d.revision
			where d.scope = $1 and d.cut <> $2 and d.path > $3 order by d.path limit $4`, s.ID, cut, escaped(after), n).Query(func(rows pgx.Rows) error {
			var d Document
			_, err := pgx.ForEachRow(rows, []any{&d.Path, &d.Version, &d.Text, &d.At}, func() error {
				all = append(all, Document{Path: unescaped(d.Path), Version: d.Version, Text: unescaped(d.Text), At: d.At.UTC()})
				return nil
			})
			return err
		})
	})
	return all, err
}
