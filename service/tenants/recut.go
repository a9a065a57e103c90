package tenants

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/memcore/memcore/service/postgres"
)

// recutAtOnce bounds the documents of a transaction.
const recutAtOnce = 20

// recut makes the records of documents anew that another release, or with another embedder, has cut
// otherwise: what it takes out as secrets, how it finds statements, how large passages are. Texts and
// versions stay. It is done once a node starts, and after a tenant gets another embedder.
func (n *Node) recut(ctx context.Context) error {
	cuts, err := n.o.DB.Cuts(ctx)
	if err != nil {
		return err
	}
	var failed error
	for _, c := range cuts {
		_, m, err := n.of(c.Tenant)
		if err == nil && m.cutter.Fingerprint() != c.By {
			err = n.recutTenant(ctx, c.Tenant, m)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil { // it costs only this tenant
			failed = errors.Join(failed, fmt.Errorf("documents of tenant %s are as an earlier release has cut them: %w", c.Tenant.Name, err))
		}
	}
	return failed
}

// recutAside is recut once a node starts, and whenever it is asked for.
func (n *Node) recutAside(ctx context.Context) {
	for {
		if err := n.recut(ctx); err != nil && ctx.Err() == nil {
			n.o.Logger.Warn("not all documents are cut as this node cuts them", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-n.recutting:
		}
	}
}

func (n *Node) recutTenant(ctx context.Context, t postgres.Tenant, m *model) error {
	scopes, err := n.o.DB.Tenants().Scopes(ctx, t.ID)
	for _, s := range scopes {
		for after := ""; err == nil; {
			var documents []postgres.Document
			documents, err = n.o.DB.CutOtherwise(ctx, t.ID, s, m.cutter.Fingerprint(), after, recutAtOnce)
			if err != nil || len(documents) == 0 {
				break
			}
			after = documents[len(documents)-1].Path
			err = n.recutDocuments(ctx, postgres.Principal{Tenant: t, User: s.Name, Teams: []string{s.Name}, Scopes: []postgres.Scope{s}}, m, documents)
		}
	}
	return err
}

// recutDocuments cuts documents of one scope. One that others change meanwhile is cut by them.
func (n *Node) recutDocuments(ctx context.Context, p postgres.Principal, m *model, documents []postgres.Document) error {
	paths := make([]string, len(documents))
	for i, d := range documents {
		paths[i] = d.Path
	}
	at := -1
	for state, err := range n.o.DB.States(ctx, p, paths) {
		if err != nil {
			return err
		}
		at++
		d := documents[at]
		if state.Version != d.Version {
			continue
		}
		c := postgres.Change{Path: d.Path, Same: true, Base: d.Version}
		if err := m.cut(ctx, &c, d.Text, state.Records, d.At.Truncate(time.Second)); err != nil {
			return fmt.Errorf("%s: %w", d.Path, err)
		}
		_, err = n.o.DB.Write(ctx, p, []postgres.Change{c}, postgres.Write{Embedder: m.fingerprint(), Cut: m.cutter.Fingerprint(), Keep: n.o.Keep})
		if err != nil && !errors.Is(err, postgres.ErrChanged) {
			return err
		}
	}
	return nil
}
