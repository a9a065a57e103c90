package damage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/lab/torture/harness"
)

// memoryGroup makes a control group with a memory limit, version 1 or 2, and returns its folder. It
// skips the test if that is impossible.
func memoryGroup(t *testing.T, bytes int64) string {
	t.Helper()
	name := fmt.Sprintf("memcore-torture-%d-%d", os.Getpid(), bytes)
	for _, v := range []struct{ root, limit, mark string }{{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"}, {"/sys/fs/cgroup", "memory.max", "cgroup.controllers"}} {
		if _, err := os.Stat(filepath.Join(v.root, v.mark)); err != nil {
			continue
		}
		group := filepath.Join(v.root, name)
		if os.Mkdir(group, 0o755) != nil {
			continue
		}
		t.Cleanup(func() {
			for range 100 { // until the last process is gone
				if os.Remove(group) == nil {
					return
				}
				time.Sleep(50 * time.Millisecond)
			}
			t.Errorf("control group %s cannot be removed", group)
		})
		if err := os.WriteFile(filepath.Join(group, v.limit), fmt.Append(nil, bytes), 0o644); err != nil {
			continue // a group of version 2 without the controller
		}
		for file, value := range map[string]string{"memory.swappiness": "0", "memory.swap.max": "0"} {
			_ = os.WriteFile(filepath.Join(group, file), []byte(value), 0o644)
		}
		return group
	}
	t.Skip("no control group with a limit of memory can be made here (root, and cgroup v1 or a delegated v2, are needed)")
	return ""
}

// With little memory a command works, or says that it cannot, or the kernel kills it. The next one
// with enough memory continues.
func TestLittleMemory(t *testing.T) {
	p := withNotes(t)
	sentence := strings.Fields("the ledger of harbour and orchard is closed before granite lanterns are lit in the meadow by quokkas")
	for i := range harness.Times(30, 3000) {
		var b strings.Builder
		fmt.Fprintf(&b, "# Note %d\n\n", i)
		for j := range 120 {
			fmt.Fprintf(&b, "%s%d ", sentence[(i*7+j*3)%len(sentence)], (i+j)%17)
		}
		p.write(fmt.Sprintf("notes/many/%d.md", i), b.String())
	}
	outcomes := map[string]int{}
	limits := []int64{192, 24}
	if harness.Full() {
		limits = []int64{512, 192, 96, 48, 24, 12}
	}
	for _, mb := range limits {
		group := memoryGroup(t, mb<<20)
		for _, args := range [][]string{{"index", "--rebuild"}, {"retrieve", question}, {"status", "--usage"}} {
			outcomes[p.confined(group, args...)]++
		}
	}
	r := p.runFor(5*time.Minute, "", "index")
	require.Zero(t, r.code, r)
	require.Contains(t, p.run("", "retrieve", question).out, "5433")
	require.Zero(t, p.run("", "doctor").code)

	p.env = append(p.env, "GOMEMLIMIT=16MiB") // slow, but whole
	r = p.runFor(10*time.Minute, "", "index", "--rebuild")
	require.Zero(t, r.code, r)
	require.Contains(t, p.run("", "retrieve", question).out, "5433")
	t.Logf("index, retrieve, stats in control groups of 512 to 12 MB: %d runs: %v", 3*len(limits), outcomes)
}

// confined runs a command in a control group and describes its end.
func (p place) confined(group string, args ...string) string {
	p.t.Helper()
	ctx, stop := context.WithTimeout(p.t.Context(), 3*time.Minute)
	defer stop()
	whole := p.command(ctx, args...)
	cmd := exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", `echo $$ > "$0/cgroup.procs" && exec "$@"`, group, whole.Path}, args...)...)
	cmd.Dir, cmd.Env = whole.Dir, whole.Env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "done"
	case ctx.Err() != nil:
		p.t.Errorf("memcore %v in %s: it hangs\n%s", args, group, out.String())
		return "hung"
	case errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled() && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL:
		return "killed by the kernel"
	case strings.Contains(out.String(), "out of memory") || strings.Contains(out.String(), "cannot allocate"):
		return "out of memory, and says so"
	}
	p.t.Errorf("memcore %v in %s: %v\n%s", args, group, err, out.String())
	return "failed"
}
