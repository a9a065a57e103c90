//go:build linux && (amd64 || arm64)

package powercut

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/memcore/memcore/internal/dev/torture/intercept"
	"github.com/memcore/memcore/lab/torture/harness"
)

// An ext4 is a file system in a file.
type ext4 struct{ image, dir string }

func newExt4(t *testing.T) *ext4 {
	if os.Getuid() != 0 {
		t.Skip("only root can mount a file")
	}
	image, err := os.CreateTemp("/dev/shm", "memcore-torture-") // so that each sync is fast
	require.NoError(t, err)
	t.Cleanup(func() { os.Remove(image.Name()) })
	require.NoError(t, errors.Join(image.Truncate(128<<20), image.Close()))
	e := &ext4{image.Name(), t.TempDir()}
	if out, err := exec.Command("mkfs.ext4", "-q", e.image).CombinedOutput(); err != nil {
		t.Skipf("no ext4 can be made here: %v: %s", err, out)
	}
	if out, err := e.mount(); err != nil {
		t.Skipf("no file can be mounted here: %v: %s", err, out)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(e.dir, 0)) })
	return e
}

func (e *ext4) mount() (string, error) {
	out, err := exec.Command("mount", "-o", "loop", e.image, e.dir).CombinedOutput()
	return string(out), err
}

// do calls f with the descriptor of the folder.
func (e *ext4) do(t *testing.T, f func(fd int) error) {
	t.Helper()
	folder, err := os.Open(e.dir)
	require.NoError(t, err)
	require.NoError(t, f(int(folder.Fd())))
	require.NoError(t, folder.Close())
}

// cut drops all that has not reached the disk, the journal's latest entries too, and mounts again.
func (e *ext4) cut(t *testing.T) {
	t.Helper()
	const shutdown, withoutLog = 0x8004587d, 2 // EXT4_IOC_SHUTDOWN, EXT4_GOING_FLAGS_NOLOGFLUSH
	e.do(t, func(fd int) error { return unix.IoctlSetPointerInt(fd, shutdown, withoutLog) })
	require.NoError(t, unix.Unmount(e.dir, 0))
	out, err := e.mount()
	require.NoError(t, err, out)
}

// TestPowerCutsOfExt4 kills commands and cuts the power at once, on a real file system. It shows
// fewer states than [TestPowerCuts], but no model is between.
func TestPowerCutsOfExt4(t *testing.T) {
	if err := intercept.Supported(); err != nil {
		t.Skip("system calls cannot be stopped here: ", err)
	}
	disk := newExt4(t)
	root := filepath.Join(disk.dir, "machine")
	require.NoError(t, os.Mkdir(root, 0o700))
	s := harness.NewMachine(t, root)
	s.Must(t, "index")
	base := s.Look(t)
	random := rand.New(rand.NewPCG(8, 8))
	cuts, commands := 0, 0
	for i, w := range harness.Writers {
		if i%harness.Times(6, 1) != 0 || w.Args[0] == "memory" && w.Args[1] == "edit" {
			continue
		}
		commands++
		course := s.Try(t, base, w)
		calls := len(s.Calls(t, w, intercept.Writes))
		for _, nth := range append(harness.Spread(random, calls, harness.Times(1, 12)), 0) {
			s.Restore(t, course.Before)
			disk.do(t, unix.Syncfs)
			r, _ := s.Under(t, w, intercept.Writes, func(n int, _ intercept.Call) intercept.Action { return intercept.Action{Kill: n == nth} })
			disk.cut(t)
			cuts++
			c := state{s.Look(t), fmt.Sprintf("at call %d of %d, 0 is the end, of %s", nth, calls, w.Name), r.Code == 0}
			report(t, c, append(files(w, course, c), start(t, s, w, course, cuts%4 == 1)...))
		}
	}
	t.Logf("ext4: %d cuts: %d commands on a real file system, which was shut down without its log", cuts, commands)
}
