package tenants

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service"
)

func (d document) shown(path string) service.Document {
	return service.Document{Path: path, Version: d.order, Bytes: d.size, By: d.by, At: d.at}
}

// List implements service.Node.
func (n *Node) List(ctx context.Context, p service.Principal) (all service.Documents, err error) {
	all.Documents = []service.Document{}
	err = n.with(ctx, p.TenantID, func(t *tenant) error {
		for _, folder := range foldersOf(p) {
			some, version, err := t.mirror.list(ctx, folder)
			if err != nil {
				return err
			}
			for _, l := range some {
				all.Documents = append(all.Documents, l.shown(shownAs(p, l.name)))
			}
			all.Version = version
		}
		return nil
	})
	return all, err
}

func errNoDocument(path string) error {
	return kind.As(kind.NotFound, fmt.Errorf("there is no document %.200q", path))
}

// Get implements service.Node.
func (n *Node) Get(ctx context.Context, p service.Principal, path string) (found service.Document, err error) {
	stored, err := storedAs(p, path)
	if err != nil {
		return found, err
	}
	err = n.with(ctx, p.TenantID, func(t *tenant) error {
		text, d, ok, err := t.mirror.read(ctx, stored)
		if err == nil && !ok {
			err = errNoDocument(path)
		}
		found = d.shown(path)
		found.Text = text
		return err
	})
	return found, err
}

// check compares a document with the condition of a change.
func check(m *mirror, stored, path string, c service.Condition) error {
	d, exists := m.current(stored) // a pending one has no version yet
	switch {
	case c.New && exists:
		return kind.As(kind.Conflict, fmt.Errorf("there is a document %s already, version %d", path, d.order))
	case c.Match != 0 && exists && d.order == 0:
		return kind.As(kind.Conflict, fmt.Errorf("others change %s at the same time", path))
	case c.Match != 0 && d.order != c.Match:
		return kind.As(kind.Conflict, fmt.Errorf("%s has the version %d, not %d", path, d.order, c.Match))
	}
	return nil
}

// Put implements service.Node. Secrets do not enter the log.
func (n *Node) Put(ctx context.Context, p service.Principal, path, text string, c service.Condition) (service.Written, error) {
	stored, err := storedAs(p, path)
	if err != nil {
		return service.Written{}, err
	}
	text, _ = notes.Clean(text)
	version, err := n.write(ctx, p, []string{stored}, func(m *mirror) error {
		if err := check(m, stored, path, c); err != nil {
			return err
		}
		return m.put(stored, text, &document{})
	})
	return service.Written{Path: path, Version: version}, err
}

// Delete implements service.Node.
func (n *Node) Delete(ctx context.Context, p service.Principal, path string, c service.Condition) (service.Written, error) {
	stored, err := storedAs(p, path)
	if err != nil {
		return service.Written{}, err
	}
	version, err := n.write(ctx, p, []string{stored}, func(m *mirror) error {
		if err := check(m, stored, path, c); err != nil {
			return err
		}
		err := m.root.Remove(filepath.FromSlash(stored))
		if errors.Is(err, fs.ErrNotExist) {
			err = errNoDocument(path)
		}
		return err
	})
	return service.Written{Path: path, Version: version}, err
}

// PutAll implements service.Node.
func (n *Node) PutAll(ctx context.Context, p service.Principal, documents []service.Document) (service.Written, error) {
	texts := map[string]string{}
	var paths []string
	for _, d := range documents {
		stored, err := storedAs(p, d.Path)
		if err != nil {
			return service.Written{}, err
		}
		texts[stored], _ = notes.Clean(d.Text)
		paths = append(paths, stored)
	}
	version, err := n.write(ctx, p, paths, func(m *mirror) error {
		for stored, text := range texts {
			if err := m.put(stored, text, &document{}); err != nil {
				return err
			}
		}
		return nil
	})
	return service.Written{Version: version}, err
}

// Usage implements service.Node.
func (n *Node) Usage(ctx context.Context, p service.Principal) (u service.Usage, err error) {
	err = n.with(ctx, p.TenantID, func(t *tenant) error {
		if err := t.mirror.mu.within(ctx); err != nil {
			return err
		}
		defer t.mirror.mu.Unlock()
		has := t.mirror.size()
		u.Documents, u.Bytes = has.documents, has.bytes
		u.Limits = n.Limits(p)
		own := n.o.Registry.settings(t.id)
		u.Embedder, u.Model = own.Embedder, own.Model
		return nil
	})
	return u, err
}

// Keys implements service.Node.
func (n *Node) Keys(ctx context.Context, p service.Principal) ([]service.Key, error) {
	all, err := n.o.Registry.Keys(ctx, p.Tenant)
	return all, hide(n.o.Logger, err)
}

// CreateKey implements service.Node.
func (n *Node) CreateKey(ctx context.Context, p service.Principal, k service.Key) (service.Key, error) {
	if k.Tenant = strings.TrimSpace(k.Tenant); k.Tenant != "" && k.Tenant != p.Tenant {
		return service.Key{}, kind.As(kind.Forbidden, errors.New("the key is for another tenant"))
	}
	k.Tenant = p.Tenant
	made, err := n.o.Registry.CreateKey(ctx, p.User+"/"+p.Key, k)
	return made, hide(n.o.Logger, err)
}

// RevokeKey implements service.Node.
func (n *Node) RevokeKey(ctx context.Context, p service.Principal, id string) error {
	return hide(n.o.Logger, n.o.Registry.RevokeKey(ctx, p.User+"/"+p.Key, p.Tenant, id))
}
