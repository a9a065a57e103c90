package disk

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/memcore/memcore/lab/torture/harness"
)

// insideVariable is set in the namespace.
const insideVariable = "MEMCORE_TORTURE_DISK"

// TestMain runs the tests in a mount namespace, without root also in a user namespace.
func TestMain(m *testing.M) {
	if os.Getenv(insideVariable) != "" {
		os.Exit(harness.Main(m))
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), insideVariable+"=root")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		cmd.Env = append(os.Environ(), insideVariable+"=mapped")
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	err := cmd.Run()
	if err != nil && cmd.ProcessState == nil { // no namespaces here: the tests say so
		os.Setenv(insideVariable, "none: "+err.Error())
		os.Exit(harness.Main(m))
	}
	os.Exit(cmd.ProcessState.ExitCode())
}

// mounts mounts a file system until the test ends.
func mounts(t *testing.T, source, dir, kind string, flags uintptr, options string) {
	t.Helper()
	if where := os.Getenv(insideVariable); strings.HasPrefix(where, "none") {
		t.Skip("nothing can be mounted here, ", where)
	}
	require.NoError(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	if err := unix.Mount(source, dir, kind, flags, options); err != nil {
		if errors.Is(err, unix.EPERM) {
			t.Skipf("nothing can be mounted here: %s at %s: %v", kind, dir, err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
}

// readOnly makes a folder read-only until writable is called.
func readOnly(t *testing.T, dir string) (writable func()) {
	t.Helper()
	require.NoError(t, unix.Mount(dir, dir, "", unix.MS_BIND, ""))
	require.NoError(t, unix.Mount("", dir, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	return func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) }
}

// onDisk makes a machine with an index on its own disk.
func onDisk(t *testing.T) *harness.Machine {
	t.Helper()
	disk := t.TempDir()
	mounts(t, "tmpfs", disk, "tmpfs", 0, "size=64m,mode=755")
	root := filepath.Join(disk, "machine")
	require.NoError(t, os.Mkdir(root, 0o755))
	s := harness.NewMachine(t, root)
	s.Must(t, "index")
	return s
}

// closed are read-only folders, and the words for them.
var closed = []struct {
	name    string
	folders []string
}{
	{"index", []string{"index"}},
	{"project", []string{"project"}},
	{"home", []string{"home"}},
	{"everything", []string{"index", "project", "home", "run", "tmp"}},
}

// TestReadOnlyMounts runs each command with read-only folders. Questions and hooks are answered;
// writing commands say that they cannot write and leave no partial work in other folders.
func TestReadOnlyMounts(t *testing.T) {
	s := onDisk(t)
	base := s.Look(t)
	for i, w := range harness.Writers {
		t.Run(w.Name, func(t *testing.T) {
			course := s.Try(t, base, w)
			refused, tried := 0, 0
			for j, c := range closed {
				if !harness.Full() && (i+j)%4 != 0 && (!w.Reader || c.name != "index") {
					continue // each command meets one of them in the short form, and a question that which matters most to it
				}
				tried++
				var open []func()
				for _, folder := range c.folders {
					open = append(open, readOnly(t, filepath.Join(s.Root, folder)))
				}
				r := s.Run(t, w)
				if r.Code != 0 {
					refused++
				}
				wrong := s.Judge(t, w, course, r, unix.EROFS, false)
				stale := strings.HasSuffix(w.Name, "after changes") && strings.Contains(r.Errors, "stale: ") // what has changed cannot be folded in, and it says so
				if w.Reader && !stale && (r.Code != 0 || !strings.Contains(r.Out, firstLine(course.First.Out))) {
					wrong = append(wrong, fmt.Sprintf("a question is not answered: exit code %d, %q, want %q: %s", r.Code, r.Out, course.First.Out, r.Errors))
				}
				for _, again := range open {
					again()
				}
				after, _ := s.Sound(t, w, course, false)
				for _, what := range append(wrong, after...) {
					t.Errorf("%s read-only: %s", c.name, what)
				}
				s.Restore(t, course.Before)
			}
			t.Logf("%s: %d folders: %d refused with file and reason, the others did not need to write; nothing by half", w.Name, tried, refused)
		})
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
