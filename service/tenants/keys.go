package tenants

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service"
	"github.com/memcore/memcore/service/postgres"
)

// keyMark begins every API key, for scanners of secrets.
const keyMark = "mck"

// Bounds of keys.
const (
	maxKeys    = 1000 // of a tenant
	maxKeyName = 200  // in bytes
)

// withKey returns the principal of a key of a tenant.
func (n *Node) withKey(ctx context.Context, tenant, secret string) (p service.Principal, err error) {
	parts := strings.Split(secret, "_")
	if len(parts) != 3 || parts[0] != keyMark || checkName("tenant", tenant) != nil || checkName("key", parts[1]) != nil {
		return p, service.ErrKey
	}
	of, k, err := n.o.DB.ByKey(ctx, tenant, parts[1], hashOf(parts[2]))
	if errors.Is(err, postgres.ErrKey) {
		err = service.ErrKey
	}
	if err != nil {
		return p, err
	}
	return principalOf(of, k.ID, service.Right(k.Right), k.Expires), nil
}

func principalOf(of postgres.Principal, key string, right service.Right, expires time.Time) service.Principal {
	return service.Principal{Tenant: of.Tenant.Name, User: of.User, Teams: of.Teams, Of: of, Key: key, Right: right, Expires: expires}
}

func hashOf(secret string) []byte {
	sum := sha256.Sum256([]byte(secret)) // of 128 random bits: no slow hash is needed
	return sum[:]
}

// tenantOf returns a tenant with its settings.
func tenantOf(t postgres.Tenant) (service.Tenant, error) {
	s, err := settingsOf(t)
	return service.Tenant{Name: t.Name, Created: t.Created, Settings: s}, err
}

// settingsOf returns the settings of a tenant.
func settingsOf(t postgres.Tenant) (s service.Settings, err error) {
	if len(t.Settings) > 0 {
		if err = json.Unmarshal(t.Settings, &s); err != nil {
			err = fmt.Errorf("settings of tenant %s: %w", t.Name, err)
		}
	}
	return s, err
}

// Tenants implements service.Node.
func (n *Node) Tenants(ctx context.Context) ([]service.Tenant, error) {
	known, err := n.o.DB.Tenants(ctx)
	all := []service.Tenant{}
	for _, t := range known {
		one, errSettings := tenantOf(t)
		all, err = append(all, one), errors.Join(err, errSettings)
	}
	return all, hide(n.o.Logger, err)
}

// tenant returns a tenant by its name.
func (n *Node) tenant(ctx context.Context, name string) (postgres.Tenant, error) {
	if checkName("tenant", name) != nil {
		return postgres.Tenant{}, errNoTenant(name)
	}
	t, err := n.o.DB.Tenant(ctx, name)
	if kind.Of(err) == kind.NotFound {
		err = errNoTenant(name)
	}
	return t, hide(n.o.Logger, err)
}

// errNoTenant is the error for a name without a tenant.
func errNoTenant(name string) error {
	return kind.Hint(kind.As(kind.NotFound, fmt.Errorf("there is no tenant %.80q", name)), "'memcore-service tenant list' lists them")
}

// CreateTenant implements service.Node.
func (n *Node) CreateTenant(ctx context.Context, name string) (service.Tenant, error) {
	if err := checkName("tenant", name); err != nil {
		return service.Tenant{}, err
	}
	t, err := n.o.DB.CreateTenant(ctx, name)
	if kind.Of(err) == kind.Conflict {
		err = kind.As(kind.Conflict, fmt.Errorf("there is a tenant %s already", name))
	}
	if err != nil {
		return service.Tenant{}, hide(n.o.Logger, err)
	}
	return tenantOf(t)
}

// SetTenant implements service.Node.
func (n *Node) SetTenant(ctx context.Context, name string, change func(*service.Settings) error) (service.Tenant, error) {
	t, err := n.tenant(ctx, name)
	if err != nil {
		return service.Tenant{}, err
	}
	var s service.Settings
	t, err = n.o.DB.SetTenant(ctx, t.ID, func(was json.RawMessage) (json.RawMessage, error) {
		if s, err = settingsOf(postgres.Tenant{Name: name, Settings: was}); err != nil {
			return nil, err
		}
		before := s.Embedder
		if err := cmp.Or(change(&s), check(s)); err != nil {
			return nil, err
		}
		if s.Embedder != before {
			if err := n.checkInstalled(s); err != nil {
				return nil, err
			}
		}
		return json.Marshal(s)
	})
	if err == nil {
		err = n.requeue(ctx, t)
	}
	if err != nil {
		return service.Tenant{}, hide(n.o.Logger, err)
	}
	return service.Tenant{Name: t.Name, Created: t.Created, Settings: s}, nil
}

