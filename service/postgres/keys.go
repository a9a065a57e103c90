package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/web/origin"
)

// A Key of a tenant's user.
type Key struct {
	ID, User         string
	Teams            []string
	Right, Name      string
	Created, Expires time.Time // Expires is zero for never
	Hash             []byte    // of the secret; only for Create
}

// Keys are those of a database's tenants.
type Keys struct{ db *DB }

// Keys returns what says who asks.
func (db *DB) Keys() Keys { return Keys{db} }

// Create adds a key, unless its tenant has most of them.
func (all Keys) Create(ctx context.Context, tenant int64, k Key, most int) error {
	var expires *time.Time
	if !k.Expires.IsZero() {
		expires = &k.Expires
	}
	err := all.db.write(ctx, session{tenant: tenant}, func(b *pgx.Batch) {
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

// List returns the keys of a tenant without their hashes, oldest first.
func (all Keys) List(ctx context.Context, tenant int64) (listed []Key, err error) {
	err = all.db.read(ctx, session{tenant: tenant}, func(b *pgx.Batch) {
		b.Queue(`select tenant, hash, user_name, teams, access, name, created, expires, id from api_key where tenant = $1 order by created, id`, tenant).Query(func(rows pgx.Rows) error {
			listed, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (k Key, err error) {
				k, _, err = keyOf(row, &k.ID)
				k.Hash = nil
				return k, err
			})
			return err
		})
	})
	return listed, err
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

// Revoke removes a key.
func (all Keys) Revoke(ctx context.Context, tenant int64, id string) error {
	return all.db.write(ctx, session{tenant: tenant}, func(b *pgx.Batch) {
		b.Queue(`delete from api_key where tenant = $1 and id = $2`, tenant, id).Exec(changedOne(kind.As(kind.NotFound, fmt.Errorf("the tenant has no key %.80q", id))))
	})
}

// ErrKey means that a key is unknown, expired or of another tenant.
var ErrKey = errors.New("the key is unknown, expired or of another tenant")

// Owner returns whose key it is, by the hash of its secret.
func (all Keys) Owner(ctx context.Context, tenant, id string, hash []byte) (p Principal, k Key, err error) {
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
	err = all.db.pool.SendBatch(ctx, b).Close()
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !origin.IsToken(string(hash), string(k.Hash)) {
		return Principal{}, Key{}, ErrKey
	}
	k.ID, k.Hash, p.User, p.Teams = id, nil, k.User, k.Teams
	return p, k, failed(ctx, err)
}

// ByName returns a user whom the caller knows otherwise, such as by a token of an issuer.
func (all Keys) ByName(ctx context.Context, tenant, user string, teams []string) (Principal, error) {
	p := Principal{User: user, Teams: teams}
	err := all.db.pool.QueryRow(ctx, `select `+tenantColumns+`, (select coalesce(json_agg(json_build_object('ID', s.id, 'Kind', s.kind, 'Name', s.name)), '[]') from memcore.scopes(t.id, $2, $3) s)
		from tenant t where t.name = $1`, tenant, user, teams).Scan(&p.Tenant.ID, &p.Tenant.Name, &p.Tenant.Created, &p.Tenant.Settings, &p.Scopes)
	if errors.Is(err, pgx.ErrNoRows) {
		err = errNoTenant(tenant)
	}
	return p, failed(ctx, err)
}
