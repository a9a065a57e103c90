package notes

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/memcore/memcore/internal/beneath"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/secret"
	"github.com/memcore/memcore/store/keyword"
)

// Names in the folder of a session.
const (
	messagesName = "messages.jsonl"
	workingName  = "working-memory"
	overviewName = "overview.md"
	detailName   = "detail"
)

// OverviewTemplate is what a new session's overview says.
const OverviewTemplate = `# Working Memory

## Current Task
<!-- What are you working on? -->

## Key Decisions
<!-- Important decisions made and why -->

## Known Context
<!-- Project structure, tech stack, key files -->

## Pending Issues
<!-- Blockers or open questions -->

## Recent Operations
<!-- Quick summary of recent actions -->
`

// A Session is the working memory of one session of an agent, in a folder of its own: overview.md, which goes into every request, notes in detail/, and
// the raw messages.jsonl; the latter two are only searched. It is safe for concurrent use, also by several processes.
type Session struct {
	ID  string
	Dir string // absolute

	mu    sync.Mutex
	seen  map[string]*scanned // files as they were read, by path
	terms *keyword.Terms
}

// ErrNoSession means that there is no such session.
var ErrNoSession = errors.New("there is no such session")

// SessionsOf returns the folder of all sessions that ran in a folder, and in no other: ROOT/--home-me-project--, with a hash where that could be two
// (paths.FolderName). Earlier versions had no hash; what they wrote stays where it is.
func SessionsOf(root, cwd string) string {
	return filepath.Join(root, paths.FolderName(paths.Resolve(cwd)))
}

// NewSession makes a session in a folder of sessions. An empty id is made of the time.
func NewSession(sessions, id string) (*Session, error) {
	if id == "" {
		id = time.Now().UTC().Format("2006-01-02T15-04-05Z") + "-" + strings.ToLower(rand.Text()[:8])
	}
	if err := checkID(id); err != nil {
		return nil, err
	}
	dir := filepath.Join(sessions, id)
	if err := os.MkdirAll(filepath.Join(dir, workingName, detailName), 0o700); err != nil {
		return nil, fmt.Errorf("session %s: %w", id, err)
	}
	err := beneath.Create(paths.Resolve(dir), filepath.Join(workingName, overviewName), []byte(OverviewTemplate), 0o600)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("session %s: %w", id, err)
	}
	return OpenSession(sessions, id)
}

func checkID(id string) error {
	if len(id) > 200 || !filepath.IsLocal(id) || id != filepath.Base(id) || strings.HasPrefix(id, ".") || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || unicode.IsControl(r) || strings.ContainsRune(`/\:*?"<>|`, r) }) {
		return fmt.Errorf("%w: %.100q is no name of one", ErrNoSession, id)
	}
	return nil
}

// OpenSession returns a session that exists; an empty id is the one that was used last.
func OpenSession(sessions, id string) (*Session, error) {
	if id == "" {
		all, err := ListSessions(sessions)
		if err != nil {
			return nil, err
		}
		if len(all) == 0 {
			return nil, fmt.Errorf("%w in %s: none was made yet", ErrNoSession, sessions)
		}
		id = all[0]
	}
	if err := checkID(id); err != nil {
		return nil, err
	}
	dir := filepath.Join(sessions, id)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%w: %s", ErrNoSession, dir)
	}
	return &Session{ID: id, Dir: dir, seen: map[string]*scanned{}, terms: keyword.NewTerms()}, nil
}

// ListSessions returns the sessions in a folder, the one that was used last first.
func ListSessions(sessions string) ([]string, error) {
	entries, err := os.ReadDir(sessions)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	used := map[string]time.Time{}
	var all []string
	for _, entry := range entries {
		if !entry.IsDir() || checkID(entry.Name()) != nil {
			continue
		}
		all = append(all, entry.Name())
		for _, name := range []string{"", messagesName, filepath.Join(workingName, overviewName), filepath.Join(workingName, detailName)} {
			if info, err := os.Stat(filepath.Join(sessions, entry.Name(), name)); err == nil && info.ModTime().After(used[entry.Name()]) {
				used[entry.Name()] = info.ModTime()
			}
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		if c := used[b].Compare(used[a]); c != 0 {
			return c
		}
		return strings.Compare(b, a)
	})
	return all, nil
}

// Overview returns what goes into every request; "" while nobody has filled in the template.
func (s *Session) Overview(ctx context.Context) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	text, _, err := readFile(paths.Resolve(s.Dir), workingName+"/"+overviewName)
	if err != nil {
		return "", fmt.Errorf("overview: %w", err)
	}
	if text == OverviewTemplate {
		return "", nil
	}
	return text, nil
}

// OverviewPath is the file of the overview, for an agent that writes it with its own tools.
func (s *Session) OverviewPath() string { return filepath.Join(s.Dir, workingName, overviewName) }

// queuedName marks a session that is to be reflected upon.
const queuedName = "reflect"

// Queue notes that the session is to be reflected upon.
func (s *Session) Queue() error {
	if err := os.WriteFile(filepath.Join(s.Dir, queuedName), nil, 0o600); err != nil {
		return fmt.Errorf("queue session %s: %w", s.ID, err)
	}
	return nil
}

