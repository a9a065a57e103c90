//go:build linux && (amd64 || arm64)

package harness

import (
	"errors"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/memcore/memcore/lab/internal/intercept"
)

// Under runs a command while decide chooses the outcome of its n-th call, from 1, on a file below
// Root. It returns the calls. A killed command has code -1.
func (m *Machine) Under(t testing.TB, w Writer, kind intercept.Kind, decide func(n int, c intercept.Call) intercept.Action) (Result, []intercept.Call) {
	t.Helper()
	cmd, result := m.prepare(t, w)
	var made []intercept.Call
	p, err := intercept.Start(cmd, kind, func(c intercept.Call) intercept.Action {
		if !strings.HasPrefix(c.Path, m.Root+"/") {
			return intercept.Action{}
		}
		made = append(made, c)
		return decide(len(made), c)
	})
	if err != nil {
		t.Fatalf("%s: %v: %s", w.Name, err, result().Errors)
	}
	var exit *exec.ExitError
	if err := p.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", w.Name, err)
	}
	return result(), made
}

// EachWriter calls do with each Writer on a machine with the index in base, two in parallel, since
// they mostly wait.
func EachWriter(t *testing.T, do func(t *testing.T, s *Machine, base Tree, w Writer)) {
	t.Helper()
	if err := intercept.Supported(); err != nil {
		t.Skip("system calls cannot be stopped here: ", err)
	}
	type ready struct {
		*Machine
		base Tree
	}
	free := make(chan ready, 2)
	for range cap(free) {
		s := NewMachine(t, t.TempDir())
		s.Must(t, "index")
		free <- ready{s, s.Look(t)}
	}
	for _, w := range Writers {
		t.Run(w.Name, func(t *testing.T) {
			t.Parallel()
			s := <-free
			defer func() { free <- s }()
			do(t, s.Machine, s.base, w)
		})
	}
}

// Calls returns the calls of a command on files below Root.
func (m *Machine) Calls(t testing.TB, w Writer, kind intercept.Kind) []intercept.Call {
	t.Helper()
	_, calls := m.Under(t, w, kind, func(int, intercept.Call) intercept.Action { return intercept.Action{} })
	return calls
}

// Spread chooses up to n numbers from 1 to all: one at random from each n-th.
func Spread(random *rand.Rand, all, n int) (chosen []int) {
	n = min(n, all)
	for i := range n {
		from, to := i*all/n, (i+1)*all/n
		chosen = append(chosen, 1+from+random.IntN(to-from))
	}
	return chosen
}
