package source

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/memcore/memcore/internal/git/history"
	"github.com/memcore/memcore/internal/git/repository"
	"github.com/memcore/memcore/internal/paths"
)

// A Committer is a Source that knows when its documents were committed.
type Committer interface {
	// Committed returns when the last commit changed each document, by its path, for those that a
	// repository tracks and that have not changed since. Beside an error are those that it does not
	// concern.
	Committed(ctx context.Context, docs []Document) (map[string]time.Time, error)
}

// maxHistory bounds how long a repository is read: about twenty thousand commits.
const maxHistory = 2 * time.Second

// Committed implements Committer. It reads the history of each repository once.
func (f *Folder) Committed(ctx context.Context, docs []Document) (map[string]time.Time, error) {
	at, err := f.locate()
	if err != nil {
		return nil, err
	}
	files, names := map[string][]history.File{}, map[string]map[string]string{} // by repository
	roots := map[string]string{}                                                // of folders
	for _, doc := range docs {
		rel, ok := paths.Within(at.path, doc.File)
		if !ok {
			continue
		}
		file := filepath.Join(at.real, rel)
		root := rootAround(filepath.Dir(file), roots)
		inRoot, ok := paths.Within(root, file)
		if root == "" || !ok {
			continue
		}
		name := filepath.ToSlash(inRoot)
		files[root] = append(files[root], history.File{Name: name, Size: doc.Size, Modified: doc.ModTime})
		if names[root] == nil {
			names[root] = map[string]string{}
		}
		names[root][name] = doc.Path
	}
	all := map[string]time.Time{}
	var errs []error
	inTime, stop := context.WithTimeout(ctx, maxHistory)
	defer stop()
	for root := range files {
		found, err := history.LastChanged(inTime, root, files[root])
		errs = append(errs, err)
		for name, at := range found {
			all[names[root][name]] = at
		}
	}
	return all, errors.Join(errs...)
}

// rootAround returns the nearest folder that has a .git, from a folder upwards, or "". It remembers
// what it finds in known.
func rootAround(folder string, known map[string]string) (root string) {
	if root, ok := known[folder]; ok {
		return root
	}
	parent := filepath.Dir(folder)
	if _, err := os.Lstat(filepath.Join(folder, repository.Marker)); err == nil {
		root = folder
	} else if parent != folder {
		root = rootAround(parent, known)
	}
	known[folder] = root
	return root
}
