package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/memcore/memcore/internal/kind"
)

// A Tenant owns memory and shares nothing with others.
type Tenant struct {
	ID       int64 // never used again
	Name     string
	Created  time.Time
	Settings json.RawMessage // the caller's
}

// A ScopeKind says who shares a scope.
type ScopeKind string

// Kinds of scopes.
const (
	Shared ScopeKind = "shared" // by all users of a tenant
	Team   ScopeKind = "team"
	User   ScopeKind = "user" // by nobody
)

// A Scope has documents that the same people see. It is made by the first write.
type Scope struct {
	ID   int64
	Kind ScopeKind
	Name string // of the team or user
}

// A Principal sees some scopes of a tenant.
type Principal struct {
	Tenant Tenant
	User   string
	Teams  []string
	Scopes []Scope
}

func (p Principal) session() session { return session{p.Tenant.ID, idsOf(p.Scopes)} }

func idsOf(scopes []Scope) []int64 {
	ids := make([]int64, len(scopes))
	for i, s := range scopes {
		ids[i] = s.ID
	}
	return ids
}

// scopeOf returns the scope of a path as the principal sees it, without an ID if nobody has written
// to it.
func (p Principal) scopeOf(path string) (Scope, error) {
	s := Scope{Kind: Shared}
	if team, _, ofTeam := strings.Cut(path, "/"); ofTeam && strings.HasPrefix(team, "@") {
		s = Scope{Kind: Team, Name: team[1:]}
		if !slices.Contains(p.Teams, s.Name) {
			return s, kind.As(kind.Forbidden, fmt.Errorf("%.200q: you are in no team %.80q", path, s.Name))
		}
	} else if strings.HasPrefix(path, "~/") {
		s = Scope{Kind: User, Name: p.User}
	}
	if i := slices.IndexFunc(p.Scopes, func(known Scope) bool { return known.Kind == s.Kind && known.Name == s.Name }); i >= 0 {
		return p.Scopes[i], nil
	}
	return s, nil
}

const tenantColumns = `t.id, t.name, t.created, t.settings`

func tenantOf(row pgx.CollectableRow) (t Tenant, err error) {
	err = row.Scan(&t.ID, &t.Name, &t.Created, &t.Settings)
	t.Created = t.Created.UTC()
	return t, err
}

func errNoTenant(name any) error {
	return kind.As(kind.NotFound, fmt.Errorf("there is no tenant %.80v", name))
}

// Tenants are those of a database.
type Tenants struct{ db *DB }

// Tenants returns who has memory here.
func (db *DB) Tenants() Tenants { return Tenants{db} }

// Create adds a tenant.
func (all Tenants) Create(ctx context.Context, name string) (t Tenant, err error) {
	err = all.db.write(ctx, session{}, func(b *pgx.Batch) {
		b.Queue(`insert into tenant as t (name) values ($1) on conflict do nothing returning `+tenantColumns, name).Query(func(rows pgx.Rows) error {
			t, err = pgx.CollectOneRow(rows, tenantOf)
			return err
		})
	})
	if errors.Is(err, pgx.ErrNoRows) {
		err = kind.As(kind.Conflict, fmt.Errorf("there is a tenant %s already", name))
	}
	return t, failed(ctx, err)
}

// Get returns the tenant with a name.
func (all Tenants) Get(ctx context.Context, name string) (Tenant, error) {
	rows, _ := all.db.pool.Query(ctx, `select `+tenantColumns+` from tenant t where name = $1`, name)
	t, err := pgx.CollectOneRow(rows, tenantOf)
	if errors.Is(err, pgx.ErrNoRows) {
		err = errNoTenant(name)
	}
	return t, failed(ctx, err)
}

// List returns all tenants, by name.
func (all Tenants) List(ctx context.Context) ([]Tenant, error) {
	rows, _ := all.db.pool.Query(ctx, `select `+tenantColumns+` from tenant t order by name`)
	listed, err := pgx.CollectRows(rows, tenantOf)
	return listed, failed(ctx, err)
}

// Set lets change change the settings of a tenant. Others wait meanwhile.
func (all Tenants) Set(ctx context.Context, id int64, change func(json.RawMessage) (json.RawMessage, error)) (t Tenant, err error) {
	err = all.db.inTransaction(ctx, session{}, "", func(c *pgxpool.Conn) error {
		rows, _ := c.Query(ctx, `select `+tenantColumns+` from tenant t where id = $1 for update`, id)
		if t, err = pgx.CollectOneRow(rows, tenantOf); errors.Is(err, pgx.ErrNoRows) {
			return errNoTenant(id)
		} else if err != nil {
			return err
		}
		if t.Settings, err = change(t.Settings); err != nil {
			return err
		}
		if _, err = c.Exec(ctx, `update tenant set settings = $2 where id = $1`, id, t.Settings); err != nil {
			return err
		}
		return all.db.commit(ctx, c)
	})
	return t, err
}

