package session

import (
	"bytes"
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

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/jsonfile"
	"github.com/memcore/memcore/internal/paths"
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

// IsRecord reports whether a session has such a file, beside its notes: a log, or one of its marks.
func IsRecord(name string) bool {
	return isRotated(name) || slices.Contains([]string{messagesName, queuedName, reviewedName, logName}, name)
}

func isRotated(name string) bool {
	return strings.HasPrefix(name, "messages-") && strings.HasSuffix(name, ".jsonl") && !strings.Contains(name, "/")
}

// rotatedLogs returns the paths of the logs that were rotated.
func (s *Session) rotatedLogs() ([]string, error) {
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, entry := range entries {
		if name := entry.Name(); isRotated(name) {
			all = append(all, filepath.Join(s.Dir, name))
		}
	}
	return all, nil
}

// SetLog notes the absolute path of the log that the session's agent keeps, which is read instead
// of messages.jsonl, or "" for none that memcore reads.
func (s *Session) SetLog(path string) error {
	if path == s.Log() {
		return nil
	}
	if err := safefile.Replace(s.Dir, logName, []byte(path+"\n"), 0o600); err != nil {
		return fmt.Errorf("session %s: note the log of its agent: %w", s.ID, err)
	}
	return nil
}

// Log returns the path of SetLog, or "".
func (s *Session) Log() string {
	data, _, err := safefile.ReadFile(s.Dir, logName, paths.Longest)
	if err != nil {
		return "" // none, or it cannot be read: the session's own messages remain
	}
	return strings.TrimSpace(string(data))
}

// HasMessages reports whether the session's folder has a log of messages.
func (s *Session) HasMessages() bool {
	_, err := os.Stat(filepath.Join(s.Dir, messagesName))
	return err == nil
}

// ownMessages returns what the session's folder has. Citations are relative to the folder. It reads
// the current log before it lists the rotated ones, to miss none that is rotated meanwhile.
func (s *Session) ownMessages(ctx context.Context) ([]Message, error) {
	current, info, err := readMessages(filepath.Join(s.Dir, messagesName))
	if err != nil {
		return nil, err
	}
	rotated, err := s.rotatedLogs()
	if err != nil {
		return nil, err
	}
	var all []Message
	for _, file := range rotated { // their names begin with the time
		said, other, err := readMessages(file)
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return nil, err
		}
		if info == nil || other == nil || !os.SameFile(info, other) {
			all = append(all, said...)
		}
	}
	return append(all, current...), ctx.Err()
}

// readMessages reads the whole lines of a log; none if it does not exist or is no file.
func readMessages(path string) (all []Message, info fs.FileInfo, err error) {
	if info, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil, nil, nil
	}
	data, info, err := safefile.ReadPath(path, 2*maxLog)
	if err != nil {
		return nil, nil, err
	}
	return messagesIn(data, filepath.Base(path), 0), info, nil
}

// messagesIn reads the whole lines of a log, which has some lines before them.
func messagesIn(data []byte, log string, before int) (all []Message) {
	for line := range bytes.Lines(data) {
		if before++; line[len(line)-1] != '\n' {
			break // it is being written
		}
		var m Message
		if json.Unmarshal(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")), &m) == nil && strings.TrimSpace(m.Content) != "" {
			m.Citation = paths.Citation(paths.Spell(log), before, before)
			all = append(all, m)
		}
	}
	return all
}

// maxTranscript is how many bytes of the end of an agent's log are read.
const maxTranscript = 64 << 20

// Messages returns what was said in the session, oldest first: from the log that its agent keeps,
// or as memcore noted it.
func (s *Session) Messages(ctx context.Context) ([]Message, error) {
	own, err := s.ownMessages(ctx)
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", s.ID, err)
	}
	log := s.Log()
	if log == "" {
		return own, nil
	}
	turns, err := source.Transcript(ctx, log, maxTranscript)
	if errors.Is(err, fs.ErrNotExist) { // the agent has deleted it, or has not begun it
		return own, nil
	}
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", s.ID, err)
	}
	return append(own, messagesOf(turns, log)...), nil
}

// messagesOf returns the turns of a log that have text.
func messagesOf(turns []chunker.Turn, log string) (all []Message) {
	for _, t := range turns {
		if strings.TrimSpace(t.Text) == "" {
			continue // the agent only uses tools
		}
		text, _ := secret.Redact(t.Said())
		all = append(all, Message{Role: t.Role, Content: text, Time: t.Time, Citation: paths.Citation(paths.Spell(filepath.Base(log)), t.Line, t.EndLine)})
	}
	return all
}
