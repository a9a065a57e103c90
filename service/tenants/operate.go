package tenants

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service"
	"github.com/memcore/memcore/service/postgres"
)

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

// Tenants implements service.Tenants.
type Tenants struct{ n *Node }

// Tenants returns who has memory.
func (n *Node) Tenants() Tenants { return Tenants{n} }

// List implements service.Tenants.
func (all Tenants) List(ctx context.Context) ([]service.Tenant, error) {
	known, err := all.n.o.DB.Tenants().List(ctx)
	listed := []service.Tenant{}
	for _, t := range known {
		one, errSettings := tenantOf(t)
		listed, err = append(listed, one), errors.Join(err, errSettings)
	}
	return listed, hide(all.n.o.Logger, err)
}

// named returns a tenant by its name.
func (all Tenants) named(ctx context.Context, name string) (postgres.Tenant, error) {
	if checkName("tenant", name) != nil {
		return postgres.Tenant{}, errNoTenant(name)
	}
	t, err := all.n.o.DB.Tenants().Get(ctx, name)
	if kind.Of(err) == kind.NotFound {
		err = errNoTenant(name)
	}
	return t, hide(all.n.o.Logger, err)
}

// errNoTenant is the error for a name without a tenant.
func errNoTenant(name string) error {
	return kind.Hint(kind.As(kind.NotFound, fmt.Errorf("there is no tenant %.80q", name)), "'memcore-service tenant list' lists them")
}

// Create implements service.Tenants.
func (all Tenants) Create(ctx context.Context, name string) (service.Tenant, error) {
	if err := checkName("tenant", name); err != nil {
		return service.Tenant{}, err
	}
	t, err := all.n.o.DB.Tenants().Create(ctx, name)
	if kind.Of(err) == kind.Conflict {
		err = kind.As(kind.Conflict, fmt.Errorf("there is a tenant %s already", name))
	}
	if err != nil {
		return service.Tenant{}, hide(all.n.o.Logger, err)
	}
	return tenantOf(t)
}

// Set implements service.Tenants.
func (all Tenants) Set(ctx context.Context, name string, change func(*service.Settings) error) (service.Tenant, error) {
	t, err := all.named(ctx, name)
	if err != nil {
		return service.Tenant{}, err
	}
	var s service.Settings
	t, err = all.n.o.DB.Tenants().Set(ctx, t.ID, func(was json.RawMessage) (json.RawMessage, error) {
		if s, err = settingsOf(postgres.Tenant{Name: name, Settings: was}); err != nil {
			return nil, err
		}
		before := s.Embedder
		if err := cmp.Or(change(&s), check(s)); err != nil {
			return nil, err
		}
		if s.Embedder != before {
			if err := all.n.checkInstalled(s); err != nil {
				return nil, err
			}
		}
		return json.Marshal(s)
	})
	if err == nil {
		err = all.n.requeue(ctx, t)
	}
	if err != nil {
		return service.Tenant{}, hide(all.n.o.Logger, err)
	}
	return service.Tenant{Name: t.Name, Created: t.Created, Settings: s}, nil
}

// requeue lets the documents of a tenant get vectors of its embedder, and passages of its size.
func (n *Node) requeue(ctx context.Context, t postgres.Tenant) error {
	_, m, err := n.of(t)
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

// Delete implements service.Tenants.
func (all Tenants) Delete(ctx context.Context, name string) error {
	t, err := all.named(ctx, name)
	if err != nil {
		return err
	}
	return hide(all.n.o.Logger, all.n.o.DB.Tenants().Delete(ctx, t.ID))
}

// DeleteTeam implements service.Tenants.
func (all Tenants) DeleteTeam(ctx context.Context, p service.Principal, team string) error {
	if err := checkName("team", team); err != nil {
		return err
	}
	return hide(all.n.o.Logger, all.n.o.DB.Tenants().DeleteTeam(ctx, p.Of.Tenant.ID, team))
}

// DeleteUser implements service.Tenants.
func (all Tenants) DeleteUser(ctx context.Context, p service.Principal, user string) error {
	if err := checkName("user", user); err != nil {
		return err
	}
	return hide(all.n.o.Logger, all.n.o.DB.Tenants().DeleteUser(ctx, p.Of.Tenant.ID, user))
}
