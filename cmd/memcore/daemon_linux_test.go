package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A seat is a home with a project, and memcore in several versions.
type seat struct {
	t       *testing.T
	home    string
	project string
	budget  string // of hooks; "" is the default
}

func newSeat(t *testing.T) seat {
	t.Helper()
	s := seat{t: t, home: t.TempDir(), project: t.TempDir()}
	require.NoError(t, os.Mkdir(filepath.Join(s.project, ".git"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(s.project, "staging.md"), []byte("# Staging\n\nThe staging database listens on port 5433.\n"), 0o644))
	return s
}

func (s seat) run(ctx context.Context, stdin, binary string, args ...string) (stdout string, err error) {
	command := exec.CommandContext(ctx, binary, args...)
	command.Dir, command.Stdin = s.project, strings.NewReader(stdin)
	command.Env = []string{"HOME=" + s.home, "PATH=" + os.Getenv("PATH")}
	if s.budget != "" {
		command.Env = append(command.Env, "MEMCORE_HOOK_BUDGET="+s.budget)
	}
	var out, stderr bytes.Buffer
	command.Stdout, command.Stderr = &out, &stderr
	if err = command.Run(); err != nil {
		err = fmt.Errorf("%w: %s", err, stderr.String())
	}
	return out.String(), err
}

// daemons are the daemon processes of this home.
func (s seat) daemons() (pids []int) {
	processes, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(s.t, err)
	for _, process := range processes {
		line, _ := os.ReadFile(filepath.Join(process, "cmdline"))
		environment, _ := os.ReadFile(filepath.Join(process, "environ"))
		if bytes.Contains(line, []byte("serve\x00--on-demand")) && bytes.Contains(environment, []byte("HOME="+s.home+"\x00")) {
			pid, err := strconv.Atoi(filepath.Base(process))
			require.NoError(s.t, err)
			pids = append(pids, pid)
		}
	}
	return pids
}

// Hooks of two versions run at once while the daemon is killed at random: 200, or 40 in short form.
// Each answers in time or is silent. In the end one daemon of the newer version runs.
func TestDaemonUnderFire(t *testing.T) {
	s := newSeat(t)
	s.budget = "3s" // so that some are answered on a busy machine, too
	older, newer := programAt(t, olderProgram), programAt(t, newerProgram)
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
	defer stop()
	t.Cleanup(func() {
		for _, pid := range s.daemons() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	_, err := s.run(ctx, "", older, "index", "--quiet")
	require.NoError(t, err)
	event := func(n int) string {
		return fmt.Sprintf(`{"session_id":"s%d","cwd":%q,"transcript_path":"/nowhere/s%d.jsonl","hook_event_name":"UserPromptSubmit","prompt":"which port does the staging database use?"}`, n, s.project, n)
	}
	hooks, wantAnswers, wantKills := 200, 20, int64(5)
	if testing.Short() {
		hooks, wantAnswers, wantKills = 40, 4, 1
	}
	var all, killing sync.WaitGroup
	var mu sync.Mutex
	answered, silent := 0, 0
	over := make(chan struct{})
	var kills atomic.Int64
	killing.Go(func() {
		for {
			select {
			case <-over:
				return
			case <-time.After(time.Duration(50+rand.IntN(200)) * time.Millisecond):
				for _, pid := range s.daemons() {
					if syscall.Kill(pid, syscall.SIGKILL) == nil {
						kills.Add(1)
					}
				}
			}
		}
	})
	fire := func(n int) {
		all.Go(func() {
			binary := older
			if n%2 == 0 {
				binary = newer
			}
			out, err := s.run(ctx, event(n), binary, "hook", "claude-code")
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				t.Errorf("hook %d: %v", n, err)
			case out == "":
				silent++
			case !json.Valid([]byte(out)) || !strings.Contains(out, "5433"):
				t.Errorf("hook %d: %q", n, out)
			default:
				answered++
			}
		})
	}
	for n := range hooks {
		fire(n)
	}
	all.Wait()
	// Until the daemon was killed while it answered.
	next := hooks
	for began := time.Now(); time.Since(began) < time.Minute && (answered < wantAnswers || kills.Load() < wantKills); {
		for range 4 {
			fire(next)
			next++
		}
		all.Wait()
	}
	close(over)
	killing.Wait()
	require.Positive(t, kills.Load())
	require.Positive(t, answered)
	t.Logf("%d hooks answered, %d were too late and said nothing, the daemon was killed %d times", answered, silent, kills.Load())

	// Later requests are answered, in the end by the newer version.
	version := func() string {
		out, err := s.run(ctx, "", newer, "serve", "--status")
		require.NoError(t, err)
		return out
	}
	s.budget = "30s"
	n := next + 10
	require.Eventually(t, func() bool {
		n += 2
		for i, binary := range []string{newer, older} {
			out, err := s.run(ctx, event(n+i), binary, "hook", "claude-code")
			require.NoError(t, err)
			require.True(t, out == "" || strings.Contains(out, "5433"), out)
		}
		return len(s.daemons()) == 1 && strings.Contains(version(), "memcore v1.1.0,")
	}, 3*time.Minute, 50*time.Millisecond)
	for range 5 {
		n += 2
		out, err := s.run(ctx, event(n), older, "hook", "claude-code")
		require.NoError(t, err)
		require.Contains(t, out, "5433")
	}
	require.Len(t, s.daemons(), 1)
	require.Contains(t, version(), "memcore v1.1.0,")

	_, err = s.run(ctx, "", newer, "serve", "--stop")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(s.daemons()) == 0 }, time.Minute, 10*time.Millisecond, "no orphan")
	left, err := filepath.Glob(filepath.Join(s.home, ".cache", "memcore", "run", "*"))
	require.NoError(t, err)
	for _, file := range left {
		require.NotContains(t, file, ".sock")
		require.False(t, strings.HasSuffix(file, "daemon.lock") || strings.HasSuffix(file, "start.lock"), file)
	}
}

