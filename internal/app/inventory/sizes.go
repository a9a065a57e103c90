package inventory

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/internal/app/config"
)

// Sizes are in bytes.
type Sizes struct {
	Notes    int64 `json:"notes"`    // curated memory, facts and episodes of all projects, and global memory
	Sessions int64 `json:"sessions"` // with proposals
	Indexes  int64 `json:"indexes"`
	Caches   int64 `json:"caches"` // embeddings, models
	Turns    int64 `json:"turns"`  // what hooks gave and agents used
	State    int64 `json:"state"`  // the rest: the journal, lists of sources and of forgotten texts
	Total    int64 `json:"total"`
	// Projects are those with anything, by path.
	Projects []ProjectSize `json:"projects"`
}

// A ProjectSize is a project's part of Sizes.
type ProjectSize struct {
	Path     string `json:"path"` // of the workspace, else the name of its state or of its sessions' folder
	Gone     bool   `json:"gone,omitempty"`
	Notes    int64  `json:"notes"`
	Sessions int64  `json:"sessions"`
	Count    int    `json:"sessionCount"`
	Index    int64  `json:"index"`
	Turns    int64  `json:"turns"`
	State    int64  `json:"state"`
	Total    int64  `json:"total"`
}

// Measure adds up the files of all projects.
func Measure(ctx context.Context, c *config.Config) (Sizes, error) {
	all, err := Projects(c)
	if err != nil {
		return Sizes{}, err
	}
	at, err := c.Folders()
	if err != nil {
		return Sizes{}, err
	}
	m := meter{ctx: ctx}
	s := Sizes{Projects: []ProjectSize{}, Caches: m.size(at.Embeddings()) + m.size(at.Models()), State: m.size(at.Undo())}
	if beans := c.Beans(); beans != "" {
		s.Notes += m.size(beans)
	}
	if dir := c.Expand(c.Settings.DataDir); filepath.IsAbs(dir) {
		s.Notes += m.size(dir) // of all projects together
	}
	for _, p := range all {
		size := m.project(c, at, p)
		s.Notes, s.Sessions, s.Indexes, s.Turns, s.State = s.Notes+size.Notes, s.Sessions+size.Sessions, s.Indexes+size.Index, s.Turns+size.Turns, s.State+size.State
		if size.Total > 0 {
			s.Projects = append(s.Projects, size)
		}
	}
	s.Total = s.Notes + s.Sessions + s.Indexes + s.Caches + s.Turns + s.State
	return s, m.err
}

// A meter adds up files and keeps its first error.
type meter struct {
	ctx context.Context
	err error
}

func (m *meter) project(c *config.Config, at config.Folders, p Project) ProjectSize {
	s := ProjectSize{Path: p.Path}
	switch {
	case p.Path != "":
		if _, err := os.Stat(p.Path); errors.Is(err, fs.ErrNotExist) {
			s.Gone = true
		}
		s.Notes = m.notes(c, p.Path)
	case p.Name != "":
		s.Path = p.Name
	default:
		s.Path = filepath.Base(p.Sessions)
	}
	if p.Sessions != "" {
		s.Sessions = m.size(p.Sessions)
		ids, err := session.List(p.Sessions)
		m.note(err)
		s.Count = len(ids)
	}
	if p.Name != "" {
		own := at.OwnOf(p.Name)
		s.Index = m.size(p.Index)
		for _, file := range own.Journal().Files() {
			s.Turns += m.size(file)
		}
		s.State = m.size(p.State) - s.Turns
	}
	s.Total = s.Notes + s.Sessions + s.Index + s.Turns + s.State
	return s
}

// notes adds up the curated memory, facts and episodes of a project.
func (m *meter) notes(c *config.Config, project string) (n int64) {
	for _, name := range append([]string{c.Settings.Folder}, c.Settings.FileNames...) {
		if c.Home == project && name == c.Settings.Folder {
			continue // global memory
		}
		n += m.size(filepath.Join(project, name))
	}
	if dir := c.Settings.DataDir; !filepath.IsAbs(c.Expand(dir)) {
		n += m.size(filepath.Join(project, dir))
	}
	return n
}

// size adds up a file, or the files in a folder; what is missing has none.
func (m *meter) size(path string) (n int64) {
	err := filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil {
			err = m.ctx.Err()
		}
		if err == nil && entry.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = entry.Info(); err == nil {
				n += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	m.note(err)
	return n
}

func (m *meter) note(err error) {
	if m.err == nil {
		m.err = err
	}
}
