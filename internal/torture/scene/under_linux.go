//go:build linux && (amd64 || arm64)

package scene

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/memcore/memcore/internal/torture/intercept"
)

// Under runs a command to its end, and asks decide about each of its calls on a file of the scene; n counts them from 1. The calls
// that were made or decided are returned in order. A command that ends by no error of its own has code -1.
func (s *Scene) Under(t testing.TB, w Writer, kind intercept.Kind, decide func(n int, c intercept.Call) intercept.Action) (Result, []intercept.Call) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	cmd := s.Command(ctx, w)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var made []intercept.Call
	p, err := intercept.Start(cmd, kind, func(c intercept.Call) intercept.Action {
		if !strings.HasPrefix(c.Path, s.Root+"/") {
			return intercept.Action{}
		}
		made = append(made, c)
		return decide(len(made), c)
	})
	if err != nil {
		t.Fatalf("%s: %v: %s", w.Name, err, errs.String())
	}
	var exit *exec.ExitError
	if err := p.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", w.Name, err)
	}
	if ctx.Err() != nil {
		t.Errorf("memcore %s hung for a minute\n%s", strings.Join(w.Args, " "), errs.String())
	}
	return Result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}, made
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
