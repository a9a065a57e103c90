package tenants

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service"
	"github.com/memcore/memcore/service/postgres"
)

// may judges a change by its path.
func may(p service.Principal, name string) error {
	if err := checkPath(p, name); err != nil {
		return err
	}
	switch {
	case !p.Right.Includes(service.Write):
		return kind.As(kind.Forbidden, fmt.Errorf("you may only read %s", name))
	case place(name).instructsOthers() && !p.Right.Includes(service.Admin):
		return kind.Hint(kind.As(kind.Forbidden, fmt.Errorf("%s instructs the agents of others, which needs the right %s", name, service.Admin)),
			"save to the target global, or put a document elsewhere")
	}
	return nil
}

// mayAll judges edits together: what curated memory of several users imports instructs them, too.
func (n *Node) mayAll(ctx context.Context, p service.Principal, edits []edit) error {
	ofSeveral := false
	for _, e := range edits {
		if err := may(p, e.path); err != nil {
			return err
		}
		ofSeveral = ofSeveral || place(e.path).ofSeveral()
	}
	if p.Right.Includes(service.Admin) || !ofSeveral {
		return nil
	}
	imported, err := n.imported(ctx, p)
	if err != nil {
		return err
	}
	for _, e := range edits {
		if imported[e.path] {
			return kind.As(kind.Forbidden, fmt.Errorf("%s is imported by what instructs the agents of others, which needs the right %s", e.path, service.Admin))
		}
	}
	return nil
}

// imported returns what curated memory of several users imports, or may: in files where agents do
// not follow mentions, and more than are followed, also documents that there are not yet.
func (n *Node) imported(ctx context.Context, p service.Principal) (map[string]bool, error) {
	room := n.deskSizes.largest
	files, err := n.o.DB.Instructions(ctx, p.Of, room)
	all := map[string]bool{}
	for err == nil && len(files) > 0 {
		var open []string
		for _, d := range files {
			room -= d.Bytes
			for _, found := range importsIn(d.Path, d.Text) {
				if !all[found] {
					all[found] = true
					open = append(open, found)
				}
			}
		}
		if len(open) == 0 {
			break
		}
		files, err = n.o.DB.Texts(ctx, p.Of, open, room)
	}
	if errors.Is(err, postgres.ErrLarge) {
		err = kind.As(kind.Forbidden, fmt.Errorf("what instructs the agents of others has more than %d bytes, so that only the right %s may change documents: import less", n.deskSizes.largest, service.Admin))
	}
	return all, err
}

// importsIn returns the documents of several users that a text imports, as a session would read it.
func importsIn(name, text string) (all []string) {
	for _, found := range importsOf(name, text) {
		if place(found).ofSeveral() {
			all = append(all, found)
		}
	}
	return all
}

// importsOf returns the documents that a text imports.
func importsOf(name, text string) (all []string) {
	for _, found := range curated.ImportsIn(text) {
		to := path.Join(path.Dir(place(name).file()), found)
		if own, ok := strings.CutPrefix(found, homePrefix); ok {
			to = path.Join(homeFolder, own)
		}
		if to = nameAt(to); to != "" {
			all = append(all, to)
		}
	}
	return all
}
