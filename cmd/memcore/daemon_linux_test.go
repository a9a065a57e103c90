package main

// It counts processes by /proc.

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

// A seat is a home with a project, and programs of memcore in several versions.
type seat struct {
	t       *testing.T
	home    string
	project string
	patient bool // hooks have all the time they want
}

func newSeat(t *testing.T) seat {
	t.Helper()
	s := seat{t: t, home: t.TempDir(), project: t.TempDir()}
	require.NoError(t, os.Mkdir(filepath.Join(s.project, ".git"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(s.project, "staging.md"), []byte("# Staging\n\nThe staging database listens on port 5433.\n"), 0o644))
	return s
}

// build makes a program of a version.
func (s seat) build(version string) string {
	s.t.Helper()
	binary := filepath.Join(s.t.TempDir(), "memcore")
	out, err := exec.Command("go", "build", "-buildvcs=false", "-ldflags", "-X main.release="+version, "-o", binary, ".").CombinedOutput()
	require.NoError(s.t, err, string(out))
	return binary
}

func (s seat) run(ctx context.Context, stdin, binary string, args ...string) (stdout string, err error) {
	command := exec.CommandContext(ctx, binary, args...)
	command.Dir, command.Stdin = s.project, strings.NewReader(stdin)
	command.Env = []string{"HOME=" + s.home, "PATH=" + os.Getenv("PATH")}
	if s.patient {
		command.Env = append(command.Env, "MEMCORE_HOOK_BUDGET=30s")
	}
	var out, stderr bytes.Buffer
	command.Stdout, command.Stderr = &out, &stderr
	if err = command.Run(); err != nil {
		err = fmt.Errorf("%w: %s", err, stderr.String())
	}
	return out.String(), err
}

// daemons are the processes that were started as daemons of this home.
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

// 200 hooks at once, of two versions, while the daemon is killed at random: every hook answers in time or says nothing, and in the end there is one daemon, of
// the newer version, and nothing is left over when it has ended.
func TestDaemonUnderFire(t *testing.T) {
	s := newSeat(t)
	older, newer := s.build("v1.0.0"), s.build("v1.1.0")
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	t.Cleanup(func() {
		for _, pid := range s.daemons() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	_, err := s.run(ctx, "", older, "index", "--quiet")
	require.NoError(t, err)
	event := func(n int) string {
		return fmt.Sprintf(`{"session_id":"s%d","cwd":%q,"hook_event_name":"UserPromptSubmit","prompt":"which port does the staging database use?"}`, n, s.project)
	}
	const hooks = 200
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
	// Until the daemon came to answer some, and was killed at it.
	next := hooks
	for began := time.Now(); time.Since(began) < time.Minute && (answered < 20 || kills.Load() < 5); {
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

	// What comes later is answered, by the newer one in the end, whoever asks.
	version := func() string {
		out, err := s.run(ctx, "", newer, "serve", "--status")
		require.NoError(t, err)
		return out
	}
	s.patient = true
	n := next + 10
	require.Eventually(t, func() bool {
		n += 2
		for i, binary := range []string{newer, older} {
			out, err := s.run(ctx, event(n+i), binary, "hook", "claude-code")
			require.NoError(t, err)
			require.True(t, out == "" || strings.Contains(out, "5433"), out)
		}
		return len(s.daemons()) == 1 && strings.Contains(version(), "memcore v1.1.0,")
	}, time.Minute, 50*time.Millisecond)
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
	require.Eventually(t, func() bool { return len(s.daemons()) == 0 }, 10*time.Second, 10*time.Millisecond, "no orphan")
	left, err := filepath.Glob(filepath.Join(s.home, ".cache", "memcore", "run", "*"))
	require.NoError(t, err)
	for _, file := range left {
		require.NotContains(t, file, ".sock")
		require.False(t, strings.HasSuffix(file, "daemon.lock") || strings.HasSuffix(file, "start.lock"), file)
	}
}

// A daemon that hangs makes no hook silent, and commands say that it does not answer. It holds nothing that whoever started it waits for.
func TestHungDaemon(t *testing.T) {
	s := newSeat(t)
	s.patient = true
	binary := s.build("v1.0.0")
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
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
	require.Eventually(t, func() bool { return len(s.daemons()) == 1 }, 30*time.Second, 10*time.Millisecond)
	closed := make(chan struct{})
	go func() {
		_, _ = read.Read(make([]byte, 1))
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(10 * time.Second):
		t.Error("the daemon holds a pipe of the agent's")
	}
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", s.daemons()[0]))
	require.NoError(t, err)
	require.NotContains(t, string(environment), "AWS_SECRET", "nor what is in its environment")
	require.Eventually(t, func() bool {
		out, err := s.run(ctx, "", binary, "serve", "--status")
		return err == nil && strings.Contains(out, "process")
	}, 30*time.Second, 20*time.Millisecond)

	// Time enough for a loaded machine: what is asked here is whether hooks answer, not how fast.
	require.NoError(t, os.MkdirAll(filepath.Join(s.home, ".beans"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(s.home, ".beans", "config.yaml"), []byte("memory:\n  hook:\n    budget: 10s\n"), 0o600))
	require.NoError(t, syscall.Kill(s.daemons()[0], syscall.SIGSTOP))
	answered := 0
	for n := range 10 {
		out, err := s.run(ctx, event(n+1), binary, "hook", "claude-code")
		require.NoError(t, err)
		if strings.Contains(out, "5433") {
			answered++
		}
	}
	require.Equal(t, 10, answered, "hooks do the work themselves")
	begun := time.Now()
	out, err := s.run(ctx, "", binary, "search", "staging")
	require.NoError(t, err)
	require.Contains(t, out, "staging.md")
	require.Less(t, time.Since(begun), 20*time.Second)
	_, err = s.run(ctx, "", binary, "serve", "--status")
	require.ErrorContains(t, err, "the daemon does not answer")
}