// requeue lets the documents of a tenant get vectors of its embedder, and passages of its size.
func (n *Node) requeue(ctx context.Context, t postgres.Tenant) error {
	m, err := n.modelFor(t)
	if err != nil {
		return err
	}
	changed, err := n.o.DB.Requeue(ctx, t.ID, m.fingerprint())
	if changed > 0 {
		select {
		case n.recutting <- struct{}{}:
		default: // it is asked for already
		}
	}
	return err
}

// DeleteTenant implements service.Node.
func (n *Node) DeleteTenant(ctx context.Context, name string) error {
	t, err := n.tenant(ctx, name)
	if err != nil {
		return err
	}
	return hide(n.o.Logger, n.o.DB.DeleteTenant(ctx, t.ID))
}

// DeleteTeam implements service.Node.
func (n *Node) DeleteTeam(ctx context.Context, p service.Principal, team string) error {
	if err := checkName("team", team); err != nil {
		return err
	}
	return hide(n.o.Logger, n.o.DB.DeleteTeam(ctx, p.Of.Tenant.ID, team))
}

// DeleteUser implements service.Node.
func (n *Node) DeleteUser(ctx context.Context, p service.Principal, user string) error {
	if err := checkName("user", user); err != nil {
		return err
	}
	return hide(n.o.Logger, n.o.DB.DeleteUser(ctx, p.Of.Tenant.ID, user))
}

// AsOperator implements service.Node.
func (n *Node) AsOperator(ctx context.Context, tenant string) (service.Principal, error) {
	if checkName("tenant", tenant) != nil {
		return service.Principal{}, errNoTenant(tenant)
	}
	of, err := n.o.DB.ByName(ctx, tenant, service.Operator, nil)
	if kind.Of(err) == kind.NotFound {
		err = errNoTenant(tenant)
	}
	return principalOf(of, "operator", service.Admin, time.Time{}), hide(n.o.Logger, err)
}

// CreateKey implements service.Node. The answer has the secret, which is not stored.
func (n *Node) CreateKey(ctx context.Context, p service.Principal, k service.Key) (service.Key, error) {
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
	err = n.o.DB.CreateKey(ctx, p.Of.Tenant.ID, postgres.Key{ID: k.ID, User: k.User, Teams: teams, Right: string(k.Right), Name: k.Name, Created: k.Created, Expires: k.Expires, Hash: hashOf(secret)}, maxKeys)
	if kind.Of(err) == kind.Conflict {
		err = kind.As(kind.Conflict, fmt.Errorf("tenant %s has %d keys already: revoke some", k.Tenant, maxKeys))
	}
	if err != nil {
		return service.Key{}, hide(n.o.Logger, err)
	}
	k.Secret = strings.Join([]string{keyMark, k.ID, secret}, "_")
	return k, nil
}

// Keys implements service.Node.
func (n *Node) Keys(ctx context.Context, p service.Principal) ([]service.Key, error) {
	known, err := n.o.DB.Keys(ctx, p.Of.Tenant.ID)
	all := []service.Key{}
	for _, k := range known {
		all = append(all, service.Key{ID: k.ID, Tenant: p.Tenant, User: k.User, Teams: k.Teams, Right: service.Right(k.Right), Name: k.Name, Created: k.Created, Expires: k.Expires})
	}
	return all, hide(n.o.Logger, err)
}

// RevokeKey implements service.Node.
func (n *Node) RevokeKey(ctx context.Context, p service.Principal, id string) error {
	err := checkName("key", id)
	if err == nil {
		err = n.o.DB.RevokeKey(ctx, p.Of.Tenant.ID, id)
	}
	if known := kind.Of(err); known == kind.NotFound || known == kind.BadInput { // no key has an odd ID
		err = kind.As(kind.NotFound, fmt.Errorf("tenant %s has no key %.80q", p.Tenant, id))
	}
	return hide(n.o.Logger, err)
}
