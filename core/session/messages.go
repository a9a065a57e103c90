package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/internal/jsonfile"
	"github.com/memcore/memcore/internal/safefile"
	"github.com/memcore/memcore/internal/text/secret"
)

// A Message is a line of messages.jsonl.
type Message struct {
	Role    string    `json:"role"`
	Content string    `json:"content"`
	Time    time.Time `json:"timestamp,omitzero"`
	// Citation is the message's place in the log, such as messages.jsonl#L45.
	Citation string `json:"-"`
}

// A Redaction names a secret that was taken out.
type Redaction = secret.Finding

// AppendOptions set how Append writes.
type AppendOptions struct {
	// Sync waits until the message is on disk. Else a crash of the machine can lose it, until
	// Session.Sync returns.
	Sync bool
}

var roles = []string{"user", "assistant", "system", "developer", "tool"}

// ErrRole means that a message has an unknown role.
var ErrRole = errors.New("a message needs a role: user, assistant, system, developer or tool")

// Append writes a message as one line of the log and returns the redacted secrets.
func (s *Session) Append(ctx context.Context, m Message, o AppendOptions) (redacted []Redaction, err error) {
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
	file := filepath.Join(s.Dir, messagesName)
	if err := rotate(file, s.maxLog); err != nil {
		return nil, fmt.Errorf("message log: %w", err)
	}
	if err := jsonfile.AppendLine(file, line); err != nil {
		return nil, fmt.Errorf("message: %w", err)
	}
	if o.Sync {
		return redacted, s.Sync()
	}
	return redacted, nil
}

// Sync waits until all appended messages are on disk.
func (s *Session) Sync() error {
	err := syncFile(filepath.Join(s.Dir, messagesName))
	if errors.Is(err, fs.ErrNotExist) { // empty, or just rotated, which synced it
		err = nil
	}
	if err = errors.Join(err, safefile.SyncFolder(s.Dir)); err != nil {
		return fmt.Errorf("message log: %w", err)
	}
	return nil
}

func syncFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR|safefile.Nonblock, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// rotate renames a log that has reached its limit, once it is on disk. Another process may do so
// first.
func rotate(log string, limit int64) error {
	if info, err := os.Stat(log); err != nil || info.Size() < limit {
		return nil
	}
	if err := syncFile(log); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	now := time.Now().UTC().Format("20060102T150405.000000000Z")
	rotated := strings.TrimSuffix(log, ".jsonl") + "-" + now + "-" + strings.ToLower(rand.Text()[:6]) + ".jsonl"
	if err := os.Rename(log, rotated); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// rotatedLogs returns the paths of the logs that were rotated.
func (s *Session) rotatedLogs() ([]string, error) {
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

// Messages returns the messages of the session, oldest first.
func (s *Session) Messages(ctx context.Context) ([]Message, error) {
	units, _, err := s.units(ctx, SourceMessages, "")
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(units, func(a, b *unit) int { return cmp.Compare(a.modified, b.modified) })
	all := make([]Message, len(units))
	for i, u := range units {
		all[i] = Message{Role: u.speaker, Content: u.text, Time: u.at, Citation: u.citation(u.line)}
	}
	return all, nil
}

// UserMessages counts the messages of the user in the current log.
func (s *Session) UserMessages() (n int, err error) {
	data, _, err := safefile.ReadPath(filepath.Join(s.Dir, messagesName), 2*maxLog)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("session %s: %w", s.ID, err)
	}
	return strings.Count("\n"+string(data), "\n"+`{"role":"user",`), nil
}
