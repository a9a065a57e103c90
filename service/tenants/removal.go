package tenants

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service/store"
)

// A sweeper finds out which tenants were removed from the service.
type sweeper struct{ *pool }

// A sweeper looks once in looksPerFreshness times Options.Freshness.
const looksPerFreshness = 10

// lookForRemovals runs until ctx ends. At first, and after a long failure, it asks for each tenant
// on this node, since it may have missed a removal.
func (n sweeper) lookForRemovals(ctx context.Context) {
	for looked := (time.Time{}); ; {
		begun := time.Now()
		candidates := n.removedLately
		if begun.Sub(looked) > removalsKept/2 {
			candidates = n.onDisk
		}
		err := n.forgetRemoved(ctx, candidates(ctx))
		if err == nil {
			looked = begun
		} else if ctx.Err() == nil {
			n.o.Logger.Warn("it is unknown which tenants were removed", "error", err)
		}
		select {
		case <-time.After(max(looksPerFreshness*n.o.Freshness, time.Second)):
		case <-ctx.Done():
			return
		}
	}
}

// onDisk yields the IDs of tenants on this node.
func (n sweeper) onDisk(context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		entries, err := os.ReadDir(filepath.Join(n.o.Dir, "tenants"))
		if err != nil {
			yield("", err)
			return
		}
		for _, entry := range entries {
			if !yield(entry.Name(), nil) {
				return
			}
		}
	}
}

// removedLately yields the IDs of recently removed tenants on this node.
func (n sweeper) removedLately(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for id, err := range n.o.Registry.removals(ctx) {
			if err == nil && !n.has(id) {
				continue
			}
			if !yield(id, err) {
				return
			}
		}
	}
}

func (n sweeper) has(id string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.tenants[id] != nil {
		return true
	}
	_, err := os.Lstat(filepath.Join(n.o.Dir, "tenants", filepath.Base(id)))
	return err == nil
}

// forgetRemoved forgets those tenants that no longer exist.
func (n sweeper) forgetRemoved(ctx context.Context, ids iter.Seq2[string, error]) error {
	for id, err := range ids {
		exists := false
		if err == nil {
			exists, err = n.o.Registry.Exists(ctx, id)
		}
		if err != nil {
			return err
		}
		if !exists {
			n.forget(id)
		}
	}
	return nil
}

// errRemoved is for requests whose tenant was just removed.
var errRemoved = kind.As(kind.NotFound, errors.New("the tenant was removed"))

// forget removes a tenant from this node after its running requests.
func (n *pool) forget(id string) {
	if t := n.leaving(id); t != nil {
		n.memories.Shrink() // an open memory uses it
		n.dropGone(t)
	}
}

// leaving marks a tenant for dropGone; nil if the node has ended.
func (n *pool) leaving(id string) *tenant {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil
	}
	t := n.tenants[id]
	if t == nil { // it may be on the disk
		t = n.newTenant(id)
		t.err = errRemoved
		close(t.ready)
		n.tenants[id] = t
	}
	t.gone = true
	return t
}

// dropGone removes a tenant that is gone and unused.
func (n *pool) dropGone(t *tenant) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !t.gone || t.users > 0 || t.left != nil || n.closed {
		return
	}
	t.left = make(chan struct{})
	n.work.Go(func() { n.drop(t) })
}

// dropUnused keeps to Options.MostOpen; the longest unused tenants go.
func (n *pool) dropUnused() {
	n.mu.Lock()
	var unused []*tenant
	open := 0
	for _, t := range n.tenants {
		if t.left != nil {
			continue
		}
		open++
		if t.users == 0 && t.mirror != nil {
			unused = append(unused, t)
		}
	}
	slices.SortFunc(unused, func(a, b *tenant) int { return a.used.Compare(b.used) })
	unused = unused[:min(len(unused), max(open-n.o.MostOpen, 0))]
	for _, t := range unused {
		t.left = make(chan struct{})
	}
	n.mu.Unlock()
	for _, t := range unused {
		n.drop(t)
	}
}

// drop removes an unused tenant from this node. The tenant cannot be opened until its folder is
// gone: a mirror would take missing files for removals.
func (n *pool) drop(t *tenant) {
	if err := errors.Join(t.close(), os.RemoveAll(t.dir)); err != nil {
		n.o.Logger.Warn("a tenant was not removed from this node", "error", err)
	}
	n.mu.Lock()
	delete(n.tenants, t.id)
	n.mu.Unlock()
	close(t.left)
}

// Delete removes the objects of a tenant that the registry no longer has, and returns how many are
// left.
func Delete(ctx context.Context, open func(path string) store.Changelog, objects store.Objects, id string) (left int, err error) {
	if err := errors.Join(open(Documents(id)).Drop(ctx), open(Vectors(id)).Drop(ctx)); err != nil {
		return 0, err
	}
	return objects.RemoveAll(ctx, objectsOf(id))
}
