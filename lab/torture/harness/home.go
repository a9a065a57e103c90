package harness

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Canary is in a file outside the workspace, which memcore must not show or change.
const Canary = "canary-5e1f-do-not-read"

// Token is the token of a Home's servers.
const Token = "token-of-the-test"

// A Home is a user's home and a workspace.
type Home struct {
	Root      string // has all other folders
	Home      string
	Workspace string
	Outside   string // beside the workspace, with plans.md, which has Canary
	// Adjust, if set, changes each command before it starts.
	Adjust  func(*exec.Cmd)
	program string
	env     []string
}

// A Result is the outcome of a command.
type Result struct {
	Code        int
	Out, Errors string
}

// NewHome makes a home with an indexed workspace of two files and removes it after the test.
func NewHome(t testing.TB) *Home {
	t.Helper()
	h := newHome(t, shortFolder(t), "workspace", "MEMCORE_DAEMON_START=false", "MEMCORE_TEST_TOKEN="+Token)
	h.Outside = filepath.Join(h.Root, "outside")
	for _, folder := range []string{filepath.Join(h.Workspace, ".git"), h.Outside} {
		require.NoError(t, os.MkdirAll(folder, 0o700))
	}
	h.Write(t, "BEANS.md", "# Memory\n\n- The staging database listens on port 5433.\n")
	h.Write(t, "notes/deploy.md", "# Deploying\n\nReleases are cut on Tuesdays by the script in tools.\n")
	require.NoError(t, os.WriteFile(filepath.Join(h.Outside, "plans.md"), []byte("# Secret\n\n- "+Canary+"\n"), 0o600))
	out, errors, code := h.Run(t, "", "index", "--quiet", ".")
	require.Zero(t, code, out+errors)
	return h
}

// shortFolder makes a folder with a path short enough for sockets.
func shortFolder(t testing.TB) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "memcore-home-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(folder) })
	folder, err = filepath.EvalSymlinks(folder)
	require.NoError(t, err)
	return folder
}

// inherited are the variables taken from the test.
var inherited = []string{"PATH", "SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT"}

// newHome makes a home in an empty folder.
func newHome(t testing.TB, root, workspace string, env ...string) *Home {
	t.Helper()
	h := &Home{Root: root, Home: filepath.Join(root, "home"), Workspace: filepath.Join(root, workspace), program: Program(t)}
	temp, runtime := filepath.Join(root, "tmp"), filepath.Join(root, "run")
	for _, folder := range []string{h.Home, temp, runtime} {
		require.NoError(t, os.MkdirAll(folder, 0o700))
	}
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			h.env = append(h.env, name+"="+value)
		}
	}
	h.env = append(h.env, "HOME="+h.Home, "USERPROFILE="+h.Home, "LOCALAPPDATA="+filepath.Join(h.Home, "local"),
		"TMPDIR="+temp, "TMP="+temp, "XDG_RUNTIME_DIR="+runtime)
	h.env = append(h.env, env...)
	return h
}

// Environment returns the environment of a process, and more.
func (h *Home) Environment(more ...string) []string {
	return append(h.env[:len(h.env):len(h.env)], more...)
}

// Write writes a file of the workspace.
func (h *Home) Write(t testing.TB, name, text string) {
	t.Helper()
	Write(t, filepath.Join(h.Workspace, filepath.FromSlash(name)), text)
}

// Write writes a file and makes its folder.
func Write(t testing.TB, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// Command returns a command of memcore in the workspace.
func (h *Home) Command(ctx context.Context, args ...string) *exec.Cmd {
	return h.command(ctx, h.Workspace, args)
}

func (h *Home) command(ctx context.Context, folder string, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, h.program, args...)
	cmd.Dir, cmd.Env = folder, h.Environment()
	cmd.WaitDelay = 5 * time.Second
	if h.Adjust != nil {
		h.Adjust(cmd)
	}
	return cmd
}

// Run runs memcore with an input, for a minute at most.
func (h *Home) Run(t testing.TB, input string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	cmd := h.Command(ctx, args...)
	cmd.Stdin = strings.NewReader(input)
	r, err := finish(cmd)
	if ctx.Err() != nil {
		t.Errorf("memcore %q does not end", args)
	}
	require.NoError(t, err)
	return r.Out, r.Errors, r.Code
}

// finish runs a command. The error means that it could not run.
func finish(cmd *exec.Cmd) (Result, error) {
	var out, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errors
	if err := cmd.Run(); cmd.ProcessState == nil {
		return Result{Code: -1}, fmt.Errorf("%q: %w", cmd.Args, err)
	}
	return Result{cmd.ProcessState.ExitCode(), out.String(), errors.String()}, nil
}
