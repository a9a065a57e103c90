//go:build linux && (amd64 || arm64)

package powercut

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/lab/internal/intercept"
	"github.com/memcore/memcore/lab/torture/harness"
)

// TestPowerCutsOfDaemon cuts the power while two clients save and one indexes. Each save that the
// daemon acknowledged before the cut is there, once, and the next daemon saves.
func TestPowerCutsOfDaemon(t *testing.T) {
	if err := intercept.Supported(); err != nil {
		t.Skip("system calls cannot be stopped here: ", err)
	}
	s := harness.NewMachine(t, t.TempDir())
	// A daemon ignores such settings of the environment, so the file turns off confirmation.
	s.Write(t, "home/.beans/config.yaml", "memory: {save: {requireConfirmation: false}}\n")
	s.Must(t, "index")
	before := strings.TrimSuffix(s.Look(t)["project/BEANS.md"].Data, "\n")
	disk := record(t, s.Root)
	saved := serve(t, s, disk)

	random := rand.New(rand.NewPCG(9, 9))
	cuts := 0
	for call := 1; call <= disk.now; call++ {
		for _, l := range append(losses, scattered(random.IntN)) {
			cuts++
			text := disk.state(call, l)["project/BEANS.md"].Data
			if !strings.HasPrefix(text, before) {
				t.Errorf("power lost at call %d: lost is %s: BEANS.md does not begin with what it said before: %q", call, l.name, text)
			}
			for key, at := range saved {
				if n := strings.Count(text, key); n > 1 || n == 0 && at < call {
					t.Errorf("power lost at call %d: lost is %s: %q is there %d times, acknowledged at call %d", call, l.name, key, n, at)
				}
			}
		}
	}
	started := harness.Spread(random, disk.now, harness.Times(3, 40))
	for _, call := range started {
		s.Restore(t, disk.state(call, scattered(random.IntN)))
		s.Age(t, s.Look(t).Temporary())
		next := ready(t, s, func(int, intercept.Call) intercept.Action { return intercept.Action{} })
		save(t, s, next, "After the cut.")
		stop(t, next)
		s.Must(t, "index")
		for _, wrong := range append(s.Wrong(t), s.Examine(t)...) {
			t.Errorf("power lost at call %d: the next daemon leaves: %s", call, wrong)
		}
	}
	t.Logf("serve: %d cuts: %d acknowledged texts, all there, once; the next daemon was started %d times", cuts, len(saved), len(started))
}

// serve runs a daemon while clients save and index. It returns the texts that it acknowledged, with
// how many calls it had made.
func serve(t *testing.T, s *harness.Machine, disk *disk) map[string]int {
	daemon := ready(t, s, disk.before)
	saved := map[string]int{}
	var mu sync.Mutex
	var clients sync.WaitGroup
	for c := range 2 {
		clients.Go(func() {
			random := rand.New(rand.NewPCG(9, uint64(c)))
			for i := range harness.Times(5, 40) {
				text := fmt.Sprintf("Fact %d of client %d is %x.", i, c, random.Uint64())
				save(t, s, daemon, text)
				mu.Lock()
				saved[text] = disk.calls()
				mu.Unlock()
			}
		})
	}
	clients.Go(func() {
		for range harness.Times(3, 20) {
			if _, _, err := daemon.Ask("POST", "/v1/index", map[string]any{"workspace": s.Workspace}); err != nil {
				t.Error(err)
			}
		}
	})
	clients.Wait()
	stop(t, daemon)
	disk.ended()
	return saved
}

func ready(t *testing.T, s *harness.Machine, decide func(int, intercept.Call) intercept.Action) *harness.Daemon {
	d := s.StartDaemon(t, decide)
	if !d.Ready() {
		t.Fatal("the daemon does not run: ", d.Log.String())
	}
	return d
}

func save(t *testing.T, s *harness.Machine, d *harness.Daemon, text string) {
	status, answer, err := d.Ask("POST", "/v1/tools/save_memory", map[string]any{"workspace": s.Workspace, "arguments": map[string]any{"content": text}})
	if err != nil || status != http.StatusOK {
		t.Errorf("save: %d, %v: %s", status, err, answer)
	}
}

func stop(t *testing.T, d *harness.Daemon) {
	require.NoError(t, d.Process.Process().Signal(os.Interrupt))
	<-d.Ended
}
