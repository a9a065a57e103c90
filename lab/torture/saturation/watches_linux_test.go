package saturation_test

import (
	"context"
	"encoding/json"
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

var errFullQueue = syscall.EAGAIN

// Without enough watches memcore says so and still finds changes.
func TestFewWatches(t *testing.T) {
	for _, tt := range []struct{ name, limit, says string }{
		{"no instances", "max_inotify_instances=0", "no folder is watched, so files are checked at intervals: the system's limit is reached"},
		{"four watches", "max_inotify_watches=4", "4 of 13 folders are watched, so files are checked at intervals: the system's limit is reached"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := harness.NewLoad(t)
			project := s.NewWorkspace("project", 5)
			for n := range 10 {
				harness.Write(t, filepath.Join(project, fmt.Sprint("folder", n), "a.md"), "# A\n\nText.\n")
			}
			s.Must(project, "index", "--quiet")
			name, value, _ := strings.Cut(tt.limit, "=")
			command := s.Command(context.Background(), project, "serve")
			command.Args = append([]string{"sh", "-c", `echo ` + value + ` > /proc/sys/user/` + name + ` && exec "$0" "$@"`}, command.Args...)
			command.Path = "/bin/sh"
			// A namespace has its own limits.
			command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
				GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}}
			if err := trial(command.SysProcAttr, name, value); err != nil {
				t.Skipf("this machine cannot limit the watches of one process: %v", err)
			}
			daemon := s.Start("daemon", command)
			s.Ready(daemon)
			finds := func(word string) func() bool {
				return func() bool {
					answer, err := s.Post(t.Context(), "/v1/search", map[string]string{"workspace": project, "query": word})
					return err == nil && strings.Contains(string(answer.Body), word)
				}
			}
			question, port := harness.Fact(3)
			require.NotEmpty(t, question)
			require.Eventually(t, finds(port), 2*time.Minute, 10*time.Millisecond)
			harness.Write(t, filepath.Join(project, "folder7", "b.md"), "# B\n\nThe zebra stands here.\n")
			require.Eventually(t, finds("zebra"), 2*time.Minute, 10*time.Millisecond, "queries look at the files")
			require.Eventually(t, func() bool {
				answer, err := s.Get(t.Context(), "/v1/health")
				var health struct{ Open []struct{ Problem string } }
				return err == nil && json.Unmarshal(answer.Body, &health) == nil && len(health.Open) == 1 && strings.HasPrefix(health.Open[0].Problem, tt.says)
			}, 2*time.Minute, 10*time.Millisecond, "it says so: %s", daemon.Said())
			require.Contains(t, s.Must(project, "serve", "--status"), "at intervals")
			t.Logf("watches: %s: 1 daemon: said, and files are looked at instead", tt.name)
		})
	}
}

// trial reports whether a process can have its own limits.
func trial(how *syscall.SysProcAttr, name, value string) error {
	command := exec.Command("sh", "-c", "echo "+value+" > /proc/sys/user/"+name)
	command.SysProcAttr = how
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}
