package static

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memcore/memcore/internal/gitignore"
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
	m := r.assemble(found, l.rest(), l.given, func(c candidate) string { return c.conditional() })
	for _, c := range found {
		if c.content != nil && c.conditional() == "" {
			l.given[c.real] = true
		}
	}
	l.give(m)
	l.spent.Bytes += m.Usage.Bytes
	l.spent.Tokens += m.Usage.Tokens
	return m, ctx.Err()
}

// rest are the limits of what comes after the start: what is left of bytes and tokens, and no other limit of lines than a file's.
func (l *Layer) rest() Limits {
	limits := l.options.Limits
	limits.Lines = -1
	bytes, tokens := l.spent.Bytes, l.spent.Tokens
	if l.start != nil {
		bytes, tokens = bytes+l.start.Usage.Bytes, tokens+l.start.Usage.Tokens
	}
	if hard := limits.hard(); hard >= 0 {
		limits.Tokens = max(hard-tokens, 1)
	}
	if limits.Bytes >= 0 {
		limits.Bytes = max(limits.Bytes-bytes, 0)
	}
	return limits
}

// way returns the folders from the root of a path's project to the path, as far as they exist and memory is read there: up to the first that
// Exclude or .gitignore leave out, but for those above the one the agent works in.
func (r *reading) way(path string) []string {
	if len(path) > longestPath || strings.ContainsRune(path, 0) {
		return nil
	}
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

// resolveWay is the folder of a path, links resolved: the path itself if it is a folder.
func resolveWay(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return paths.Resolve(path)
	}
	return filepath.Dir(paths.Resolve(path))
}
