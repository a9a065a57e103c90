package session

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/paths"
)

// TestMain lets the test binary be one of several processes that write.
func TestMain(m *testing.M) {
	if args := os.Getenv("MEMCORE_SESSION_SAY"); args != "" {
		if err := sayMany(strings.Split(args, "\n")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// sayMany appends messages. The arguments are SESSIONS ID WRITER N.
func sayMany(args []string) error {
	s, err := Open(args[0], args[1])
	if err != nil {
		return err
	}
	s.maxLog = 1 << 20
	n, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	for i := range n {
		m := Message{Role: "user", Content: fmt.Sprintf("message %d of writer%s about subject%d %s", i, args[2], i%97, strings.Repeat("filler ", i%40))}
		if _, err := s.Append(context.Background(), m, AppendOptions{}); err != nil {
			return err
		}
		time.Sleep(time.Millisecond) // agents are slower still
	}
	return nil
}

// A fixture is a home and a project.
type fixture struct {
	t             *testing.T
	home, project string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	base := paths.Resolve(t.TempDir())
	return &fixture{t: t, home: filepath.Join(base, "home"), project: filepath.Join(base, "project")}
}

func (d *fixture) sessions() string {
	return FolderOf(filepath.Join(d.home, ".ai", "sessions"), d.project)
}

func (d *fixture) session() *Session {
	d.t.Helper()
	s, err := New(d.sessions(), "s1")
	require.NoError(d.t, err)
	return s
}

func (d *fixture) say(role, text string) {
	d.t.Helper()
	_, err := d.session().Append(d.t.Context(), Message{Role: role, Content: text, Time: time.Date(2026, 2, 24, 12, 0, 0, 0, time.UTC)}, AppendOptions{Sync: true})
	require.NoError(d.t, err)
}

func TestSessions(t *testing.T) {
	d := newFixture(t)
	require.Equal(t, paths.FolderName(paths.Resolve(d.project)), filepath.Base(d.sessions()))
	_, err := Open(d.sessions(), "")
	require.ErrorIs(t, err, ErrNoSession)
	s, err := New(d.sessions(), "")
	require.NoError(t, err)
	text, err := s.Overview(t.Context())
	require.NoError(t, err)
	require.Empty(t, text, "the template says nothing")
	data, err := os.ReadFile(s.OverviewPath())
	require.NoError(t, err)
	require.Equal(t, overviewTemplate, string(data))
	require.NoError(t, os.WriteFile(s.OverviewPath(), []byte("# Working Memory\n\n## Current Task\nThe ferry parser.\n"), 0o600))
	text, err = s.Overview(t.Context())
	require.NoError(t, err)
	require.Contains(t, text, "ferry parser")
	again, err := New(d.sessions(), s.ID)
	require.NoError(t, err)
	text, err = again.Overview(t.Context())
	require.NoError(t, err)
	require.Contains(t, text, "ferry parser", "making it again loses nothing")

	then := time.Now().Add(time.Hour)
	other := d.session()
	require.NoError(t, os.Chtimes(other.OverviewPath(), then, then))
	latest, err := Open(d.sessions(), "")
	require.NoError(t, err)
	require.Equal(t, "s1", latest.ID, "the one that was used last")
	for _, id := range []string{"..", "../x", "a/b", ".x", "a b", "a\x00", strings.Repeat("x", 300), `a\b`, "c:x"} {
		_, err := New(d.sessions(), id)
		require.ErrorIs(t, err, ErrNoSession, "%q", id)
		_, err = Open(d.sessions(), id)
		require.ErrorIs(t, err, ErrNoSession, "%q", id)
	}
	_, err = Open(d.sessions(), "absent")
	require.ErrorIs(t, err, ErrNoSession)
	cancelled, stop := context.WithCancel(t.Context())
	stop()
	_, err = s.Overview(cancelled)
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.Append(cancelled, Message{Role: "user"}, AppendOptions{})
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.Append(t.Context(), Message{}, AppendOptions{})
	require.ErrorIs(t, err, ErrRole)
}

// Similar paths, such as /x/acme/internal and /x/acme-internal, have separate sessions.
func TestSessionsOfFoldersThatAreNamedAlike(t *testing.T) {
	root, base := t.TempDir(), t.TempDir()
	deep := filepath.Join(base, strings.Repeat("d", 120), strings.Repeat("e", 120), strings.Repeat("f", 120))
	seen := map[string]bool{}
	for _, project := range []string{filepath.Join(base, "acme", "internal"), filepath.Join(base, "acme-internal"), deep, deep + "f"} {
		require.NoError(t, os.MkdirAll(project, 0o755))
		sessions := FolderOf(root, project)
		require.False(t, seen[sessions], "%s has the sessions of another folder", project)
		seen[sessions] = true
		s, err := New(sessions, "s1")
		require.NoError(t, err)
		said, err := s.Messages(t.Context())
		require.NoError(t, err)
		require.Empty(t, said)
		_, err = s.Append(t.Context(), Message{Role: "user", Content: "the ferry sails at eight"}, AppendOptions{})
		require.NoError(t, err)
	}
}

// 4 processes write 10,000 messages while 4 read them, and lose none.
func TestManyProcessesSay(t *testing.T) {
	d := newFixture(t)
	s := d.session()
	writers, each := 4, 2500
	var running []func()
	for who := range writers {
		command := exec.CommandContext(t.Context(), os.Args[0])
		command.Env = append(os.Environ(), fmt.Sprintf("MEMCORE_SESSION_SAY=%s\ns1\n%d\n%d", d.sessions(), who, each))
		var out bytes.Buffer
		command.Stdout, command.Stderr = &out, &out
		require.NoError(t, command.Start())
		running = append(running, func() { require.NoError(t, command.Wait(), out.String()) })
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			own, err := Open(d.sessions(), "s1")
			if err != nil {
				t.Error(err)
				return
			}
			for last := 0; ; {
				select {
				case <-stop:
					return
				default:
				}
				if said, err := own.Messages(t.Context()); err != nil || len(said) < last {
					t.Errorf("%d messages after %d: %v", len(said), last, err)
				} else {
					last = len(said)
				}
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	for _, wait := range running {
		wait()
	}
	close(stop)
	readers.Wait()
	said, err := s.Messages(t.Context())
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, m := range said {
		var number, who int
		_, err := fmt.Sscanf(m.Content, "message %d of writer%d", &number, &who)
		require.NoError(t, err, m.Content)
		seen[fmt.Sprint(number, " ", who)] = true
	}
	require.Len(t, said, writers*each)
	require.Len(t, seen, writers*each)
	rotated, err := s.rotatedLogs()
	require.NoError(t, err)
	if runtime.GOOS != "windows" {
		require.NotEmpty(t, rotated)
	}
}
