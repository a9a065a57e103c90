// Package inventory says what memcore keeps of all projects, where, and how large it is.
package inventory

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/workspace"
)

// A Project is a workspace that memcore keeps something of. A folder may be missing.
type Project struct {
	Path     string // of the workspace, absolute; "" if only names of folders are known
	Name     string // of its index and state; "" if unknown
	State    string // folder
	Index    string // folder
	Sessions string // folder
}

// Projects returns all projects, by path.
func Projects(c *config.Config) ([]Project, error) {
	at, err := c.Folders()
	if err != nil {
		return nil, err
	}
	sessions := c.Expand(c.Settings.SessionsDir)
	var names, folders []string
	for _, dir := range []string{at.Workspaces(), at.Indexes()} {
		some, err := foldersIn(dir)
		if err != nil {
			return nil, err
		}
		names = append(names, some...)
	}
	if folders, err = foldersIn(sessions); err != nil {
		return nil, err
	}
	folders = slices.DeleteFunc(folders, func(name string) bool { return !strings.HasPrefix(name, "--") || !strings.HasSuffix(name, "--") })
	known := pathsOf(c, at, names)
	slices.Sort(names)
	var all []Project
	for _, name := range slices.Compact(names) {
		p := Project{Path: known.byName[name], Name: name, State: filepath.Join(at.Workspaces(), name), Index: filepath.Join(at.Indexes(), name)}
		if p.Path != "" {
			folder := paths.FolderName(p.Path)
			p.Sessions = filepath.Join(sessions, folder)
			folders = slices.DeleteFunc(folders, func(f string) bool { return f == folder })
		}
		all = append(all, p)
	}
	for _, folder := range folders {
		p := Project{Path: known.byFolder[folder], Sessions: filepath.Join(sessions, folder)}
		if p.Path != "" {
			p.Name = workspace.IndexName(p.Path)
			p.State, p.Index = filepath.Join(at.Workspaces(), p.Name), filepath.Join(at.Indexes(), p.Name)
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b Project) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Sessions, b.Sessions))
	})
	return all, nil
}

// foldersIn returns the names of folders in a folder, which may be missing.
func foldersIn(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("projects: %w", err)
	}
	for _, entry := range entries {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// A directory has the paths of workspaces.
type directory struct {
	byName   map[string]string // by workspace.IndexName
	byFolder map[string]string // by paths.FolderName
}

// pathsOf returns the paths that memcore has noted of workspaces.
func pathsOf(c *config.Config, at config.Folders, names []string) directory {
	d := directory{map[string]string{}, map[string]string{}}
	d.add(c.Project)
	for _, name := range names {
		if path, err := os.ReadFile(at.OwnOf(name).WorkspacePath()); err == nil {
			d.add(strings.TrimSuffix(string(path), "\n"))
		}
	}
	return d
}

func (d directory) add(path string) {
	if filepath.IsAbs(path) {
		d.byName[workspace.IndexName(path)], d.byFolder[paths.FolderName(path)] = path, path
	}
}
