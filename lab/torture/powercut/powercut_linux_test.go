//go:build linux && (amd64 || arm64)

package powercut

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/lab/internal/intercept"
	"github.com/memcore/memcore/lab/torture/harness"
)

func TestMain(m *testing.M) {
	intercept.Launch()
	os.Exit(harness.Main(m))
}

// TestPowerCuts cuts the power before calls of each writing command and behind its end. What it
// acknowledged must be there; else files are as before or as after. The index is right or says that
// it is not, and the same command succeeds.
func TestPowerCuts(t *testing.T) { harness.EachWriter(t, cutOften) }

// A state is what a loss of power leaves.
type state struct {
	tree  harness.Tree
	at    string
	ended bool // the command had ended
}

func cutOften(t *testing.T, s *harness.Machine, base harness.Tree, w harness.Writer) {
	if w.Args[0] == "memory" && w.Args[1] == "edit" {
		t.Skip("its editor writes, which does not sync")
	}
	course := s.Try(t, base, w)
	d := record(t, s.Root)
	r, calls := s.Under(t, w, intercept.Writes, d.before)
	require.Zero(t, r.Code, r.Errors)
	d.ended()

	random := rand.New(rand.NewPCG(7, uint64(len(w.Name))))
	all := states(d, calls, random)
	final := stateFiles(d.state(len(calls)+1, loss{folder: last, file: newest}))
	for _, c := range all {
		wrong := files(w, course, c)
		if c.ended && !w.Hook && !w.Reader {
			wrong = append(wrong, harness.Differences(stateFiles(c.tree), final)...)
		}
		report(t, c, wrong)
	}
	started := append([]int{1}, harness.Spread(random, len(all), harness.Times(3, 60))...)
	for i, nth := range started {
		s.Restore(t, all[nth-1].tree)
		report(t, all[nth-1], start(t, s, w, course, i%4 == 0))
	}
	s.Restore(t, base)
	t.Logf("%s: %d cuts: different states of the disk at %d writing calls; memcore was started on %d", w.Name, len(all), len(calls), len(started))
}

func report(t *testing.T, c state, wrong []string) {
	t.Helper()
	for _, what := range wrong {
		t.Errorf("power lost %s: %s", c.at, what)
	}
}

// states returns all different states, the last first.
func states(d *disk, calls []intercept.Call, random *rand.Rand) (all []state) {
	seen := map[[sha256.Size]byte]bool{}
	for call := len(calls); call >= 0; call-- {
		at := "after the end"
		if call < len(calls) {
			at = fmt.Sprintf("at call %d of %d, %s %s", call+1, len(calls), calls[call].Name, strings.TrimPrefix(calls[call].Path, d.root))
		}
		for _, l := range append(losses, scattered(random.IntN), scattered(random.IntN), scattered(random.IntN)) {
			tree := d.state(call+1, l)
			data := map[string]string{}
			for name, f := range tree {
				data[name] = f.Data
			}
			if key := sha256.Sum256(fmt.Append(nil, data)); !seen[key] {
				seen[key] = true
				all = append(all, state{tree, at + ": lost is " + l.name, call == len(calls)})
			}
		}
	}
	return all
}

// files returns which of the user's files are not as they must be.
func files(w harness.Writer, course harness.Course, c state) (wrong []string) {
	own, once := c.tree.Person(), course.Once.Person()
	if c.ended && !w.Hook && !w.Reader {
		for _, lost := range harness.Differences(own, once) {
			wrong = append(wrong, "acknowledged, but "+lost)
		}
		return wrong
	}
	return harness.Mixed(own, course.Before.Person(), once)
}

// start starts memcore on what the loss of power left, and returns what is wrong.
func start(t *testing.T, s *harness.Machine, w harness.Writer, course harness.Course, thorough bool) (wrong []string) {
	s.Age(t, s.Look(t).Temporary()) // to start the machine takes a while
	if thorough {
		wrong = s.Lies(t)
	}
	more, _ := s.Sound(t, w, course, thorough)
	return append(wrong, more...)
}

// stateFiles returns the files of memcore that it cannot derive.
func stateFiles(tree harness.Tree) map[string]string {
	all := map[string]string{}
	for name, f := range tree {
		if strings.HasPrefix(name, "index/memcore/state/") && f.Mode.IsRegular() && !strings.HasSuffix(name, ".lock") {
			all[name] = f.Data
		}
	}
	return all
}
