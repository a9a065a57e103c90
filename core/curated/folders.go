package curated

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memcore/memcore/internal/git/gitignore"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/workspace"
)

// projectOf returns the repository around Dir, else Options.Project, else Dir.
func projectOf(o Options) string {
	home := ""
	if o.Home != "" {
		home = paths.Resolve(o.Home)
	}
	if root := workspace.RepositoryOf(o.Dir, home); root != "" {
		return root
	}
	if _, inside := below(o.Project, o.Dir); o.Project != "" && o.Project != home && inside {
		return o.Project
	}
	return o.Dir
}

// below ignores links.
func below(folder, path string) (string, bool) {
	inside, err := filepath.Rel(folder, path)
	return inside, err == nil && filepath.IsLocal(inside)
}

// chainOf returns the folders from root down to dir, both included.
func chainOf(root, dir string) []string {
	chain := []string{dir}
	for at := dir; at != root && at != filepath.Dir(at); {
		at = filepath.Dir(at)
		chain = append(chain, at)
	}
	slices.Reverse(chain)
	return chain
}

// relative returns a folder as gitignore.Stack takes it.
func relative(root, dir string) string {
	rel, ok := below(root, dir)
	if !ok || rel == "." {
		return ""
	}
	return filepath.ToSlash(rel) + "/"
}

// ignoredAbove reads .gitignore files from root to dir's parent.
func (r *finder) ignoredAbove(root, dir string) *gitignore.Stack {
	var stack *gitignore.Stack
	for _, at := range chainOf(root, dir) {
		if at != dir {
			stack = stack.Push(relative(root, at), r.ignores.In(at))
		}
	}
	return stack
}

// foldersTo returns the folders from a path's project or repository down to the path. It stops at
// one that Exclude or .gitignore match, unless Options.Dir is inside.
func (r *finder) foldersTo(path string) []string {
	if len(path) > paths.Longest || strings.ContainsRune(path, 0) {
		return nil
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.o.Dir, path)
	}
	dir := folderOf(path)
	root := r.project
	if _, inside := below(root, dir); !inside {
		if root = workspace.RepositoryOf(dir, ""); root == "" {
			root = r.covering(dir)
		}
		if root == "" {
			return nil
		}
	}
	var ignores *gitignore.Stack
	chain := chainOf(root, dir)
	for i, at := range chain {
		if info, err := os.Stat(at); err != nil || !info.IsDir() {
			return chain[:i]
		}
		rel := strings.TrimSuffix(relative(root, at), "/")
		if _, above := below(at, r.o.Dir); i > 0 && !above {
			excluded, _ := r.exclude.Match(rel, true)
			if excluded || ignores.Ignores(rel, true) {
				return chain[:i]
			}
		}
		ignores = ignores.Push(relative(root, at), r.ignores.In(at))
	}
	return chain
}

// folderOf returns a path's folder, or itself, links resolved.
func folderOf(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return paths.Resolve(path)
	}
	return filepath.Dir(paths.Resolve(path))
}
