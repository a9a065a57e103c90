package static

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/memcore/memcore/internal/paths"
)

// LoadFor returns memory of the folders on the way to a file or folder that this session was not given before: memory just in
// time, for an agent that is about to touch it. path need not exist; a relative one is relative to Options.Dir. Outside of the
// project it is that of the repository around the path, if that is trusted. Without anything new the memory is empty.
func (l *Layer) LoadFor(ctx context.Context, path string) (Memory, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.reading(ctx)
	var found []candidate
	for _, dir := range r.way(path) {
		found = append(found, r.folder(dir, Directory)...)
	}
	if err := r.read(found); err != nil {
		return Memory{}, err
	}
	found = slices.DeleteFunc(found, func(c candidate) bool { return c.content != nil && l.given[c.real] })
	m := r.assemble(found, l.rest(), func(c candidate) string { return c.conditional() })
	for _, c := range found {
		if c.content != nil && c.conditional() == "" {
			l.given[c.real] = true
		}
	}
	l.give(m)
	l.spent += m.Usage.Tokens
	return m, ctx.Err()
}

// rest are the limits of what comes after the start: what is left of the tokens, and no other limit of lines than a file's.
func (l *Layer) rest() Limits {
	limits := l.options.Limits
	limits.Lines = -1
	spent := l.spent
	if l.start != nil {
		spent += l.start.Usage.Tokens
	}
	if hard := limits.hard(); hard >= 0 {
		limits.Tokens = max(hard-spent, 1)
	}
	return limits
}

// way returns the folders from the root of a path's project to the path, as far as memory is read there.
func (r *reading) way(path string) []string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.o.Dir, path)
	}
	dir := resolveWay(path)
	root := r.project
	if _, inside := below(root, dir); !inside {
		if root = repositoryOf(dir); root == "" {
			root = r.covering(dir)
		}
		if root == "" {
			return nil
		}
	}
	chain := chainOf(root, dir)
	for i, at := range chain {
		if r.leavesOut(root, at) {
			return chain[:i]
		}
	}
	return chain
}

// leavesOut tells whether memory of a folder is not read because of Exclude or .gitignore. The folders above the one the agent
// works in always are.
func (r *reading) leavesOut(root, dir string) bool {
	if _, above := below(dir, r.o.Dir); above || dir == root {
		return false
	}
	rel, _ := below(root, dir)
	rel = filepath.ToSlash(rel)
	excluded, _ := r.exclude.Match(rel, true)
	return excluded || r.ignoredAbove(root, dir).Ignores(rel, true)
}

// resolveWay is the folder of a path, links resolved: the path itself if it is a folder.
func resolveWay(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return paths.Resolve(path)
	}
	return filepath.Dir(paths.Resolve(path))
}