// Queued tells whether the session is to be reflected upon.
func (s *Session) Queued() bool {
	_, err := os.Stat(filepath.Join(s.Dir, queuedName))
	return err == nil
}

// Unqueue notes that it has been.
func (s *Session) Unqueue() error {
	if err := os.Remove(filepath.Join(s.Dir, queuedName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("session %s: %w", s.ID, err)
	}
	return nil
}

// A Message is a line of messages.jsonl.
type Message struct {
	Role    string    `json:"role"`
	Content string    `json:"content"`
	Time    time.Time `json:"timestamp,omitzero"`
}

// AppendOptions say how a message is written.
type AppendOptions struct {
	// Sync waits until the line is on the disk; else it is with the system, which survives the end of the process but not of the machine.
	Sync bool
	// MaxBytes is the size from which on the file is put aside and a new one begun; 0 means 64 MB.
	MaxBytes int64
}

// defaultLog is where a log is put aside.
const defaultLog = 64 << 20

// roles are those that a message can have.
var roles = []string{"user", "assistant", "system", "developer", "tool"}

// ErrRole means that a message has no role that is known.
var ErrRole = errors.New("a message needs a role: user, assistant, system, developer or tool")

// Append writes a message as one line. Lines of several processes do not mix, and a line that a crash has torn spoils no other. Secrets are
// taken out; it returns how many.
func (s *Session) Append(ctx context.Context, m Message, o AppendOptions) (redacted []secret.Finding, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !slices.Contains(roles, m.Role) {
		return nil, fmt.Errorf("%w, not %.40q", ErrRole, m.Role)
	}
	if m.Time.IsZero() {
		m.Time = time.Now().UTC()
	}
	m.Content, redacted = secret.Redact(m.Content)
	line, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(s.Dir, messagesName)
	if err := rotate(path, o.MaxBytes); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("message: %w", err)
	}
	line = append(line, '\n')
	if torn(file) {
		line = append([]byte{'\n'}, line...)
	}
	// One call: the system puts it behind what is there, whoever else writes.
	_, err = file.Write(line)
	if err == nil && o.Sync {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("message: %w", err)
	}
	return redacted, nil
}

// torn tells whether the last line of a file has no end: whoever wrote it did not come to it.
func torn(file *os.File) bool {
	info, err := file.Stat()
	if err != nil || info.Size() == 0 {
		return false
	}
	var last [1]byte
	_, err = file.ReadAt(last[:], info.Size()-1)
	return err == nil && last[0] != '\n'
}

// rotate puts a file aside that is too large. Of several processes that try, one does; a line that another is about to write goes to either
// file.
func rotate(path string, most int64) error {
	if most <= 0 {
		most = defaultLog
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() < most {
		return nil
	}
	aside := strings.TrimSuffix(path, ".jsonl") + "-" + time.Now().UTC().Format("20060102T150405.000000000Z") + ".jsonl"
	if now, err := os.Stat(path); err != nil || !os.SameFile(info, now) {
		return nil // another was faster
	}
	if aside, err = reserve(aside); err != nil {
		return fmt.Errorf("message log: %w", err)
	}
	if err = os.Rename(path, aside); err == nil {
		return nil
	}
	_ = os.Remove(aside) // nothing is in it
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("message log: %w", err)
}

// reserve makes an empty file under a name, or one like it if that is taken: renaming to it overwrites nothing, whatever the clock says.
func reserve(path string) (string, error) {
	free := path
	for n := 2; ; n++ {
		f, err := os.OpenFile(free, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			return free, f.Close()
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", err
		}
		free = fmt.Sprintf("%s-%d.jsonl", strings.TrimSuffix(path, ".jsonl"), n)
	}
}

// aside are the message files of a session that were put aside.
func (s *Session) aside() ([]string, error) {
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, entry := range entries {
		if name := entry.Name(); strings.HasPrefix(name, "messages-") && strings.HasSuffix(name, ".jsonl") {
			all = append(all, filepath.Join(s.Dir, name))
		}
	}
	return all, nil
}

// details are the notes of a session.
func (s *Session) details() ([]string, error) {
	var all []string
	root := filepath.Join(s.Dir, workingName, detailName)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path == root {
			return filepath.SkipAll
		}
		if err == nil && entry.Type().IsRegular() && strings.EqualFold(filepath.Ext(path), ".md") {
			all = append(all, path)
		}
		return err
	})
	return all, err
}

// readFrom returns what a file has from a place on, if it is the one that was known; else all of it. What is no file is as if it were not there.
func readFrom(path string, known fs.FileInfo, at int64) (data []byte, info fs.FileInfo, err error) {
	file, err := os.OpenFile(path, os.O_RDONLY|beneath.Nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	if info, err = file.Stat(); err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fs.ErrNotExist
	}
	if known == nil || !os.SameFile(known, info) || at > info.Size() {
		at = 0
	}
	if _, err = file.Seek(at, io.SeekStart); err != nil {
		return nil, nil, err
	}
	data, err = io.ReadAll(io.LimitReader(file, info.Size()-at))
	return data, info, err
}
