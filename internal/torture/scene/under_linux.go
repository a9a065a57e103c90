//go:build linux && (amd64 || arm64)

package scene

import (
	"errors"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/memcore/memcore/internal/torture"
	"github.com/memcore/memcore/internal/torture/intercept"
)

// Under runs a command to its end, and asks decide about each of its calls on a file of the scene; n counts them from 1. The calls
// that were made or decided are returned in order. A command that ends by no error of its own has code -1.
func (s *Scene) Under(t testing.TB, w Writer, kind intercept.Kind, decide func(n int, c intercept.Call) intercept.Action) (Result, []intercept.Call) {
	t.Helper()
	cmd, result := s.prepare(t, w)
	var made []intercept.Call
	p, err := intercept.Start(cmd, kind, func(c intercept.Call) intercept.Action {
		if !strings.HasPrefix(c.Path, s.Root+"/") {
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

// EachWriter calls do with each of the Writers, in a scene that has an index and is as base tells: two at the same time, since most
// of the time goes by waiting.
func EachWriter(t *testing.T, do func(t *testing.T, s *Scene, base Tree, w Writer)) {
	t.Helper()
	if err := intercept.Supported(); err != nil {
		t.Skip("system calls cannot be stopped here: ", err)
	}
	program := torture.Program(t)
	type ready struct {
		*Scene
		base Tree
	}
	free := make(chan ready, 2)
	for range cap(free) {
		s := New(t, program, t.TempDir())
		s.Must(t, "index")
		free <- ready{s, s.Look(t)}
	}
	for _, w := range Writers {
		t.Run(w.Name, func(t *testing.T) {
			t.Parallel()
			s := <-free
			defer func() { free <- s }()
			do(t, s.Scene, s.base, w)
		})
	}
}

// Calls runs a command and returns those of its calls on files of the scene that are of a kind.
func (s *Scene) Calls(t testing.TB, w Writer, kind intercept.Kind) []intercept.Call {
	t.Helper()
	_, calls := s.Under(t, w, kind, func(int, intercept.Call) intercept.Action { return intercept.Action{} })
	return calls
}

// Spread chooses n of the numbers from 1 to all, one at random from each n-th part; all of them if there are no more.
func Spread(random *rand.Rand, all, n int) (chosen []int) {
	n = min(n, all)
	for i := range n {
		from, to := i*all/n, (i+1)*all/n
		chosen = append(chosen, 1+from+random.IntN(to-from))
	}
	return chosen
}
