package tenants

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// sweepsPerFreshness is how rarely a node looks for tenants that were deleted.
const sweepsPerFreshness = 10

// sweep removes deleted tenants from this node until ctx ends.
func (n *Node) sweep(ctx context.Context) {
	for {
		if err := n.removeDeleted(ctx); err != nil && ctx.Err() == nil {
			n.o.Logger.Warn("this node may still have what deleted tenants had", "error", err)
		}
		select {
		case <-time.After(max(sweepsPerFreshness*n.o.Freshness, time.Second)):
		case <-ctx.Done():
			return
		}
	}
}

// removeDeleted removes folders of tenants that the registry does not have. A tenant that is still in
// use here stays until the next time.
func (n *Node) removeDeleted(ctx context.Context) error {
	folder := filepath.Join(n.o.Dir, "tenants")
	here, err := os.ReadDir(folder) // first: a tenant is in the registry before it is here
	if err != nil || len(here) == 0 {
		return err
	}
	all, err := n.o.Registry.Tenants(ctx)
	if err != nil {
		return err
	}
	exists := map[string]bool{}
	for _, t := range all {
		exists[t.ID] = true
	}
	shrunk := false
	for _, entry := range here {
		if exists[entry.Name()] {
			continue
		}
		if !shrunk {
			n.memories.Shrink() // open memories keep their tenant
			shrunk = true
		}
		err = errors.Join(err, n.removeTenant(entry.Name()))
	}
	return err
}

// removeTenant removes a deleted tenant from this node unless it is in use.
func (n *Node) removeTenant(id string) error {
	n.mu.Lock()
	t := n.tenants[id]
	inUse := t != nil && (t.users > 0 || t.mirror == nil || t.left != nil)
	if t != nil && !inUse {
		t.left = make(chan struct{})
	}
	n.mu.Unlock()
	switch {
	case inUse:
		return nil
	case t != nil:
		n.drop(t)
		return nil
	}
	return os.RemoveAll(filepath.Join(n.o.Dir, "tenants", id))
}
