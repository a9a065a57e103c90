// Package workspace finds a workspace and lists its sources.
package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/memcore/memcore/internal/git/repository"
	"github.com/memcore/memcore/internal/jsonfile"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/userdir"
)

// beans marks a folder that is a workspace without being a repository.
const beans = ".beans"

// Find returns the nearest folder at or above dir with .git or .beans, else dir; absolute,
// resolved. Strangers' markers do not count (userdir.Marks), nor does .beans in the home.
func Find(dir, home string) (string, error) {
	found, _, err := Look(dir, home)
	return found, err
}

// Look is Find, with strangers' markers and their owners.
func Look(dir, home string) (found string, passed []string, err error) {
	start, err := filepath.Abs(dir)
	if err != nil {
		return "", nil, err
	}
	if start, err = filepath.EvalSymlinks(start); err != nil {
		return "", nil, fmt.Errorf("workspace %s: %w", dir, err)
	}
	if info, err := os.Stat(start); err != nil || !info.IsDir() {
		return "", nil, errors.Join(err, fmt.Errorf("workspace %s is not a folder", dir))
	}
	if resolved, err := filepath.EvalSymlinks(home); err == nil {
		home = resolved
	}
	for at := range upFrom(start) {
		for _, marker := range []string{repository.Marker, beans} {
			if marker == beans && at == home {
				continue
			}
			counts, strange := userdir.Marks(at, marker, start)
			if counts {
				return at, passed, nil
			}
			if strange != "" {
				passed = append(passed, strange)
			}
		}
	}
	return start, passed, nil
}

// A Repository is the root of a git repository.
type Repository struct {
	Root string
	Own  bool // false: a stranger made it (userdir.Marks)
}

// Repositories returns those at or above dir, absolute, nearest first.
func Repositories(dir string) []Repository {
	var all []Repository
	for at := range upFrom(dir) {
		if own, passed := userdir.Marks(at, repository.Marker, dir); own || passed != "" {
			all = append(all, Repository{at, own})
		}
	}
	return all
}

// RepositoryOf returns the nearest own repository at or above dir, or "". Below home, one at or
// above home does not count: trust in dotfiles would be trust in everything below. home may be "".
func RepositoryOf(dir, home string) string {
	for _, r := range Repositories(dir) {
		if _, inHome := paths.Within(home, dir); home != "" && inHome && dir != home {
			if _, above := paths.Within(r.Root, home); above {
				return ""
			}
		}
		if r.Own {
			return r.Root
		}
	}
	return ""
}

// upFrom yields a folder and its parents.
func upFrom(dir string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for at := dir; yield(at) && at != filepath.Dir(at); at = filepath.Dir(at) {
		}
	}
}

// IndexName returns the unique name of a workspace's index folder.
func IndexName(workspace string) string {
	sum := sha256.Sum256([]byte(workspace))
	return filepath.Base(workspace) + "-" + hex.EncodeToString(sum[:6])
}

// Sources are those registered for a workspace.
type Sources struct {
	// Workspace is for people who read the file.
	Workspace string `json:"workspace"`
	// Paths are absolute, in order, beside the files of the project.
	Paths []string `json:"paths,omitempty"`
	// WithoutProject leaves out the files of the project.
	WithoutProject bool `json:"withoutProject,omitempty"`
	// Conversations adds agents' logs about this workspace; nil if nobody has decided.
	Conversations *bool `json:"conversations,omitempty"`
	// Folders are the project's working directories that memcore has seen, and paths that it had
	// before it moved. Agents know it by them, also after they are gone.
	Folders []string `json:"folders,omitempty"`
	// Left are those of Folders that have become something else, with since when. What ran there
	// before is still of this project.
	Left map[string]time.Time `json:"left,omitempty"`
	// Since is when the project began, if its folder was another project's before: what ran there
	// until then is of that one.
	Since time.Time `json:"since,omitzero"`
	// Mark is Project.Mark when memcore saw the project last.
	Mark string `json:"mark,omitempty"`
	// Others are folders in those that were other projects' when memcore saw them.
	Others []string `json:"others,omitempty"`
}

// Load reads a file, which may be missing.
func Load(file string) (Sources, error) {
	s, err := jsonfile.Load[Sources](file)
	if err != nil {
		return Sources{}, fmt.Errorf("list of sources: %w: delete it and register the paths again", err)
	}
	return s, nil
}

// Change is jsonfile.Change for sources.
func Change(ctx context.Context, file string, change func(*Sources) error) (Sources, error) {
	return jsonfile.Change(ctx, file, change)
}

// Add registers a path, which must exist, once. That of Workspace takes back Forget.
func (s *Sources) Add(path string) error {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if _, err := os.Stat(absolute); err != nil {
		return err
	}
	if s.isProject(absolute) {
		s.WithoutProject = false
	} else if !slices.Contains(s.Paths, absolute) {
		s.Paths = append(s.Paths, absolute)
	}
	return nil
}

func (s *Sources) isProject(absolute string) bool {
	return paths.Resolve(absolute) == s.Workspace
}

// HasConversations reports whether agents' logs about this workspace are sources.
func (s Sources) HasConversations() bool { return s.Conversations != nil && *s.Conversations }

// Unseen returns those folders that Saw would add.
func (s Sources) Unseen(folders []string) (unseen []string) {
	for _, folder := range folders {
		if folder != s.Workspace && !slices.Contains(s.Folders, folder) && !slices.Contains(unseen, folder) {
			unseen = append(unseen, folder)
		}
	}
	return unseen
}

// Saw adds working directories of the project.
func (s *Sources) Saw(folders ...string) { s.Folders = append(s.Folders, s.Unseen(folders)...) }

// Forget removes a path, which need not exist. Without that of Workspace only other paths are
// indexed.
func (s *Sources) Forget(path string) error {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	i := slices.Index(s.Paths, absolute)
	if i < 0 && s.isProject(absolute) && !s.WithoutProject {
		s.WithoutProject = true
		return nil
	}
	if i < 0 {
		return fmt.Errorf("%s is not registered", path)
	}
	s.Paths = slices.Delete(s.Paths, i, i+1)
	return nil
}
