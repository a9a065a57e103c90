// Package workspace knows which project a command is about and which paths were registered as its
// memory. It reads no memory itself.
package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/memcore/memcore/internal/jsonfile"
	"github.com/memcore/memcore/internal/private"
)

// Find returns the folder of the project that dir belongs to: the nearest folder at or above it that
// holds .git or .beans and not on a stranger's word (private.Marks), else dir itself. The home folder is
// no project on account of its .beans. The result is absolute, links resolved.
func Find(dir, home string) (string, error) {
	found, _, err := Look(dir, home)
	return found, err
}

// Look is Find, and also tells which .git and .beans it went past since a stranger made them, for a person.
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
	for at := start; ; at = filepath.Dir(at) {
		for _, marker := range []string{".git", ".beans"} {
			if marker == ".beans" && at == home {
				continue
			}
			counts, strange := private.Marks(at, marker, start)
			if counts {
				return at, passed, nil
			}
			if strange != "" {
				passed = append(passed, strange)
			}
		}
		if at == filepath.Dir(at) {
			return start, passed, nil
		}
	}
}

// IndexName is the name of the index folder of a workspace: stable, and different for every folder.
func IndexName(workspace string) string {
	sum := sha256.Sum256([]byte(workspace))
	return filepath.Base(workspace) + "-" + hex.EncodeToString(sum[:6])
}

// Sources is what was registered as the memory of a workspace.
type Sources struct {
	// Workspace is the folder the list is for; it is there for whoever looks into the file.
	Workspace string `json:"workspace"`
	// Paths are absolute paths of files and folders, in the order they were registered. None means
	// the workspace itself.
	Paths []string `json:"paths,omitempty"`
	// Conversations means that the logs which known agents keep of this workspace are read, too.
	Conversations bool `json:"conversations,omitempty"`
}

// Load returns the sources registered in file; those of a missing file are empty.
func Load(file string) (Sources, error) {
	s, err := jsonfile.Load[Sources](file)
	if err != nil {
		return Sources{}, fmt.Errorf("list of sources: %w: delete it and register the paths again", err)
	}
	return s, nil
}

// Change loads the sources, lets change alter them and saves them if they differ, while no other
// process does the same. If change returns an error, nothing is saved.
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

// Forget takes a path out, which need not exist any more.
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
