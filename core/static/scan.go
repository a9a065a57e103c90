package static

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/memcore/memcore/internal/gitignore"
)

// scanners is how many folders are read at a time.
const scanners = 15

// A listing is what matters of a folder.
type listing struct {
	modTime time.Time
	readAt  time.Time
	folders []string // that are not hidden
	ignores bool     // there is a .gitignore
	memory  bool     // there may be memory files or a hidden folder with some
}

// scan returns the folders below dir that may hold memory, sorted; those that git or Exclude leave out are not entered.
func (r *reading) scan(ctx context.Context, dir string) ([]string, error) {
	var mu sync.Mutex
	var found []string
	type folder struct {
		path, rel string // rel to the project, slash-separated, with a slash at its end
		above     *gitignore.Stack
	}
	level := []folder{{dir, relative(r.project, dir), r.ignoredAbove(r.project, dir)}}
	for depth := 0; len(level) > 0; depth++ {
		var next []folder
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(scanners)
		for _, at := range level {
			group.Go(func() error {
				l, err := r.list(at.path)
				if err != nil || ctx.Err() != nil {
					return ctx.Err() // one that cannot be read has nothing for us
				}
				above := at.above
				if l.ignores {
					above = above.Push(at.rel, r.ignores.In(at.path))
				}
				var inside []folder
				for _, name := range l.folders {
					rel := at.rel + name
					if excluded, _ := r.exclude.Match(rel, true); !excluded && !above.Ignores(rel, true) && depth < r.o.MaxDepth {
						inside = append(inside, folder{filepath.Join(at.path, name), rel + "/", above})
					}
				}
				mu.Lock()
				defer mu.Unlock()
				next = append(next, inside...)
				if l.memory && depth > 0 {
					found = append(found, at.path)
				}
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return nil, err
		}
		level = next
	}
	slices.Sort(found)
	return found, nil
}

// relative is a folder's path relative to root, as a Stack wants it.
func relative(root, dir string) string {
	rel, ok := below(root, dir)
	if !ok || rel == "." {
		return ""
	}
	return filepath.ToSlash(rel) + "/"
}

// ignoredAbove are the .gitignore files of the folders from root to above dir.
func (r *reading) ignoredAbove(root, dir string) *gitignore.Stack {
	var stack *gitignore.Stack
	for _, at := range chainOf(root, dir) {
		if at != dir {
			stack = stack.Push(relative(root, at), r.ignores.In(at))
		}
	}
	return stack
}

// list returns what matters of a folder, read again only if it has changed.
func (r *reading) list(dir string) (*listing, error) {
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	cache := r.o.Cache
	cache.mu.Lock()
	known := cache.folders[dir]
	cache.mu.Unlock()
	if known != nil && known.modTime.Equal(info.ModTime()) && known.readAt.Sub(known.modTime) > unsure {
		return known, nil
	}
	l := &listing{modTime: info.ModTime(), readAt: time.Now()}
	entries, err := r.readDir(dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		r.note(l, entry)
	}
	cache.mu.Lock()
	defer cache.mu.Unlock()
	if cache.folders == nil {
		cache.folders = map[string]*listing{}
	}
	cache.folders[dir] = l
	return l, nil
}

func (r *reading) note(l *listing, entry fs.DirEntry) {
	name := entry.Name()
	switch {
	case name == ".gitignore":
		l.ignores = true
	case name == r.o.Folder:
		l.memory = true
	case entry.IsDir() && !strings.HasPrefix(name, "."):
		l.folders = append(l.folders, name)
	case !entry.IsDir() && isMarkdown(name):
		l.memory = l.memory || slices.ContainsFunc(r.o.Names, func(n string) bool { return name == n || name == LocalName(n) })
	}
}
