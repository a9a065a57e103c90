package curated

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

	"github.com/memcore/memcore/internal/filetime"
	"github.com/memcore/memcore/internal/git/gitignore"
	"github.com/memcore/memcore/internal/git/repository"
)

// scanners is how many folders are read concurrently.
const scanners = 15

// A listing holds the facts a scan needs about a folder.
type listing struct {
	info    fs.FileInfo
	readAt  time.Time
	folders []string
	ignores bool // there is a .gitignore
	copies  bool // it is a working directory beside a main checkout
	memory  bool // there may be memory files or a hidden folder with some
}

// scan returns the folders below dir with possible memory, sorted.
func (r *finder) scan(ctx context.Context, dir string) ([]string, error) {
	var mu sync.Mutex
	var found []string
	type folder struct {
		path, rel string // rel to the project, slash-separated, with a slash at its end
		above     *gitignore.Stack
	}
	maxDepth := maxChildDepth
	if r.o.Hidden {
		maxDepth = maxHiddenDepth
	}
	level := []folder{{dir, relative(r.project, dir), r.ignoredAbove(r.project, dir)}}
	for depth := 0; len(level) > 0; depth++ {
		var next []folder
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(scanners)
		for _, at := range level {
			group.Go(func() error {
				l, err := r.list(at.path)
				if err != nil || ctx.Err() != nil || l.copies && depth > 0 {
					return ctx.Err() // skip a folder that cannot be read
				}
				above := at.above
				if l.ignores {
					above = above.Push(at.rel, r.ignores.In(at.path))
				}
				var inside []folder
				for _, name := range l.folders {
					rel := at.rel + name
					excluded, _ := r.exclude.Match(rel, true)
					excluded = excluded || strings.HasPrefix(name, ".") || above.Ignores(rel, true)
					if (r.o.Hidden || !excluded) && depth < maxDepth {
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

// list takes the listing from the cache if unchanged.
func (r *finder) list(dir string) (*listing, error) {
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	known := r.o.Cache.folder(dir)
	if known != nil && filetime.Same(known.info, info) && !filetime.Doubtful(info.ModTime(), known.readAt) {
		return known, nil
	}
	l := &listing{info: info, readAt: time.Now()}
	entries, err := r.readDir(dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		r.note(l, entry)
		if entry.Name() == repository.Marker && !entry.IsDir() {
			l.copies = repository.IsLinked(dir)
		}
	}
	r.o.Cache.storeFolder(dir, l)
	return l, nil
}

func (r *finder) note(l *listing, entry fs.DirEntry) {
	name := entry.Name()
	l.memory = l.memory || name == r.o.Folder
	switch {
	case name == ".gitignore":
		l.ignores = true
	case entry.IsDir() && name != ".git":
		l.folders = append(l.folders, name)
	case !entry.IsDir() && isMarkdown(name):
		l.memory = l.memory || slices.ContainsFunc(r.o.Names, func(n string) bool { return name == n || name == LocalName(n) })
	}
}
