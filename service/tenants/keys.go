package tenants

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service"
	"github.com/memcore/memcore/service/oidc"
	"github.com/memcore/memcore/service/postgres"
)

// keyMark begins every API key, for scanners of secrets.
const keyMark = "mck"

// Bounds of keys.
const (
	maxKeys    = 1000 // of a tenant
	maxKeyName = 200  // in bytes
)

// Keys implements service.Keys.
type Keys struct {
	db     *postgres.DB
	tokens *oidc.Verifier // nil for none
	log    *slog.Logger
}

// NewKeys returns the keys of all tenants. With tokens, those of an issuer count, too; it may be nil.
func NewKeys(db *postgres.DB, tokens *oidc.Verifier, log *slog.Logger) Keys {
	return Keys{db, tokens, log}
}

// Authenticate implements service.Keys.
func (all Keys) Authenticate(ctx context.Context, tenant, secret string) (p service.Principal, err error) {
	if all.tokens != nil && oidc.IsToken(secret) {
		p, err = all.withToken(ctx, tenant, secret)
	} else {
		p, err = all.withKey(ctx, tenant, secret)
	}
	return p, hide(all.log, err)
}

// withKey returns the principal of a key of a tenant.
func (all Keys) withKey(ctx context.Context, tenant, secret string) (p service.Principal, err error) {
	parts := strings.Split(secret, "_")
	if len(parts) != 3 || parts[0] != keyMark || checkName("tenant", tenant) != nil || checkName("key", parts[1]) != nil {
		return p, service.ErrKey
	}
	of, k, err := all.db.Keys().Owner(ctx, tenant, parts[1], hashOf(parts[2]))
	if errors.Is(err, postgres.ErrKey) {
		err = service.ErrKey
	}
	if err != nil {
		return p, err
	}
	return principalOf(of, k.ID, service.Right(k.Right), k.Expires)
}

func principalOf(of postgres.Principal, key string, right service.Right, expires time.Time) (service.Principal, error) {
	s, err := settingsOf(of.Tenant)
	return service.Principal{Tenant: of.Tenant.Name, User: of.User, Teams: of.Teams, Of: of, Key: key, Right: right, Expires: expires, Settings: s}, err
}

func hashOf(secret string) []byte {
	sum := sha256.Sum256([]byte(secret)) // of 128 random bits: no slow hash is needed
	return sum[:]
}

// AsOperator implements service.Keys.
func (all Keys) AsOperator(ctx context.Context, tenant string) (service.Principal, error) {
	if checkName("tenant", tenant) != nil {
		return service.Principal{}, errNoTenant(tenant)
	}
	of, err := all.db.Keys().ByName(ctx, tenant, service.Operator, nil)
	if kind.Of(err) == kind.NotFound {
		return service.Principal{}, errNoTenant(tenant)
	}
	if err != nil {
		return service.Principal{}, hide(all.log, err)
	}
	p, err := principalOf(of, "operator", service.Admin, time.Time{})
	return p, hide(all.log, err)
}

// Create implements service.Keys. The answer has the secret, which is not stored.
func (all Keys) Create(ctx context.Context, p service.Principal, k service.Key) (service.Key, error) {
	teams, err := teamsOf(k.Teams)
	if err := cmp.Or(checkName("user", k.User), err); err != nil {
		return service.Key{}, err
	}
	switch {
	case k.Tenant != "" && k.Tenant != p.Tenant:
		return service.Key{}, kind.As(kind.Forbidden, errors.New("the key is for another tenant"))
	case !slices.Contains(service.AllRights, k.Right):
		return service.Key{}, kind.Usagef("right is %.80q, want one of %q", k.Right, service.AllRights)
	case len(k.Name) > maxKeyName || !isPrintable(k.Name):
		return service.Key{}, kind.Usagef("the name of the key is %.80q, want at most %d bytes that can be printed", k.Name, maxKeyName)
	case !k.Expires.IsZero() && !k.Expires.After(time.Now()):
		return service.Key{}, kind.Usagef("the key would have expired at %s", k.Expires.Format(time.RFC3339))
	}
	secret := strings.ToLower(rand.Text())
	k.Tenant, k.Teams, k.ID = p.Tenant, teams, strings.ToLower(rand.Text()[:12])
	k.Created, k.Secret = time.Now().UTC().Truncate(time.Second), ""
	err = all.db.Keys().Create(ctx, p.Of.Tenant.ID, postgres.Key{ID: k.ID, User: k.User, Teams: teams, Right: string(k.Right), Name: k.Name, Created: k.Created, Expires: k.Expires, Hash: hashOf(secret)}, maxKeys)
	if kind.Of(err) == kind.Conflict {
		err = kind.As(kind.Conflict, fmt.Errorf("tenant %s has %d keys already: revoke some", k.Tenant, maxKeys))
	}
	if err != nil {
		return service.Key{}, hide(all.log, err)
	}
	k.Secret = strings.Join([]string{keyMark, k.ID, secret}, "_")
	return k, nil
}

// List implements service.Keys.
func (all Keys) List(ctx context.Context, p service.Principal) ([]service.Key, error) {
	known, err := all.db.Keys().List(ctx, p.Of.Tenant.ID)
	listed := []service.Key{}
	for _, k := range known {
		listed = append(listed, service.Key{ID: k.ID, Tenant: p.Tenant, User: k.User, Teams: k.Teams, Right: service.Right(k.Right), Name: k.Name, Created: k.Created, Expires: k.Expires})
	}
	return listed, hide(all.log, err)
}

// Revoke implements service.Keys.
func (all Keys) Revoke(ctx context.Context, p service.Principal, id string) error {
	err := checkName("key", id)
	if err == nil {
		err = all.db.Keys().Revoke(ctx, p.Of.Tenant.ID, id)
	}
	if known := kind.Of(err); known == kind.NotFound || known == kind.BadInput { // no key has an odd ID
		err = kind.As(kind.NotFound, fmt.Errorf("tenant %s has no key %.80q", p.Tenant, id))
	}
	return hide(all.log, err)
}
