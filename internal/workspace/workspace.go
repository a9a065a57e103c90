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

	"github.com/memcore/memcore/internal/jsonfile"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/userdir"
)

// repository marks the root of a git repository.
const repository = ".git"

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
		for _, marker := range []string{repository, ".beans"} {
			if marker == ".beans" && at == home {
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
		if own, passed := userdir.Marks(at, repository, dir); own || passed != "" {
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
	// Paths are absolute, in order; none means the workspace.
	Paths []string `json:"paths,omitempty"`
	// Conversations adds agents' logs about this workspace; nil if nobody has decided.
	Conversations *bool `json:"conversations,omitempty"`
	// Earlier are paths that the workspace had, under which agents know it still.
	Earlier []string `json:"earlier,omitempty"`
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

// Add registers a path once. It must exist.
func (s *Sources) Add(path string) error {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if _, err := os.Stat(absolute); err != nil {
		return err
	}
	if !slices.Contains(s.Paths, absolute) {
		s.Paths = append(s.Paths, absolute)
	}
	return nil
}

// HasConversations reports whether agents' logs about this workspace are sources.
func (s Sources) HasConversations() bool { return s.Conversations != nil && *s.Conversations }

// WasAt adds earlier paths of the workspace.
func (s *Sources) WasAt(folders ...string) {
	for _, folder := range folders {
		if folder != s.Workspace && !slices.Contains(s.Earlier, folder) {
			s.Earlier = append(s.Earlier, folder)
		}
	}
}

// Forget removes a path, which need not exist.
func (s *Sources) Forget(path string) error {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	i := slices.Index(s.Paths, absolute)
	if i < 0 {
		return fmt.Errorf("%s is not registered", path)
	}
	s.Paths = slices.Delete(s.Paths, i, i+1)
	return nil
}