// Hooks answer while the daemon hangs, and commands report that. It holds nothing that its starter
// waits for.
func TestHungDaemon(t *testing.T) {
	s := newSeat(t)
	s.budget = "30s"
	binary := programAt(t, olderProgram)
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
	defer stop()
	t.Cleanup(func() {
		for _, pid := range s.daemons() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	_, err := s.run(ctx, "", binary, "index", "--quiet")
	require.NoError(t, err)
	event := func(n int) string {
		return fmt.Sprintf(`{"session_id":"s%d","cwd":%q,"hook_event_name":"UserPromptSubmit","prompt":"which port does the staging database use?"}`, n, s.project)
	}
	read, write, err := os.Pipe()
	require.NoError(t, err)
	command := exec.CommandContext(ctx, binary, "hook", "claude-code")
	command.Dir, command.Stdin, command.Env, command.ExtraFiles = s.project, strings.NewReader(event(0)), []string{"HOME=" + s.home, "PATH=" + os.Getenv("PATH"), "AWS_SECRET_ACCESS_KEY=x", "MEMCORE_HOOK_BUDGET=30s"}, []*os.File{write}
	require.NoError(t, command.Run())
	require.NoError(t, write.Close())
	require.Eventually(t, func() bool { return len(s.daemons()) == 1 }, time.Minute, 10*time.Millisecond)
	closed := make(chan struct{})
	go func() {
		_, _ = read.Read(make([]byte, 1))
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(time.Minute):
		t.Error("the daemon holds a pipe of the agent's")
	}
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", s.daemons()[0]))
	require.NoError(t, err)
	require.NotContains(t, string(environment), "AWS_SECRET", "nor what is in its environment")
	require.Eventually(t, func() bool {
		out, err := s.run(ctx, "", binary, "serve", "--status")
		return err == nil && strings.Contains(out, "process")
	}, time.Minute, 20*time.Millisecond)

	// A generous timeout: this test checks that hooks answer, not how fast.
	require.NoError(t, os.MkdirAll(filepath.Join(s.home, ".beans"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(s.home, ".beans", "config.yaml"), []byte("memory:\n  hook:\n    budget: 30s\n"), 0o600))
	last := func() string {
		out, err := s.run(ctx, "", binary, "explain", "--last")
		require.NoError(t, err)
		return out
	}

	// One late answer sends no hooks around the daemon.
	daemon := s.daemons()[0]
	require.NoError(t, syscall.Kill(daemon, syscall.SIGSTOP))
	_, err = s.run(ctx, event(100), binary, "hook", "claude-code")
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(daemon, syscall.SIGCONT))
	require.Contains(t, last(), "note: the daemon did not answer within 120ms")
	asked := 100
	require.Eventually(t, func() bool {
		asked++
		_, err := s.run(ctx, event(asked), binary, "hook", "claude-code")
		return err == nil && !strings.Contains(last(), "the daemon")
	}, time.Minute, 10*time.Millisecond)

	require.NoError(t, syscall.Kill(daemon, syscall.SIGSTOP))
	answered, unasked := 0, 0
	for n := range 10 {
		out, err := s.run(ctx, event(n+1), binary, "hook", "claude-code")
		require.NoError(t, err)
		if strings.Contains(out, "5433") {
			answered++
		} else {
			t.Logf("hook %d said nothing: %s", n, last())
		}
		// On a busy machine the wait of the back-off may end between two of these hooks.
		if strings.Contains(last(), "note: the daemon was late") {
			unasked++
		}
	}
	require.Equal(t, 10, answered, "hooks do the work themselves")
	require.Positive(t, unasked, "a hanging daemon is asked more rarely")
	begun := time.Now()
	out, err := s.run(ctx, "", binary, "search", "staging")
	require.NoError(t, err)
	require.Contains(t, out, "staging.md")
	require.Less(t, time.Since(begun), time.Minute)
	_, err = s.run(ctx, "", binary, "serve", "--status")
	require.ErrorContains(t, err, "the daemon does not answer")
}
