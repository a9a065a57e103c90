//go:build linux && (amd64 || arm64)

package kills

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/lab/internal/intercept"
	"github.com/memcore/memcore/lab/torture/harness"
)

func TestMain(m *testing.M) {
	intercept.Launch()
	os.Exit(harness.Main(m))
}

// TestKilledWriters kills each writing command: before system calls that write, spread over all of
// them, and at times spread over its duration.
func TestKilledWriters(t *testing.T) { harness.EachWriter(t, killOften) }

func killOften(t *testing.T, s *harness.Machine, base harness.Tree, w harness.Writer) {
	course := s.Try(t, base, w)
	began := time.Now()
	calls := s.Calls(t, w, intercept.Writes)
	took := time.Since(began)
	s.Restore(t, course.Before)
	random := rand.New(rand.NewPCG(1, uint64(len(w.Name))))
	kills, remains := 0, 0
	after := func(at string, killed bool) {
		if killed {
			kills++
		}
		wrong, left := s.Sound(t, w, course, kills%4 == 1)
		remains += left
		for _, what := range wrong {
			t.Errorf("killed %s: %s", at, what)
		}
		s.Restore(t, course.Before)
	}
	for _, nth := range harness.Spread(random, len(calls), harness.Times(5, 24)) {
		r, made := s.Under(t, w, intercept.Writes, func(n int, _ intercept.Call) intercept.Action { return intercept.Action{Kill: n == nth} })
		last := made[len(made)-1]
		after(fmt.Sprintf("at call %d of %d, %s %s", nth, len(calls), last.Name, strings.TrimPrefix(last.Path, s.Root)), r.Code < 0)
	}
	for range harness.Times(1, 6) {
		at := time.Duration(random.Float64() * float64(took))
		after(fmt.Sprintf("after %v of %v", at, took), killAfter(t, s, w, at))
	}
	t.Logf("%s: %d kills: %d writing calls; files as before or as after, healed; %d unfinished ones cleaned up", w.Name, kills, len(calls), remains)
}

// killAfter runs a command and kills it after a time; killed is false if it ended before. It then
// waits for an editor that the command started, which still writes files.
func killAfter(t *testing.T, s *harness.Machine, w harness.Writer, after time.Duration) (killed bool) {
	cmd := s.Command(t.Context(), w)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, cmd.Start())
	defer func() {
		require.Eventually(t, func() bool { return !running(t, cmd.Process.Pid) }, time.Minute, time.Millisecond, "its editor goes on")
	}()
	timer := time.AfterFunc(after, func() { cmd.Process.Kill() })
	defer timer.Stop()
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode() < 0
}

// running reports whether a process of a group runs, except for zombies.
func running(t *testing.T, group int) bool {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	for _, stat := range stats {
		text, err := os.ReadFile(stat)
		if err != nil {
			continue // it has ended meanwhile
		}
		_, rest, _ := strings.Cut(string(text), ") ") // behind its name: state, parent, group
		var state string
		var parent, of int
		if _, err := fmt.Sscan(rest, &state, &parent, &of); err == nil && of == group && state != "Z" {
			return true
		}
	}
	return false
}
