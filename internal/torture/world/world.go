// Package world is where attacks through the real program take place: a home and a workspace that are nobody's, and processes of
// memcore in them.
package world

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/torture"
)

// Canary is in a file outside of the workspace that nothing may ever show or change.
const Canary = "canary-5e1f-do-not-read"

// A World has a user's home and a workspace with a little memory, which is indexed. It is removed when the test ends.
type World struct {
	Home      string
	Workspace string
	Outside   string // a folder beside the workspace, with plans.md, which says Canary
	env       []string
}

// New makes a world.
func New(t testing.TB) *World {
	t.Helper()
	dir, err := os.MkdirTemp("", "memcore-world-") // short: sockets have short names
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	w := &World{Home: filepath.Join(dir, "home"), Workspace: filepath.Join(dir, "workspace"), Outside: filepath.Join(dir, "outside")}
	for _, name := range os.Environ() {
		if key, _, _ := strings.Cut(name, "="); !strings.HasPrefix(key, "MEMCORE_") && !strings.HasPrefix(key, "XDG_") && !strings.HasSuffix(strings.ToUpper(key), "_PROXY") && key != "HOME" {
			w.env = append(w.env, name)
		}
	}
	run := filepath.Join(dir, "run")
	w.env = append(w.env, "HOME="+w.Home, "USERPROFILE="+w.Home, "LOCALAPPDATA="+filepath.Join(w.Home, "local"), "XDG_RUNTIME_DIR="+run, "MEMCORE_TEST_TOKEN="+Token, "MEMCORE_DAEMON_START=false")
	for _, folder := range []string{w.Home, run, filepath.Join(w.Workspace, ".git"), w.Outside} {
		require.NoError(t, os.MkdirAll(folder, 0o700))
	}
	w.Write(t, "BEANS.md", "# Memory\n\n- The staging database listens on port 5433.\n")
	w.Write(t, "notes/deploy.md", "# Deploying\n\nReleases are cut on Tuesdays by the script in tools.\n")
	require.NoError(t, os.WriteFile(filepath.Join(w.Outside, "plans.md"), []byte("# Secret\n\n- "+Canary+"\n"), 0o600))
	out, err := w.Command(t.Context(), t, "index", "--quiet", ".").CombinedOutput()
	require.NoError(t, err, string(out))
	return w
}

// Token is what the servers that are started here want.
const Token = "token-of-the-test"

// Write makes a file of the workspace.
func (w *World) Write(t testing.TB, name, text string) {
	t.Helper()
	name = filepath.Join(w.Workspace, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
}

// Command is memcore in the workspace.
func (w *World) Command(ctx context.Context, t testing.TB, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, torture.Program(t), args...)
	command.Dir, command.Env = w.Workspace, w.env
	command.WaitDelay = 5 * time.Second
	return command
}

// Run runs memcore with an input, and returns what it says and its exit code. One that does not end in a minute fails the test.
func (w *World) Run(t testing.TB, input string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	command := w.Command(ctx, t, args...)
	var out, problems bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(input), &out, &problems
	err := command.Run()
	if ctx.Err() != nil {
		t.Errorf("memcore %q does not end", args)
	}
	if command.ProcessState == nil {
		t.Fatalf("memcore %q: %v", args, err)
	}
	return out.String(), problems.String(), command.ProcessState.ExitCode()
}

// A Server is a memcore that goes on until the test ends.
type Server struct {
	Address string // host:port that it said it listens at
	PID     int

	mu  sync.Mutex
	log bytes.Buffer
}

// Serve starts a server, which says that it is at http://ADDRESS. When the test ends it is asked to end, which it must do with exit code 0 and
// without having panicked.
func (w *World) Serve(t testing.TB, args ...string) *Server {
	t.Helper()
	command := w.Command(context.Background(), t, args...)
	reader, writer := io.Pipe()
	command.Stdout, command.Stderr = writer, writer
	require.NoError(t, command.Start())
	s := &Server{PID: command.Process.Pid}
	said := make(chan string, 1)
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := bufio.NewReader(reader)
		for {
			line, err := lines.ReadString('\n')
			s.mu.Lock()
			s.log.WriteString(line)
			s.mu.Unlock()
			if _, address, ok := strings.Cut(line, "http://"); ok {
				address, _, _ = strings.Cut(address, "/")
				address, _, _ = strings.Cut(strings.TrimSpace(address), ",")
				select {
				case said <- address:
				default:
				}
			}
			if err != nil {
				return
			}
		}
	}()
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	t.Cleanup(func() {
		_ = command.Process.Signal(os.Interrupt)
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("memcore %q ended with %v:\n%s", args, err, s.Log())
			}
		case <-time.After(30 * time.Second):
			t.Errorf("memcore %q does not end:\n%s", args, s.Log())
			_ = command.Process.Kill()
			<-ended
		}
		writer.Close()
		<-read
		if log := s.Log(); strings.Contains(log, "panic") || strings.Contains(log, "goroutine ") {
			t.Errorf("memcore %q panicked:\n%s", args, log)
		}
	})
	select {
	case s.Address = <-said:
	case <-time.After(30 * time.Second):
		t.Fatalf("memcore %q does not say where it listens:\n%s", args, s.Log())
	}
	return s
}

// Log is what the server has written so far.
func (s *Server) Log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}
