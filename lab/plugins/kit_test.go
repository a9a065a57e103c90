package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// testVersion is the version of the releases of these tests.
const testVersion = "1.2.3"

var platforms = []string{"linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64", "windows-amd64", "windows-arm64"}

// makeRelease makes a release for all platforms. The program is for this machine's platform; the
// others, or all if it is nil, have a line of text in its place.
func makeRelease(t *testing.T, program []byte) string {
	t.Helper()
	folder := t.TempDir()
	var sums strings.Builder
	for _, platform := range platforms {
		name := "memcore-" + testVersion + "-" + platform
		binary := file{name + "/memcore", []byte("the program for " + platform + "\n"), 0o755}
		if strings.HasPrefix(platform, "windows") {
			binary.name += ".exe"
		}
		if platform == runtime.GOOS+"-"+runtime.GOARCH && program != nil {
			binary.data = program
		}
		data := archived(t, binary, file{name + "/LICENSE", []byte("the licence\n"), 0o644})
		require.NoError(t, os.WriteFile(filepath.Join(folder, name+".tar.gz"), data, 0o644))
		fmt.Fprintf(&sums, "%x  %s.tar.gz\n", sha256.Sum256(data), name)
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, sumsFile), []byte(sums.String()), 0o644))
	return folder
}

// archived compresses fast: tests make large archives.
func archived(t *testing.T, files ...file) []byte {
	t.Helper()
	var buf bytes.Buffer
	z, err := gzip.NewWriterLevel(&buf, gzip.NoCompression)
	require.NoError(t, err)
	w := tar.NewWriter(z)
	for _, f := range files {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: f.name, Size: int64(len(f.data)), Mode: int64(f.mode)}))
		_, err := w.Write(f.data)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, z.Close())
	return buf.Bytes()
}

// made returns a folder with all that is made of a release.
func made(t *testing.T, release string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	require.NoError(t, options{release: release, out: out}.run())
	return out
}

// ofProgram returns the release of the program that the variable MEMCORE names: its path, and what is
// made of it. It is made once.
func ofProgram(t *testing.T) (memcore, out string) {
	t.Helper()
	memcore = os.Getenv("MEMCORE")
	if memcore == "" {
		t.Skip("MEMCORE names no program of memcore: .ci/plugins does")
	}
	if realOut == "" {
		program, err := os.ReadFile(memcore)
		require.NoError(t, err)
		folder, err := os.MkdirTemp("", "plugins-test-")
		require.NoError(t, err)
		out := filepath.Join(folder, "out")
		require.NoError(t, options{release: makeRelease(t, program), out: out}.run())
		realOut = out
	}
	return memcore, realOut
}

var realOut string

func TestMain(m *testing.M) {
	code := m.Run()
	if realOut != "" {
		_ = os.RemoveAll(filepath.Dir(realOut))
	}
	os.Exit(code)
}

// need skips the test if a program is missing. With CI=true the caller has said so already.
func need(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("this machine has no %s", name)
	}
	return path
}

// A machine is an empty home folder with a workspace, and commands in it.
type machine struct {
	t                   *testing.T
	home, work, path    string
	environment         []string
	input, stdout, logs string
}

func newMachine(t *testing.T, path ...string) *machine {
	m := &machine{t: t, home: t.TempDir(), work: t.TempDir()}
	m.path = strings.Join(append(path, os.Getenv("PATH")), string(os.PathListSeparator))
	note := "# Staging\n\nThe staging database listens on port 5433.\n"
	require.NoError(t, os.WriteFile(filepath.Join(m.work, "notes.md"), []byte(note), 0o644))
	return m
}

// command prepares a command in the workspace.
func (m *machine) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	if found, err := lookIn(m.path, name); err == nil {
		name = found
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = m.work
	cmd.Env = append([]string{"HOME=" + m.home, "PATH=" + m.path, "TMPDIR=" + os.TempDir(), "MEMCORE_FRESHNESS="}, m.environment...)
	cmd.Stdin = strings.NewReader(m.input)
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// run runs a command, which must succeed, and returns all it prints.
func (m *machine) run(name string, args ...string) string {
	m.t.Helper()
	ctx, stop := context.WithTimeout(m.t.Context(), 3*time.Minute)
	defer stop()
	out, err := m.command(ctx, name, args...).CombinedOutput()
	require.NoErrorf(m.t, err, "%s %s\n%s", name, strings.Join(args, " "), out)
	return string(out)
}

// lookIn finds a program in the folders of a path.
func lookIn(path, name string) (string, error) {
	for _, folder := range filepath.SplitList(path) {
		file := filepath.Join(folder, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", exec.ErrNotFound
}
