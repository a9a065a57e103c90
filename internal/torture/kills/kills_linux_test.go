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

	"github.com/memcore/memcore/internal/torture"
	"github.com/memcore/memcore/internal/torture/intercept"
	"github.com/memcore/memcore/internal/torture/scene"
)

func TestMain(m *testing.M) {
	intercept.Launch()
	os.Exit(torture.Main(m))
}

// TestKilledWriters kills each command that writes: before system calls that write, chosen so that they are spread over all of them, and at moments that
// are spread over its duration.
func TestKilledWriters(t *testing.T) { scene.EachWriter(t, killOften) }

func killOften(t *testing.T, s *scene.Scene, base scene.Tree, w scene.Writer) {
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
	for _, nth := range scene.Spread(random, len(calls), torture.Times(5, 24)) {
		r, made := s.Under(t, w, intercept.Writes, func(n int, _ intercept.Call) intercept.Action { return intercept.Action{Kill: n == nth} })
		last := made[len(made)-1]
		after(fmt.Sprintf("at call %d of %d, %s %s", nth, len(calls), last.Name, strings.TrimPrefix(last.Path, s.Root)), r.Code < 0)
	}
	for range torture.Times(1, 6) {
		at := time.Duration(random.Float64() * float64(took))
		after(fmt.Sprintf("after %v of %v", at, took), killAfter(t, s, w, at))
	}
	torture.Report(t, torture.Row{Part: "kill -9", Case: w.Name, Count: kills, Unit: "kills",
		Result: fmt.Sprintf("%d writing calls; files as before or as after, healed; %d unfinished ones cleaned up", len(calls), remains)})
}

// killAfter runs a command and kills it after a time; killed is false if it was faster. An editor that it has started outlives it, and
// writes files of its own until it is done: that is waited for.
func killAfter(t *testing.T, s *scene.Scene, w scene.Writer, after time.Duration) (killed bool) {
	cmd := s.Command(t.Context(), w)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, cmd.Start())
	defer func() {
		require.Eventually(t, func() bool { return !running(t, cmd.Process.Pid) }, 10*time.Second, time.Millisecond, "its editor goes on")
	}()
	timer := time.AfterFunc(after, func() { cmd.Process.Kill() })
	defer timer.Stop()
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode() < 0
}

// running tells whether a process of a group has not ended, whoever has still to be told of those that have.
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
