package session

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A session stays queued until Unqueue. Queueing twice is fine.
func TestQueueOfSessions(t *testing.T) {
	s := newFixture(t).session()
	require.False(t, s.Queued())
	require.NoError(t, s.Unqueue(), "it was not queued")
	for range 2 {
		require.NoError(t, s.Queue())
		require.True(t, s.Queued())
	}
	require.NoError(t, s.Unqueue())
	require.False(t, s.Queued())

	require.NoError(t, os.RemoveAll(s.Dir))
	require.ErrorContains(t, s.Queue(), "queue session s1: ")
	require.NoError(t, os.WriteFile(s.Dir, nil, 0o600))
	require.ErrorContains(t, s.Unqueue(), "session s1: ")
}

// Errors name the part of a session that cannot be read or written.
func TestSessionsThatAreBroken(t *testing.T) {
	d := newFixture(t)
	d.say("user", "please always run the linter before committing")
	broken := filepath.Join(d.sessions(), "s2")
	other, err := New(d.sessions(), "s2")
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(broken, messagesName), 0o700))
	_, err = other.Append(t.Context(), Message{Role: "user", Content: "x"}, AppendOptions{})
	require.ErrorContains(t, err, "message: ")
	require.ErrorContains(t, err, broken)

	overview := filepath.Join(broken, workingName, overviewName)
	require.NoError(t, os.Remove(overview))
	require.NoError(t, os.Mkdir(overview, 0o700))
	_, err = other.Overview(t.Context())
	require.ErrorContains(t, err, "overview: ")

	// Other files are not sessions. Of equal times, the later name is first.
	require.NoError(t, os.WriteFile(filepath.Join(d.sessions(), "notes.txt"), nil, 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(d.sessions(), ".hidden"), 0o700))
	then := time.Now().Add(time.Hour)
	for _, id := range []string{"s1", "s2"} {
		require.NoError(t, os.Chtimes(filepath.Join(d.sessions(), id), then, then))
	}
	all, err := List(d.sessions())
	require.NoError(t, err)
	require.Equal(t, []string{"s2", "s1"}, all)

	ended, end := context.WithCancel(t.Context())
	end()
	_, err = other.Overview(ended)
	require.ErrorIs(t, err, context.Canceled)

	require.NoError(t, os.RemoveAll(broken))
	_, err = other.Messages(t.Context())
	require.ErrorContains(t, err, "session s2: ")
	_, err = New(filepath.Join(d.sessions(), "notes.txt"), "s3")
	require.ErrorContains(t, err, "session s3: ")
	_, err = List(filepath.Join(d.sessions(), "notes.txt"))
	require.ErrorContains(t, err, "sessions: ")
}

// If a full log cannot be rotated, Append fails.
func TestALogThatCannotBePutAside(t *testing.T) {
	if os.Geteuid() <= 0 { // -1 on Windows, where a folder's mode denies nothing
		t.Skip("nothing is denied to the system's owner")
	}
	d := newFixture(t)
	d.say("user", strings.Repeat("long ", 100))
	s := d.session()
	require.NoError(t, os.Chmod(s.Dir, 0o500))
	defer os.Chmod(s.Dir, 0o700)
	s.maxLog = 100
	_, err := s.Append(t.Context(), Message{Role: "user", Content: "x"}, AppendOptions{})
	require.ErrorContains(t, err, "message log: ")
	text, err := os.ReadFile(filepath.Join(s.Dir, messagesName))
	require.NoError(t, err)
	require.Equal(t, 1, bytes.Count(text, []byte("\n")))
}

