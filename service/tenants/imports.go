package tenants

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"strings"

	"github.com/memcore/memcore/core/curated"
)

// imported returns, by stored path, what curated memory of all users or of a team imports, or
// may: in files where agents do not follow mentions, and more than are followed. The caller holds
// mu.
func (m *mirror) imported() (map[string]bool, error) {
	names := maps.Clone(m.documents)
	for name, p := range m.pending {
		if names[name] = p.document; p.Gone {
			delete(names, name)
		}
	}
	var open []string
	for name := range names {
		if instructsOthers(name) {
			open = append(open, name)
		}
	}
	all := map[string]bool{}
	for len(open) > 0 {
		name := open[0]
		open = open[1:]
		text, err := m.root.ReadFile(filepath.FromSlash(name))
		if errors.Is(err, fs.ErrNotExist) { // the change that is judged removes it
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, found := range importsIn(name, string(text)) {
			if _, known := names[found]; known && !all[found] {
				open = append(open, found)
			}
			all[found] = true // perhaps before there is one
		}
	}
	return all, nil
}

// importsIn returns the documents of several users that a text imports, as a session would read it.
func importsIn(name, text string) (all []string) {
	for _, found := range curated.ImportsIn(text) {
		to := path.Join(path.Dir(name), found)
		if own, ok := strings.CutPrefix(found, homePrefix); ok { // each user's home is beside others'
			to = path.Join(usersFolder, "user", own)
		}
		if fs.ValidPath(to) && isOfSeveral(to) {
			all = append(all, to)
		}
	}
	return all
}
