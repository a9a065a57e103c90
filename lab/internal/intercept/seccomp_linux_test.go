//go:build linux && (amd64 || arm64)

package intercept

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	Launch()
	if path := os.Getenv("INTERCEPT_TEST_WRITE"); path != "" {
		if err := os.WriteFile(path, []byte("whole"), 0o600); err != nil {
			os.Stdout.WriteString(err.Error())
			os.Exit(1)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != "whole" {
			os.Stdout.WriteString(err.Error())
			os.Exit(2)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestCallsAreSeenAndDecided(t *testing.T) {
	if err := Supported(); err != nil {
		t.Skip("calls cannot be stopped here: ", err)
	}
	for _, tt := range []struct {
		name, call, said string
		kind             Kind
		action           Action
		code             int
		left             string // what is in the file afterwards; "-" if there is none
	}{
		{"all pass", "", "", Writes, Action{}, 0, "whole"},
		{"opening fails", "openat", "no space left on device", Writes, Action{Fail: syscall.ENOSPC}, 1, "-"},
		{"writing fails", "write", "input/output error", Writes, Action{Fail: syscall.EIO}, 1, ""},
		{"killed before it is opened", "openat", "", Writes, Action{Kill: true}, -1, "-"},
		{"killed before it is written", "write", "", Writes, Action{Kill: true}, -1, ""},
		{"not opened, as if it were descriptor 0", "openat", "", Writes, Action{Skip: true}, 1, "-"},
		{"reading fails", "read", "input/output error", Reads, Action{Fail: syscall.EIO}, 2, "whole"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "file")
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "INTERCEPT_TEST_WRITE="+file)
			var out bytes.Buffer
			cmd.Stdout = &out
			var seen []string
			p, err := Start(cmd, tt.kind, func(c Call) Action {
				if c.Path != file {
					return Action{}
				}
				seen = append(seen, c.Name)
				if c.Name == tt.call {
					return tt.action
				}
				return Action{}
			})
			require.NoError(t, err)
			var exit *exec.ExitError
			if err := p.Wait(); err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			require.Equal(t, tt.code, cmd.ProcessState.ExitCode(), "%s, calls %q", out.String(), seen)
			require.Contains(t, out.String(), tt.said)
			if tt.call == "" && !slices.Equal(seen, []string{"openat", "write"}) {
				t.Errorf("calls were %q, want openat and write", seen)
			}
			left, err := os.ReadFile(file)
			if err != nil {
				left = []byte("-")
			}
			require.Equal(t, tt.left, string(left))
		})
	}
}
