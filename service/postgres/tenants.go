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

	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/web/origin"
)

// A Tenant owns memory and shares nothing with others.
type Tenant struct {
	ID       int64 // never used again
	Name     string
	Created  time.Time
	Settings json.RawMessage // the caller's
}

// A Key of a tenant's user.
type Key struct {
	ID, User         string
	Teams            []string
	Right, Name      string
	Created, Expires time.Time // Expires is zero for never
	Hash             []byte    // of the secret; only for CreateKey
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

// CreateTenant adds a tenant.
func (db *DB) CreateTenant(ctx context.Context, name string) (Tenant, error) {
	rows, _ := db.pool.Query(ctx, `insert into tenant as t (name) values ($1) on conflict do nothing returning `+tenantColumns, name) // CollectOneRow has its error
	t, err := pgx.CollectOneRow(rows, tenantOf)
	if errors.Is(err, pgx.ErrNoRows) {
		err = kind.As(kind.Conflict, fmt.Errorf("there is a tenant %s already", name))
	}
	return t, failed(ctx, err)
}

// Tenant returns the tenant with a name.
func (db *DB) Tenant(ctx context.Context, name string) (Tenant, error) {
	rows, _ := db.pool.Query(ctx, `select `+tenantColumns+` from tenant t where name = $1`, name)
	t, err := pgx.CollectOneRow(rows, tenantOf)
	if errors.Is(err, pgx.ErrNoRows) {
		err = errNoTenant(name)
	}
	return t, failed(ctx, err)
}

// Tenants returns all tenants, by name.
func (db *DB) Tenants(ctx context.Context) ([]Tenant, error) {
	rows, _ := db.pool.Query(ctx, `select `+tenantColumns+` from tenant t order by name`)
	all, err := pgx.CollectRows(rows, tenantOf)
	return all, failed(ctx, err)
}

// SetTenant lets change change the settings of a tenant. Others wait meanwhile.
func (db *DB) SetTenant(ctx context.Context, id int64, change func(json.RawMessage) (json.RawMessage, error)) (t Tenant, err error) {
	err = pgx.BeginFunc(ctx, db.pool, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, `select `+tenantColumns+` from tenant t where id = $1 for update`, id)
		if t, err = pgx.CollectOneRow(rows, tenantOf); errors.Is(err, pgx.ErrNoRows) {
			return errNoTenant(id)
		} else if err != nil {
			return err
		}
		if t.Settings, err = change(t.Settings); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `update tenant set settings = $2 where id = $1`, id, t.Settings)
		return err
	})
	return t, failed(ctx, err)
}

// CreateKey adds a key, unless its tenant has most of them.
func (db *DB) CreateKey(ctx context.Context, tenant int64, k Key, most int) error {
	var expires *time.Time
	if !k.Expires.IsZero() {
		expires = &k.Expires
	}
	err := db.write(ctx, session{tenant: tenant}, func(b *pgx.Batch) {
		b.Queue(`select from tenant where id = $1 for update`, tenant).QueryRow(func(row pgx.Row) error { return row.Scan() })
		b.Queue(`insert into api_key (id, tenant, hash, user_name, teams, access, name, expires)
			select $1, $2, $3, $4, coalesce($5::text[], '{}'), $6, $7, $8 where (select count(*) from api_key where tenant = $2) < $9`,
			k.ID, tenant, k.Hash, k.User, k.Teams, k.Right, k.Name, expires, most).Exec(changedOne(kind.As(kind.Conflict, fmt.Errorf("the tenant has %d keys already: revoke some", most))))
	})
	if errors.Is(err, pgx.ErrNoRows) {
		err = errNoTenant(tenant)
	}
	return err
}

// Keys returns the keys of a tenant without their hashes, oldest first.
func (db *DB) Keys(ctx context.Context, tenant int64) (all []Key, err error) {
	err = db.read(ctx, session{tenant: tenant}, func(b *pgx.Batch) {
		b.Queue(`select tenant, hash, user_name, teams, access, name, created, expires, id from api_key where tenant = $1 order by created, id`, tenant).Query(func(rows pgx.Rows) error {
			all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (k Key, err error) {
				k, _, err = keyOf(row, &k.ID)
				k.Hash = nil
				return k, err
			})
			return err
		})
	})
	return all, err
}

func keyOf(row pgx.CollectableRow, id *string) (k Key, tenant int64, err error) {
	var expires *time.Time
	err = row.Scan(&tenant, &k.Hash, &k.User, &k.Teams, &k.Right, &k.Name, &k.Created, &expires, id)
	if expires != nil {
		k.Expires = expires.UTC()
	}
	k.ID, k.Created = *id, k.Created.UTC()
	return k, tenant, err
}

// RevokeKey removes a key.
func (db *DB) RevokeKey(ctx context.Context, tenant int64, id string) error {
	return db.write(ctx, session{tenant: tenant}, func(b *pgx.Batch) {
		b.Queue(`delete from api_key where tenant = $1 and id = $2`, tenant, id).Exec(changedOne(kind.As(kind.NotFound, fmt.Errorf("the tenant has no key %.80q", id))))
	})
}

// ErrKey means that a key is unknown, expired or of another tenant.
var ErrKey = errors.New("the key is unknown, expired or of another tenant")