// A message is read while its log is rotated.
func TestMessagesWhileTheLogIsPutAside(t *testing.T) {
	d := newFixture(t)
	s := d.session()
	s.maxLog = 100_000
	stop := make(chan struct{})
	said := make(chan int, 1)
	defer func() {
		close(stop)
		t.Logf("%d messages", <-said)
	}()
	go func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				said <- n
				return
			default:
			}
			if _, err := s.Append(t.Context(), Message{Role: "user", Content: fmt.Sprintf("word%d %s", n, strings.Repeat("filler ", 100))}, AppendOptions{}); err != nil && t.Context().Err() == nil {
				t.Error(err)
			}
			time.Sleep(100 * time.Microsecond)
		}
	}()
	_, err := s.Append(t.Context(), Message{Role: "user", Content: "needle"}, AppendOptions{})
	require.NoError(t, err)
	for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline); {
		fresh, err := Open(filepath.Dir(s.Dir), s.ID)
		require.NoError(t, err)
		said, err := fresh.Messages(t.Context())
		require.NoError(t, err)
		n := 0
		for _, m := range said {
			if m.Content == "needle" {
				n++
			}
		}
		require.Equal(t, 1, n)
	}
}

// Messages returns messages in order, also from rotated logs.
func TestMessages(t *testing.T) {
	d := newFixture(t)
	s := d.session()
	s.maxLog = 1
	for _, text := range []string{"one", "two", "three"} {
		_, err := s.Append(t.Context(), Message{Role: "user", Content: text}, AppendOptions{})
		require.NoError(t, err)
	}
	fresh, err := Open(d.sessions(), "s1")
	require.NoError(t, err)
	said, err := fresh.Messages(t.Context())
	require.NoError(t, err)
	var texts []string
	for _, m := range said {
		require.Equal(t, "user", m.Role)
		require.Regexp(t, `^messages.*\.jsonl#L1$`, m.Citation)
		texts = append(texts, m.Content)
	}
	require.Equal(t, []string{"one", "two", "three"}, texts)
	cancelled, stop := context.WithCancel(t.Context())
	stop()
	_, err = fresh.Messages(cancelled)
	require.ErrorIs(t, err, context.Canceled)
}

// A session reports files that are in the way.
func TestFilesInTheWay(t *testing.T) {
	d := newFixture(t)
	require.NoError(t, os.MkdirAll(d.sessions(), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(d.sessions(), "file"), nil, 0o644))
	_, err := New(d.sessions(), "file")
	require.Error(t, err)
	s := d.session()
	require.NoError(t, os.Mkdir(filepath.Join(s.Dir, "messages.jsonl"), 0o755))
	_, err = s.Append(t.Context(), Message{Role: "user", Content: "x"}, AppendOptions{})
	require.Error(t, err)
	said, err := s.Messages(t.Context())
	require.NoError(t, err)
	require.Empty(t, said)
	require.NoError(t, os.RemoveAll(s.Dir))
	_, err = s.Messages(t.Context())
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.RemoveAll(d.sessions()))
	require.NoError(t, os.WriteFile(d.sessions(), nil, 0o644))
	_, err = Open(d.sessions(), "")
	require.Error(t, err)
}

// Append and Sync report a log that the system cannot bring to disk.
func TestUnsyncedIsAnError(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a device that cannot be synced stands for a disk that fails")
	}
	s := newFixture(t).session()
	require.NoError(t, s.Sync(), "no log yet")
	_, err := s.Append(t.Context(), Message{Role: "user", Content: "x"}, AppendOptions{Sync: true})
	require.NoError(t, err)
	require.NoError(t, s.Sync())

	log := filepath.Join(s.Dir, messagesName)
	require.NoError(t, os.Remove(log))
	require.NoError(t, os.Symlink(os.DevNull, log))
	_, err = s.Append(t.Context(), Message{Role: "user", Content: "x"}, AppendOptions{})
	require.NoError(t, err, "it is written")
	require.ErrorContains(t, s.Sync(), "message log: sync")
	_, err = s.Append(t.Context(), Message{Role: "user", Content: "x"}, AppendOptions{Sync: true})
	require.ErrorContains(t, err, "message log: sync")
	s.maxLog = 0
	_, err = s.Append(t.Context(), Message{Role: "user", Content: "x"}, AppendOptions{})
	require.ErrorContains(t, err, "message log: sync", "before it is rotated")
}
