package archive

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/app/kind"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/workspace"
)

// A Move says that a folder of the other machine is elsewhere on this one.
type Move struct{ From, To string }

// ParseMove reads OLD=NEW.
func ParseMove(text string) (Move, error) {
	from, to, ok := strings.Cut(text, "=")
	if !ok || from == "" || to == "" {
		return Move{}, kind.Usagef("--map is %q, want OLD=NEW, two folders", text)
	}
	return Move{filepath.Clean(from), paths.Absolute(to)}, nil
}

// A mapper finds the places of files on this machine.
type mapper struct {
	w     *app.Workspace
	at    config.Folders
	given []Move // of --map
	moves []Move // also of the home; the longest first
}

// newMapper also moves the other machine's home.
func newMapper(w *app.Workspace, homes []string, moves []Move) (*mapper, error) {
	at, err := w.Folders()
	if err != nil {
		return nil, err
	}
	m := &mapper{w: w, at: at, given: moves, moves: slices.Clone(moves)}
	for _, home := range homes {
		if home != "" && w.Home != "" {
			m.moves = append(m.moves, Move{home, w.Home})
		}
	}
	slices.SortStableFunc(m.moves, func(a, b Move) int { return cmp.Compare(len(b.From), len(a.From)) })
	return m, nil
}

// path returns where a folder or file of the other machine is on this one; "" if it is nowhere, as
// a path of another system.
func (m *mapper) path(there string) string {
	for _, move := range m.moves {
		if rel, ok := paths.Within(move.From, there); ok {
			return paths.Resolve(filepath.Join(move.To, rel))
		}
	}
	if !filepath.IsAbs(there) {
		return ""
	}
	return paths.Resolve(there)
}

// A target is a file below a folder.
type target struct{ folder, name string }

func (t target) path() string { return filepath.Join(t.folder, t.name) }

var errNoPlace = errors.New("this machine has no such folder: name one with --map OLD=NEW")

// of returns a file's place, or why it has none.
func (m *mapper) of(f File) (t target, err error) {
	if reason := refusal(f.Place, f.Path, m.w.Settings.Folder); reason != "" {
		return t, errors.New("refused: " + reason)
	}
	t.name = filepath.FromSlash(f.Path)
	project := ""
	if f.Project != "" {
		if project = m.path(f.Project); project == "" {
			return t, errNoPlace
		}
	}
	switch f.Place {
	case Global:
		t.folder = m.w.Beans()
	case Settings:
		if m.w.Home != "" {
			t.folder = filepath.Join(m.w.Home, ".beans")
		}
	case Sessions:
		folder := f.Folder
		if project != "" {
			folder = paths.FolderName(project)
		}
		t.folder, err = below(m.w.Expand(m.w.Settings.SessionsDir), folder)
	case State:
		name := f.Folder
		if project != "" {
			name = workspace.IndexName(project)
		}
		t.folder, err = below(m.at.Workspaces(), name)
	case Project:
		if t.folder = project; project != "" && m.covering(project) == "" {
			err = errOutside
		}
	case Document:
		return m.document(f)
	}
	if err == nil && t.folder == "" {
		err = errNoPlace
	}
	return t, err
}

// below returns a folder in a folder.
func below(folder, name string) (string, error) {
	if name == "" || name == "." || !filepath.IsLocal(name) || filepath.Base(name) != name || strings.Contains(name, `\`) || strings.HasPrefix(name, ".") {
		return "", errors.New("refused: its folder leads elsewhere")
	}
	return filepath.Join(folder, name), nil
}

var errOutside = errors.New("it is outside of the home folder: name its place with --map OLD=NEW")

// covering returns the folder that lets an export bring something to a path: the home, what --map
// names, or the workspace; else "". An export must not choose any other place.
func (m *mapper) covering(path string) string {
	folders := []string{m.w.Home, m.w.Project}
	for _, move := range m.given {
		folders = append(folders, move.To)
	}
	for _, folder := range folders {
		if folder == "" {
			continue
		}
		folder = paths.Resolve(folder)
		if _, inside := paths.Within(folder, path); inside {
			return folder
		}
	}
	return ""
}

// document returns the place of a file outside of projects.
func (m *mapper) document(f File) (target, error) {
	here := m.path(filepath.FromSlash(f.Path))
	if here == "" {
		return target{}, errNoPlace
	}
	folder := m.covering(here)
	rel, inside := paths.Within(folder, here)
	if folder == "" || !inside || rel == "." {
		return target{}, errOutside
	}
	if reason := refusal(Project, filepath.ToSlash(rel), m.w.Settings.Folder); reason != "" {
		return target{}, errors.New("refused: " + reason)
	}
	return target{folder, rel}, nil
}