// Scopes returns all scopes of a tenant.
func (all Tenants) Scopes(ctx context.Context, tenant int64) (scopes []Scope, err error) {
	err = all.db.read(ctx, session{tenant: tenant}, func(b *pgx.Batch) {
		b.Queue(`select id, kind, name from scope where tenant = $1 order by id`, tenant).Query(func(rows pgx.Rows) error {
			scopes, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Scope])
			return err
		})
	})
	return scopes, err
}

// Delete removes a tenant with all that it has.
func (all Tenants) Delete(ctx context.Context, id int64) error {
	return all.deleteScopes(ctx, id, "", "", func(b *pgx.Batch, _ *int64) {
		b.Queue(`delete from usage where tenant = $1`, id)
		b.Queue(`delete from history where tenant = $1`, id)
		b.Queue(`delete from tenant where id = $1`, id).Exec(changedOne(errNoTenant(id)))
	})
}

// DeleteUser removes a user's own documents, with their history, and keys.
func (all Tenants) DeleteUser(ctx context.Context, tenant int64, user string) error {
	return all.deleteScopes(ctx, tenant, User, user, func(b *pgx.Batch, scopes *int64) {
		b.Queue(`delete from api_key where tenant = $1 and user_name = $2`, tenant, user).Exec(changedOneOr(scopes, errNothing(User, user)))
	})
}

// DeleteTeam removes the documents of a team, with their history. Keys lose the team.
func (all Tenants) DeleteTeam(ctx context.Context, tenant int64, team string) error {
	return all.deleteScopes(ctx, tenant, Team, team, func(b *pgx.Batch, scopes *int64) {
		b.Queue(`update api_key set teams = array_remove(teams, $2) where tenant = $1 and $2 = any (teams)`, tenant, team).Exec(changedOneOr(scopes, errNothing(Team, team)))
	})
}

// errNothing is for a name that may be a slip of the pen.
func errNothing(of ScopeKind, name string) error {
	return kind.As(kind.NotFound, fmt.Errorf("the tenant has no document and no key of the %s %s", of, name))
}

// contentTables have a column scope.
var contentTables = []string{"embedding", "record", "waiting", "removal", "document"}

// deleteScopes removes a scope of a tenant, or all of them for the kind "", and what then does, which
// learns how many there were.
func (all Tenants) deleteScopes(ctx context.Context, tenant int64, of ScopeKind, name string, then func(b *pgx.Batch, scopes *int64)) error {
	scopes := new(int64)
	return all.db.write(ctx, session{tenant: tenant}, func(b *pgx.Batch) {
		b.Queue(fmt.Sprintf(`set local statement_timeout = %d`, maxStatement.Milliseconds()))
		b.Queue(lockTenant, tenant)
		b.Queue(`select set_config('memcore.scopes', (select coalesce(array_agg(id), '{}')::text from scope
			where tenant = $1 and ($2 = '' or kind = $2 and name = $3)), true)`, tenant, of, name)
		const these = `scope = any (current_setting('memcore.scopes')::bigint[])`
		b.Queue(`select set_config('memcore.number', '0', true)`) // nobody else writes
		b.Queue(`with r as (delete from revision where `+these+` returning weight, writer, size, expires),
			h as (`+charge(`r where expires is not null`, `-size`)+`)
			insert into usage (tenant, part, documents, bytes) select $1, 0, -count(*), -coalesce(sum(weight), 0) from r where expires is null
			on conflict (tenant, part) do update set documents = usage.documents + excluded.documents, bytes = usage.bytes + excluded.bytes`, tenant)
		for _, table := range contentTables {
			b.Queue(`delete from ` + table + ` where ` + these)
		}
		b.Queue(`delete from scope where id = any (current_setting('memcore.scopes')::bigint[])`).Exec(func(tag pgconn.CommandTag) error {
			*scopes = tag.RowsAffected()
			return nil
		})
		then(b, scopes)
	})
}

// Who writes shares the lock of a tenant with others who write, so that nothing of a tenant or
// scope is left when it is deleted.
const (
	tenantLocks = "7161002"
	lockTenant  = `select pg_advisory_xact_lock(` + tenantLocks + `, $1::bigint::integer)`
	shareTenant = `select pg_advisory_xact_lock_shared(` + tenantLocks + `, $1::bigint::integer)`
)

// changedOne returns an error unless a statement changed a row.
func changedOne(otherwise error) func(pgconn.CommandTag) error {
	return changedOneOr(new(int64), otherwise)
}

// changedOneOr is changedOne that counts other rows, too.
func changedOneOr(others *int64, otherwise error) func(pgconn.CommandTag) error {
	return func(tag pgconn.CommandTag) error {
		if *others+tag.RowsAffected() == 0 {
			return otherwise
		}
		return nil
	}
}
