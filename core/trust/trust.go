// Package trust remembers which folders may act on an agent: curated memory of a trusted folder goes into prompts as
// instructions, that of others does not.
//
// A decision about a folder holds for everything below it, unless a nearer folder has one of its own. Folders that anybody may
// write to (/tmp, /var) are not covered by a decision about a folder above them. Without a decision a folder is not
// trusted. Paths are compared with their links resolved.
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

	"github.com/memcore/memcore/internal/jsonfile"
	"github.com/memcore/memcore/internal/paths"
)

// Errors a caller may act on.
var (
	// ErrRoot means that everything there is was to be trusted.
	ErrRoot = errors.New("the root of a disk cannot be trusted as a whole: name a folder below it")
	// ErrNotText means that a path cannot be written down without becoming that of another folder.
	ErrNotText = errors.New("its name is not valid text (UTF-8), so that the decision would be kept for another folder: rename it, or decide about a folder above it")
	// ErrOthers means that other users may change the decisions, which are therefore not used.
	ErrOthers = errors.New("other users may write to it")
)

// A Decision is what was decided about a folder.
type Decision struct {
	Folder  string    `json:"folder"` // absolute, links resolved
	Trusted bool      `json:"trusted"`
	At      time.Time `json:"at,omitzero"` // zero for one of the configuration
	// Configured decisions come from the configuration, not from the store.
	Configured bool `json:"configured,omitempty"`
}

// A Store keeps decisions in a file. It is safe for concurrent use, also by several processes.
type Store struct {
	file       string
	configured map[string]Decision
	shared     []string // folders that anybody may write to

	mu      sync.Mutex
	seen    fs.FileInfo // of the file as it was read
	decided map[string]Decision
	err     error // of reading it
}

// document is what the file holds.
type document struct {
	Folders map[string]entry `json:"folders"` // by path
}

type entry struct {
	Trusted bool      `json:"trusted"`
	At      time.Time `json:"at"`
}

// Open returns the store in a file, which need not exist. Folders are trusted by configuration, whatever the file says about
// folders above them; a decision about the same folder counts more.
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

// Of returns the decision that holds for a folder; ok is false if there is none.
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

// WouldCover tells whether trust in a folder would extend to a path.
func (s *Store) WouldCover(folder, path string) bool {
	folder, path = paths.Resolve(folder), paths.Resolve(path)
	_, inside := paths.Within(folder, path)
	return inside && s.covers(folder, path)
}

// covers tells whether trust in a folder extends to a path below it: not into places where anybody may write.
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

// Covering returns the folder whose trust covers this one; "" if it is not trusted.
func (s *Store) Covering(folder string) (string, error) {
	d, ok, err := s.Of(folder)
	if err != nil || !ok || !d.Trusted {
		return "", err
	}
	return d.Folder, nil
}

// All returns the decisions, those of the configuration among them, by folder.
func (s *Store) All() ([]Decision, error) {
	decided, err := s.load()
	if err != nil {
		return nil, err
	}
	all := maps.Clone(s.configured)
	maps.Copy(all, decided)
	return slices.SortedFunc(maps.Values(all), func(a, b Decision) int { return strings.Compare(a.Folder, b.Folder) }), nil
}

// Set decides about a folder, which must exist, and returns the decision.
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
		return Decision{}, fmt.Errorf("nothing is decided about %q: %w", path, ErrNotText)
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

// isText tells whether JSON keeps a path as it is. Bytes that are no UTF-8 become U+FFFD there, so that a path with that may have been any other.
func isText(path string) bool { return !strings.ContainsRune(path, utf8.RuneError) }

// Remove takes back what was decided about a folder, which need not exist any more. It tells whether there was something.
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

// load returns the decisions of the file, read again only if it has changed.
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
	case s.seen != nil && os.SameFile(s.seen, info) && s.seen.Size() == info.Size() && s.seen.ModTime().Equal(info.ModTime()):
		return s.decided, s.err
	}
	s.seen, s.decided, s.err = info, nil, nil
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		s.err = fmt.Errorf("decisions about trust in %s are not used: %w: run 'chmod go-w %s' if they are yours", s.file, ErrOthers, s.file)
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
			continue // an earlier version has written it, for a folder that nobody can tell now
		}
		s.decided[filepath.Clean(folder)] = Decision{Folder: filepath.Clean(folder), Trusted: e.Trusted, At: e.At}
	}
	return s.decided, nil
}
