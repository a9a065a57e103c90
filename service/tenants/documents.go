package tenants

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service"
	"github.com/memcore/memcore/service/postgres"
)

// listed has a list in JSON even of no documents.
func listed(documents []service.Document, version int64, more bool) service.Documents {
	return service.Documents{Documents: append([]service.Document{}, documents...), Version: version, More: more}
}

// List implements service.Node.
func (n *Node) List(ctx context.Context, p service.Principal) (service.Documents, error) {
	documents, version, err := n.o.DB.List(ctx, p.Of)
	return listed(documents, version, false), hide(n.o.Logger, err)
}

// Get implements service.Node.
func (n *Node) Get(ctx context.Context, p service.Principal, path string) (service.Document, error) {
	if err := checkPath(p, path); err != nil {
		return service.Document{}, err
	}
	d, err := n.o.DB.Get(ctx, p.Of, path)
	if kind.Of(err) == kind.NotFound {
		err = errNoDocument(path)
	}
	return d, hide(n.o.Logger, err)
}

// Put implements service.Node.
func (n *Node) Put(ctx context.Context, p service.Principal, path, text string, c service.Condition) (service.Written, error) {
	return n.change(ctx, p, edit{path: path, text: text, Condition: c})
}

// Delete implements service.Node.
func (n *Node) Delete(ctx context.Context, p service.Principal, path string, c service.Condition) (service.Written, error) {
	return n.change(ctx, p, edit{path: path, gone: true, Condition: c})
}

// change judges and makes one edit.
func (n *Node) change(ctx context.Context, p service.Principal, e edit) (service.Written, error) {
	version, err := n.changeAll(ctx, p, []edit{e})
	return service.Written{Path: e.path, Version: version}, err
}

// changeAll judges and makes edits, all or none, and returns the version that has them.
func (n *Node) changeAll(ctx context.Context, p service.Principal, edits []edit) (version int64, err error) {
	if err = n.mayAll(ctx, p, edits); err == nil {
		version, err = n.write(ctx, p, edits)
	}
	return version, hide(n.o.Logger, err)
}

// PutAll implements service.Node.
func (n *Node) PutAll(ctx context.Context, p service.Principal, documents []service.Document) (service.Written, error) {
	var edits []edit
	at := map[string]int{} // the last document of a path counts
	for _, d := range documents {
		e := edit{path: d.Path, text: d.Text}
		if i, known := at[d.Path]; known {
			edits[i] = e
			continue
		}
		at[d.Path] = len(edits)
		edits = append(edits, e)
	}
	version, err := n.changeAll(ctx, p, edits)
	return service.Written{Version: version}, err
}

// Export implements service.Node. The documents of all users and teams are named by their places,
// as "users/ann/.beans/…" and "teams/platform/…".
func (n *Node) Export(ctx context.Context, p service.Principal, of service.Exported) iter.Seq2[service.Document, error] {
	return func(yield func(service.Document, error) bool) {
		scopes, err := n.exported(ctx, p, of)
		if err != nil {
			yield(service.Document{}, hide(n.o.Logger, err))
			return
		}
		for d, err := range n.o.DB.Export(ctx, p.Of.Tenant.ID, scopes) {
			if of.All {
				d.Path = stored(d.Scope, d.Path)
			}
			if !yield(d.Document, hide(n.o.Logger, err)) || err != nil {
				return
			}
		}
	}
}

// exported returns the scopes of an export.
func (n *Node) exported(ctx context.Context, p service.Principal, of service.Exported) ([]postgres.Scope, error) {
	if !of.All && of.User == "" {
		return p.Of.Scopes, nil
	}
	all, err := n.o.DB.Tenants().Scopes(ctx, p.Of.Tenant.ID)
	return slices.DeleteFunc(all, func(s postgres.Scope) bool {
		return !of.All && (s.Kind != postgres.User || s.Name != of.User)
	}), err
}

// stored names a document among those of all users and teams.
func stored(s postgres.Scope, path string) string {
	at := place(path)
	switch s.Kind {
	case postgres.User:
		return "users/" + s.Name + "/" + at.within
	case postgres.Team:
		return "teams/" + s.Name + "/" + at.within
	}
	return "shared/" + path
}

// History implements service.Node.
func (n *Node) History(ctx context.Context, p service.Principal, path string, page service.Page) (service.Documents, error) {
	if path != "" {
		if err := checkPath(p, path); err != nil {
			return service.Documents{}, err
		}
	}
	documents, more, version, err := n.o.DB.History(ctx, p.Of, path, page.Before, page.Limit)
	return listed(documents, version, more), hide(n.o.Logger, err)
}

// Restore implements service.Node.
func (n *Node) Restore(ctx context.Context, p service.Principal, version int64) (service.Written, error) {
	select { // its texts are in memory
	case n.largeDesks <- struct{}{}:
		defer func() { <-n.largeDesks }()
	case <-ctx.Done():
		return service.Written{}, ctx.Err()
	}
	changes, err := n.o.DB.Past(ctx, p.Of, version, n.deskSizes.largest)
	if errors.Is(err, postgres.ErrLarge) {
		err = kind.Usagef("what has changed since version %d had more than %d bytes then, too much to write at once: choose a later version", version, n.deskSizes.largest)
	}
	if err != nil {
		return service.Written{}, hide(n.o.Logger, err)
	}
	if len(changes) == 0 {
		_, now, err := n.o.DB.List(ctx, p.Of)
		return service.Written{Version: now}, hide(n.o.Logger, err)
	}
	var edits []edit
	for _, c := range changes {
		edits = append(edits, edit{path: c.Path, text: c.Text, gone: c.Gone, Condition: service.Condition{Match: c.Base, New: c.Base == 0}})
	}
	now, err := n.changeAll(ctx, p, edits)
	return service.Written{Version: now}, err
}
