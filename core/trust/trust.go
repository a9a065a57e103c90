// Package trust stores which folders may instruct an agent. Only their curated memory goes into
// prompts.
//
// A decision holds for a folder and all below it, up to a nearer decision. It does not extend into
// folders that anyone may write to (/tmp, /var). Paths are compared with their links resolved.
package trust

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/memcore/memcore/internal/filetime"
	"github.com/memcore/memcore/internal/jsonfile"
	"github.com/memcore/memcore/internal/paths"
)

// ErrRoot means that a disk's root was to be trusted.
var ErrRoot = errors.New("the root of a disk cannot be trusted as a whole: name a folder below it")

var (
	// errNotText means that JSON cannot hold a path without changing it.
	errNotText = errors.New("its name is not valid UTF-8, so the decision would apply to another folder: rename it, or decide about a folder above it")
	// errOthers means that other users may change the decisions, so they do not count.
	errOthers = errors.New("other users may write to it")
)

// A Decision is what was decided about a folder.
type Decision struct {
	Folder  string    `json:"folder"` // absolute, links resolved
	Trusted bool      `json:"trusted"`
	At      time.Time `json:"at,omitzero"` // zero if Configured
	// Configured means that it comes from the configuration.
	Configured bool `json:"configured,omitempty"`
}

// A Store keeps decisions in a file. It is safe for concurrent use, also by several processes.
type Store struct {
	file       string
	configured map[string]Decision
	shared     []string // folders that anyone may write to

	mu      sync.Mutex
	seen    fs.FileInfo // of the file when it was read
	decided map[string]Decision
	err     error // of reading it
}

// document is the content of the file.
type document struct {
	Folders map[string]entry `json:"folders"` // by path
}

type entry struct {
	Trusted bool      `json:"trusted"`
	At      time.Time `json:"at"`
}

// Open returns the store in a file, which may be missing. The configuration trusts folders, unless
// the file has a decision about the same folder.
func Open(file string, folders ...string) *Store {
	s := &Store{file: file, configured: map[string]Decision{}}
	for _, folder := range folders {
		at := paths.Resolve(folder)
		s.configured[at] = Decision{Folder: at, Trusted: true, Configured: true}
	}
	for _, folder := range []string{"/tmp", "/var", os.TempDir()} {
		s.shared = append(s.shared, paths.Spellings(folder)...)
	}
	return s
}

// Of returns the decision that holds for a folder, if any.
func (s *Store) Of(folder string) (d Decision, ok bool, err error) {
	decided, err := s.load()
	if err != nil {
		return Decision{}, false, err
	}
	path := paths.Resolve(folder)
	for at := path; ; at = filepath.Dir(at) {
		d, ok := decided[at]
		if !ok {
			d, ok = s.configured[at]
		}
		if ok && (!d.Trusted || s.covers(at, path)) {
			return d, true, nil
		}
		if at == filepath.Dir(at) {
			return Decision{}, false, nil
		}
	}
}

// WouldCover reports whether trust in a folder would extend to a path.
func (s *Store) WouldCover(folder, path string) bool {
	folder, path = paths.Resolve(folder), paths.Resolve(path)
	_, inside := paths.Within(folder, path)
	return inside && s.covers(folder, path)
}

// covers reports whether trust in a folder extends to a path below it.
func (s *Store) covers(folder, path string) bool {
	for _, shared := range s.shared {
		_, inside := paths.Within(shared, path)
		_, decidedInside := paths.Within(shared, folder)
		if inside && (!decidedInside || folder == shared && path != shared) {
			return false
		}
	}
	return true
}

// Covering returns the folder whose trust covers this one, or "".
func (s *Store) Covering(folder string) (string, error) {
	d, ok, err := s.Of(folder)
	if err != nil || !ok || !d.Trusted {
		return "", err
	}
	return d.Folder, nil
}

// All returns all decisions, sorted by folder.
func (s *Store) All() ([]Decision, error) {
	decided, err := s.load()
	if err != nil {
		return nil, err
	}
	all := maps.Clone(s.configured)
	maps.Copy(all, decided)
	return slices.SortedFunc(maps.Values(all), func(a, b Decision) int { return strings.Compare(a.Folder, b.Folder) }), nil
}

// Set decides about an existing folder.
func (s *Store) Set(ctx context.Context, folder string, trusted bool) (Decision, error) {
	if info, err := os.Stat(folder); err != nil {
		return Decision{}, err
	} else if !info.IsDir() {
		return Decision{}, fmt.Errorf("%s is not a folder", folder)
	}
	path := paths.Resolve(folder)
	if trusted && path == filepath.Dir(path) {
		return Decision{}, ErrRoot
	}
	if !isText(path) {
		return Decision{}, fmt.Errorf("no decision is saved about %q: %w", path, errNotText)
	}
	if _, err := s.load(); err != nil {
		return Decision{}, err
	}
	d := Decision{Folder: path, Trusted: trusted, At: time.Now().UTC().Truncate(time.Second)}
	_, err := jsonfile.Change(ctx, s.file, func(doc *document) error {
		if doc.Folders == nil {
			doc.Folders = map[string]entry{}
		}
		if doc.Folders[path].Trusted != trusted || doc.Folders[path].At.IsZero() {
			doc.Folders[path] = entry{trusted, d.At}
		}
		return nil
	})
	return d, err
}

// isText reports whether JSON keeps a path as it is. Invalid UTF-8 would become U+FFFD.
func isText(path string) bool { return !strings.ContainsRune(path, utf8.RuneError) }

// Remove deletes the decision about a folder, if any, and reports whether there was one.
func (s *Store) Remove(ctx context.Context, folder string) (bool, error) {
	if _, err := s.load(); err != nil {
		return false, err
	}
	path, had := paths.Resolve(folder), false
	_, err := jsonfile.Change(ctx, s.file, func(doc *document) error {
		_, had = doc.Folders[path]
		delete(doc.Folders, path)
		return nil
	})
	return had, err
}

// load returns the decisions of the file. It reads the file only if changed.
func (s *Store) load() (map[string]Decision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	info, err := os.Stat(s.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.seen, s.decided, s.err = nil, nil, nil
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("decisions about trust: %w", err)
	case filetime.Same(s.seen, info):
		return s.decided, s.err
	}
	s.seen, s.decided, s.err = info, nil, nil
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		s.err = fmt.Errorf("decisions about trust in %s are not used: %w: run 'chmod go-w %s' if they are yours", s.file, errOthers, s.file)
		return nil, s.err
	}
	doc, err := jsonfile.Load[document](s.file)
	if err != nil {
		s.err = fmt.Errorf("decisions about trust cannot be read, so no folder is trusted: %w: mend or delete the file", err)
		return nil, s.err
	}
	s.decided = make(map[string]Decision, len(doc.Folders))
	for folder, e := range doc.Folders {
		if e.Trusted && !isText(folder) {
			continue // an earlier version wrote it for an unknown folder
		}
		s.decided[filepath.Clean(folder)] = Decision{Folder: filepath.Clean(folder), Trusted: e.Trusted, At: e.At}
	}
	return s.decided, nil
}
