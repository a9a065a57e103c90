// Package session keeps the folders of sessions: an overview of the work, notes, and what was said.
//
// A session is a folder: overview.md is part of every request; the notes in detail/ and the
// messages in messages.jsonl are documents of the index. If the session's agent keeps a log that
// memcore reads, the folder has no messages but the path of that log. Several processes can write
// to one session.
package session

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/safefile"
)

// PathPrefix begins the paths of files of sessions in citations: "session:ID/messages.jsonl".
const PathPrefix = "session:"

// OverviewFile is the overview in the folder of a session, which every request has.
const OverviewFile = workingName + "/" + overviewName

// Names in the folder of a session.
const (
	messagesName = "messages.jsonl"
	workingName  = "working-memory"
	overviewName = "overview.md"
	detailName   = "detail"
	queuedName   = "reflect"  // marks a session that waits for reflection
	reviewedName = "reviewed" // holds a Position
	logName      = "log"      // holds the path of the log that the agent keeps
)

// In bytes: larger notes are skipped, larger logs rotated.
const (
	maxFile = 8 << 20
	maxLog  = 64 << 20
)

// A Session is one conversation, safe for concurrent use.
type Session struct {
	ID  string
	Dir string // absolute

	maxLog int64
}

// ErrNoSession means that no session has that ID.
var ErrNoSession = errors.New("there is no such session")

// FolderOf returns the sessions of cwd, such as ROOT/--home-me-project--.
func FolderOf(root, cwd string) string {
	return filepath.Join(root, paths.FolderName(paths.Resolve(cwd)))
}

// New creates or opens a session; id may be empty.
func New(sessions, id string) (*Session, error) {
	if id == "" {
		id = time.Now().UTC().Format("2006-01-02T15-04-05Z") + "-" + strings.ToLower(rand.Text()[:8])
	}
	if err := checkID(id); err != nil {
		return nil, err
	}
	dir := filepath.Join(sessions, id)
	err := safefile.MkdirAll(filepath.Join(dir, workingName, detailName), 0o700)
	if err == nil {
		err = safefile.Create(paths.Resolve(dir), filepath.Join(workingName, overviewName), []byte(overviewTemplate), 0o600)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("session %s: %w", id, err)
	}
	return Open(sessions, id)
}

// checkID accepts names that are valid on every system.
func checkID(id string) error {
	forbidden := func(r rune) bool { return r <= ' ' || unicode.IsControl(r) || strings.ContainsRune(`/\:*?"<>|`, r) }
	if len(id) > 200 || !filepath.IsLocal(id) || id != filepath.Base(id) || strings.HasPrefix(id, ".") || strings.ContainsFunc(id, forbidden) {
		return fmt.Errorf("%w: %.100q is not a session ID", ErrNoSession, id)
	}
	return nil
}

// Open takes the last used session if id is empty.
func Open(sessions, id string) (*Session, error) {
	if id == "" {
		last, err := Last(sessions, func(string) bool { return true })
		if err != nil {
			return nil, err
		}
		if last == "" {
			return nil, fmt.Errorf("%w in %s: there is none yet", ErrNoSession, sessions)
		}
		id = last
	}
	if err := checkID(id); err != nil {
		return nil, err
	}
	dir := filepath.Join(sessions, id)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%w: %s", ErrNoSession, dir)
	}
	return &Session{ID: id, Dir: dir, maxLog: maxLog}, nil
}

// Last returns the last used session that matches, if any.
func Last(sessions string, matches func(id string) bool) (string, error) {
	all, err := List(sessions)
	if i := slices.IndexFunc(all, matches); i >= 0 {
		return all[i], nil
	}
	return "", err
}

// List returns the IDs of sessions, the last used first.
func List(sessions string) ([]string, error) {
	entries, err := os.ReadDir(sessions)
	if errors.Is(err, fs.ErrNotExist) {
		info, _ := os.Stat(sessions)
		if info == nil {
			return nil, nil
		}
		err = fmt.Errorf("%s is no folder", sessions) // Windows says that a file does not exist as one
	}
	if err != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	used := map[string]time.Time{}
	var all []string
	for _, entry := range entries {
		id := entry.Name()
		if !entry.IsDir() || checkID(id) != nil {
			continue
		}
		all, used[id] = append(all, id), lastUsed(filepath.Join(sessions, id))
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(used[b].Compare(used[a]), strings.Compare(b, a)) })
	return all, nil
}

// Queue marks the session for reflection.
func (s *Session) Queue() error {
	if err := os.WriteFile(filepath.Join(s.Dir, queuedName), nil, 0o600); err != nil {
		return fmt.Errorf("queue session %s: %w", s.ID, err)
	}
	return nil
}

// Queued reports whether the session is marked for reflection.
func (s *Session) Queued() bool {
	_, err := os.Stat(filepath.Join(s.Dir, queuedName))
	return err == nil
}

// Unqueue removes Queue's mark.
func (s *Session) Unqueue() error {
	if err := safefile.Remove(s.Dir, queuedName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("session %s: %w", s.ID, err)
	}
	return nil
}
