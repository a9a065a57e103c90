package tenants

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service"
	"github.com/memcore/memcore/service/store"
)

// History implements service.Node. It holds little more in memory than it returns.
func (n *Node) History(ctx context.Context, p service.Principal, path string, page service.Page) (all service.Documents, err error) {
	all.Documents = []service.Document{}
	if path != "" {
		if _, err := storedAs(p, path); err != nil {
			return all, err
		}
	}
	drop := func(most int) {
		if more := len(all.Documents) - most; more > 0 {
			all.Documents, all.More = slices.Delete(all.Documents, 0, more), true
		}
	}
	err = n.with(ctx, p.TenantID, func(t *tenant) error {
		return t.mirror.each(ctx, func(r store.Revision) error {
			all.Version = r.Order
			shown := shownAs(p, r.Path)
			if shown == "" || path != "" && shown != path || page.Before > 0 && r.Order >= page.Before {
				return nil
			}
			all.Documents = append(all.Documents, service.Document{Path: shown, Version: r.Order, Bytes: int64(len(r.Text)), By: r.By, At: r.At, Gone: r.Gone})
			if len(all.Documents) >= 2*page.Limit {
				drop(page.Limit)
			}
			return nil
		})
	})
	drop(page.Limit)
	return all, err
}

// each calls do with the revisions of the log, by order.
func (m *mirror) each(ctx context.Context, do func(store.Revision) error) error {
	ctx, stop := context.WithTimeout(ctx, openTimeout)
	defer stop()
	for page, err := range m.log.Pages(ctx, store.Mark{}) {
		if err != nil {
			return hide(m.logger, err)
		}
		for _, r := range page {
			if err := do(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// Restore implements service.Node.
func (n *Node) Restore(ctx context.Context, p service.Principal, version int64) (service.Written, error) {
	var written int64
	err := n.with(ctx, p.TenantID, func(t *tenant) error {
		then, err := t.mirror.at(ctx, version, t.dir, func(path string) bool { return shownAs(p, path) != "" && checkStored(path) == nil })
		if err != nil {
			return err
		}
		defer then.close()
		if _, err := t.mirror.fresh(ctx, n.o.Freshness, then.newest); err != nil { // else old files could look restored
			return err
		}
		written, err = n.write(ctx, p, nil, func(m *mirror) error { return then.restore(m, p) })
		return err
	})
	return service.Written{Version: written}, err
}

// A past is the state of a log at a version, with its texts in a file.
type past struct {
	texts  *os.File
	size   int64
	places map[string]place // by path
	newest int64            // order of the log
}

// A place is that of a text.
type place struct{ begin, size int64 }

// at returns the past of some paths. Its file is in a folder.
func (m *mirror) at(ctx context.Context, version int64, folder string, of func(path string) bool) (then *past, err error) {
	texts, err := os.CreateTemp(folder, "restore-")
	if err != nil {
		return nil, hide(m.logger, err)
	}
	then = &past{texts: texts, places: map[string]place{}}
	defer func() {
		if err != nil {
			then.close()
		}
	}()
	err = m.each(ctx, func(r store.Revision) error {
		then.newest = r.Order
		switch {
		case r.Order > version && time.Since(r.At) > history: // replaced revisions may be gone
			return kind.Usagef("version %d is too old: the log has what was replaced in the last %d days", version, history/(24*time.Hour))
		case r.Order > version || !of(r.Path):
			return nil
		}
		return hide(m.logger, then.add(r))
	})
	if err == nil && version > then.newest {
		err = kind.Usagef("there is no version %d; the newest is %d", version, then.newest)
	}
	return then, err
}

func (then *past) add(r store.Revision) error {
	if r.Gone {
		delete(then.places, r.Path)
		return nil
	}
	n, err := io.WriteString(then.texts, r.Text)
	then.places[r.Path] = place{then.size, int64(n)}
	then.size += int64(n)
	return err
}

func (then *past) text(at place) (string, error) {
	text := make([]byte, at.size)
	_, err := io.ReadFull(io.NewSectionReader(then.texts, at.begin, at.size), text)
	return string(text), err
}

// restore gives the files that a principal sees their texts of the past.
func (then *past) restore(m *mirror, p service.Principal) error {
	for stored := range m.documents {
		if _, existed := then.places[stored]; existed || shownAs(p, stored) == "" {
			continue
		}
		err := m.root.Remove(filepath.FromSlash(stored))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a writer before it, in the same step, has removed it
			return err
		}
	}
	for stored, at := range then.places {
		text, err := then.text(at)
		if err != nil {
			return err
		}
		if err := m.put(stored, text, &document{}); err != nil {
			return err
		}
	}
	return nil
}

func (then *past) close() {
	then.texts.Close()
	os.Remove(then.texts.Name())
}