// ByKey returns the owner of a key with the hash of its secret.
func (db *DB) ByKey(ctx context.Context, tenant, id string, hash []byte) (p Principal, k Key, err error) {
	b := &pgx.Batch{}
	b.Queue(`select `+tenantColumns+`, k.hash, k.user_name, k.teams, k.access, k.name, k.created, k.expires,
		(select coalesce(json_agg(json_build_object('ID', s.id, 'Kind', s.kind, 'Name', s.name)), '[]') from memcore.scopes(k.tenant, k.user_name, k.teams) s)
		from memcore.key($1, $2) k join tenant t on t.id = k.tenant`, tenant, id).QueryRow(func(row pgx.Row) error {
		var expires *time.Time
		err := row.Scan(&p.Tenant.ID, &p.Tenant.Name, &p.Tenant.Created, &p.Tenant.Settings, &k.Hash, &k.User, &k.Teams, &k.Right, &k.Name, &k.Created, &expires, &p.Scopes)
		if expires != nil {
			k.Expires = expires.UTC()
		}
		return err
	})
	err = db.pool.SendBatch(ctx, b).Close()
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !origin.IsToken(string(hash), string(k.Hash)) {
		return Principal{}, Key{}, ErrKey
	}
	k.ID, k.Hash, p.User, p.Teams = id, nil, k.User, k.Teams
	return p, k, failed(ctx, err)
}

// ByName returns a user whom the caller knows otherwise, such as by a token of an issuer.
func (db *DB) ByName(ctx context.Context, tenant, user string, teams []string) (Principal, error) {
	p := Principal{User: user, Teams: teams}
	err := db.pool.QueryRow(ctx, `select `+tenantColumns+`, (select coalesce(json_agg(json_build_object('ID', s.id, 'Kind', s.kind, 'Name', s.name)), '[]') from memcore.scopes(t.id, $2, $3) s)
		from tenant t where t.name = $1`, tenant, user, teams).Scan(&p.Tenant.ID, &p.Tenant.Name, &p.Tenant.Created, &p.Tenant.Settings, &p.Scopes)
	if errors.Is(err, pgx.ErrNoRows) {
		err = errNoTenant(tenant)
	}
	return p, failed(ctx, err)
}

// TenantScopes returns all scopes of a tenant.
func (db *DB) TenantScopes(ctx context.Context, tenant int64) (all []Scope, err error) {
	err = db.read(ctx, session{tenant: tenant}, func(b *pgx.Batch) {
		b.Queue(`select id, kind, name from scope where tenant = $1 order by id`, tenant).Query(func(rows pgx.Rows) error {
			all, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Scope])
			return err
		})
	})
	return all, err
}

// DeleteTenant removes a tenant with all that it has.
func (db *DB) DeleteTenant(ctx context.Context, id int64) error {
	return db.deleteScopes(ctx, id, "", "", func(b *pgx.Batch) {
		b.Queue(`delete from usage where tenant = $1`, id)
		b.Queue(`delete from tenant where id = $1`, id).Exec(changedOne(errNoTenant(id)))
	})
}

// DeleteUser removes a user's own documents, with their history, and keys.
func (db *DB) DeleteUser(ctx context.Context, tenant int64, user string) error {
	return db.deleteScopes(ctx, tenant, User, user, func(b *pgx.Batch) {
		b.Queue(`delete from api_key where tenant = $1 and user_name = $2`, tenant, user)
	})
}

// DeleteTeam removes the documents of a team, with their history. Keys lose the team.
func (db *DB) DeleteTeam(ctx context.Context, tenant int64, team string) error {
	return db.deleteScopes(ctx, tenant, Team, team, func(b *pgx.Batch) {
		b.Queue(`update api_key set teams = array_remove(teams, $2) where tenant = $1 and $2 = any (teams)`, tenant, team)
	})
}

// contentTables have a column scope.
var contentTables = []string{"embedding", "record", "waiting", "removal", "document", "revision"}

// deleteScopes removes a scope of a tenant, or all of them for the kind "", and what then does.
func (db *DB) deleteScopes(ctx context.Context, tenant int64, of ScopeKind, name string, then func(*pgx.Batch)) error {
	return db.write(ctx, session{tenant: tenant}, func(b *pgx.Batch) {
		b.Queue(fmt.Sprintf(`set local statement_timeout = %d`, maxStatement.Milliseconds()))
		b.Queue(lockTenant, tenant)
		b.Queue(`select set_config('memcore.scopes', (select coalesce(array_agg(id), '{}')::text from scope
			where tenant = $1 and ($2 = '' or kind = $2 and name = $3)), true)`, tenant, of, name)
		const these = `scope = any (current_setting('memcore.scopes')::bigint[])`
		b.Queue(`insert into usage select $1, 0, -count(*), -coalesce(sum(r.bytes), 0) from document d join revision r on r.number = d.revision where d.`+these+addUsage, tenant)
		for _, table := range contentTables {
			b.Queue(`delete from ` + table + ` where ` + these)
		}
		b.Queue(`delete from scope where id = any (current_setting('memcore.scopes')::bigint[])`)
		then(b)
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
	return func(tag pgconn.CommandTag) error {
		if tag.RowsAffected() == 0 {
			return otherwise
		}
		return nil
	}
}
