package tenants

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service"
	"github.com/memcore/memcore/service/postgres"
)

// A desk has the few documents of a principal that instruct agents or that agents write, as files
// for the time of one call: curated memory and the tools for it work on files.
type desk struct {
	root  string
	files map[string]postgres.Document // by path
	room  int64                        // bytes that may be laid
	place chan struct{}                // of Node.largeDesks; nil for a small one
}

// deskSizes are in bytes. A desk's texts are in memory, too, of which no tenant may use up the node's.
type deskSizes struct{ small, largest int64 }

var usualDesks = deskSizes{small: 4 << 20, largest: 64 << 20}

// maxLargeDesks bounds the desks at a time that are not small.
const maxLargeDesks = 2

// newDesk makes an empty desk. It is to be removed even after an error.
func (n *Node) newDesk(room int64) (*desk, error) {
	root, err := os.MkdirTemp(n.folder, "")
	if err != nil {
		return &desk{}, err
	}
	d := &desk{root: root, files: map[string]postgres.Document{}, room: room}
	return d, makeFolders(d.at(sharedFolder+"/.git"), d.at(homeFolder+"/"+hidden)) // a folder with .git is a project's root
}

// at returns where a file of the desk is.
func (d *desk) at(file string) string { return filepath.Join(d.root, filepath.FromSlash(file)) }

// rel reverses at.
func (d *desk) rel(file string) string {
	rel, err := filepath.Rel(d.root, file)
	if err != nil {
		return file
	}
	return filepath.ToSlash(rel)
}

func (d *desk) remove() error {
	if d.place != nil {
		defer func() { <-d.place }()
	}
	return os.RemoveAll(d.root)
}

// workspace returns the desk as a workspace.
func (d *desk) workspace(w *app.Workspace, teams []string, settings map[string]string) (*app.Workspace, error) {
	places := config.Places{Home: d.at(homeFolder), Cache: d.at("cache"), State: d.at("state"), Name: "desk"}
	for _, team := range teams {
		folder := d.at(teamsFolder + "/" + team)
		if err := makeFolders(filepath.Join(folder, ".git")); err != nil {
			return nil, err
		}
		places.Mounts = append(places.Mounts, curated.Mount{Name: teamMark + team, Folder: folder})
	}
	return app.Tenant(w, d.at(sharedFolder), places, settings)
}

// lay writes documents on the desk.
func (d *desk) lay(documents []postgres.Document) error {
	for _, doc := range documents {
		file := d.at(place(doc.Path).file())
		if err := makeFolders(filepath.Dir(file)); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(doc.Text), 0o600); err != nil {
			return err
		}
		if err := os.Chtimes(file, doc.At, doc.At); err != nil {
			return err
		}
		d.files[doc.Path] = doc
		d.room -= doc.Bytes
	}
	return nil
}

// edits are what a call has changed on the desk.
func (d *desk) edits() (all []edit, err error) {
	left := map[string]bool{}
	for _, folder := range []string{sharedFolder, teamsFolder, homeFolder} {
		err = errors.Join(err, filepath.WalkDir(d.at(folder), func(file string, entry fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist): // no team
				return nil
			case err != nil:
				return err
			case entry.IsDir() && entry.Name() == ".git":
				return fs.SkipDir
			case !entry.Type().IsRegular():
				return nil
			}
			name := nameAt(d.rel(file))
			known, was := d.files[name]
			left[name] = true
			text, err := os.ReadFile(file)
			if err == nil && (!was || string(text) != known.Text) {
				all = append(all, edit{path: name, text: string(text), Condition: service.Condition{Match: known.Version, New: !was}})
			}
			return err
		}))
	}
	for name, known := range d.files {
		if !left[name] {
			all = append(all, edit{path: name, gone: true, Condition: service.Condition{Match: known.Version}})
		}
	}
	return all, err
}

// maxImportDepth is how deep imports are laid, as deep as they are followed.
const maxImportDepth = 5

// openDesk lays a desk for a principal, with the documents that also names too, and opens their
// memory on it.
func (n *Node) openDesk(ctx context.Context, p service.Principal, also ...string) (*desk, *app.Service, error) {
	d, s, err := n.openDeskOf(ctx, p, also, n.deskSizes.small, nil)
	if !errors.Is(err, postgres.ErrLarge) {
		return d, s, err
	}
	select {
	case n.largeDesks <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	d, s, err = n.openDeskOf(ctx, p, also, n.deskSizes.largest, n.largeDesks)
	if errors.Is(err, postgres.ErrLarge) {
		err = kind.Usagef("BEANS.md files, what they import, and the documents below .beans have more than %d bytes together, too much for an agent: delete some, or move them elsewhere", n.deskSizes.largest)
	}
	return d, s, err
}

// openDeskOf opens a desk with room for some bytes, which gives back the place that it holds.
func (n *Node) openDeskOf(ctx context.Context, p service.Principal, also []string, room int64, held chan struct{}) (*desk, *app.Service, error) {
	d, err := n.newDesk(room)
	d.place = held
	if err != nil {
		return nil, nil, errors.Join(err, d.remove())
	}
	s, err := n.layDesk(ctx, d, p, also)
	if err != nil {
		return nil, nil, errors.Join(err, d.remove())
	}
	return d, s, nil
}

func (n *Node) layDesk(ctx context.Context, d *desk, p service.Principal, also []string) (*app.Service, error) {
	files, err := n.o.DB.Files(ctx, p.Of, also, d.room)
	for depth := 0; err == nil && len(files) > 0; depth++ {
		if err := d.lay(files); err != nil {
			return nil, err
		}
		var open []string
		for _, f := range files {
			for _, found := range importsOf(f.Path, f.Text) {
				if _, laid := d.files[found]; !laid && checkPath(p, found) == nil {
					open = append(open, found)
				}
			}
		}
		if files = nil; depth < maxImportDepth && len(open) > 0 {
			files, err = n.o.DB.Texts(ctx, p.Of, open, d.room)
		}
	}
	if err != nil {
		return nil, err
	}
	m, err := n.modelOf(p.Settings)
	if err != nil {
		return nil, err
	}
	return n.openDeskAs(ctx, d, p, m)
}

// openDeskAs opens a principal's memory on a desk as it is.
func (n *Node) openDeskAs(ctx context.Context, d *desk, p service.Principal, m *model) (*app.Service, error) {
	w, err := d.workspace(n.o.Workspace, p.Teams, m.imposed)
	if err != nil {
		return nil, err
	}
	return n.openOn(ctx, p, m, w)
}
