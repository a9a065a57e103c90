package supply

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// A smallRelease is a folder as .ci/pack makes it, with a script in place of the program.
type smallRelease struct {
	dir, archive string // the archive of this machine
	script       string // install.sh of the release
}

func newRelease(t *testing.T, signed bool) smallRelease {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("install.sh is for other systems")
	}
	r := smallRelease{dir: t.TempDir()}
	platform := runtime.GOOS + "-" + runtime.GOARCH
	r.archive = filepath.Join(r.dir, "memcore-"+platform+".tar.gz")
	plain, withLanceDB := programFiles(), programFiles()
	withLanceDB["liblancedb_go.so"] = "library"
	sums := r.pack(t, "memcore-"+platform, plain) + r.pack(t, "memcore-lancedb-"+platform, withLanceDB)
	r.write(t, "SHA256SUMS", []byte(sums))
	script, err := os.ReadFile(filepath.Join(root, "install.sh"))
	require.NoError(t, err)
	if signed {
		signer := sign(t, r.dir)
		before := string(script)
		script = []byte(strings.Replace(before, "\nsigner=''\n", "\nsigner='"+signer+"'\n", 1))
		require.NotEqual(t, before, string(script), ".ci/pack replaces the same line")
	}
	r.script = filepath.Join(t.TempDir(), "install.sh")
	require.NoError(t, os.WriteFile(r.script, script, 0o755))
	return r
}

func programFiles() map[string]string {
	return map[string]string{
		"memcore": "#!/bin/sh\necho memcore v1.2.3\n", "LICENSE": "Apache", "THIRD_PARTY_NOTICES": "MIT",
		"man/man1/memcore.1": ".TH", "man/man1/memcore-save.1": ".TH",
		"completions/memcore.bash": "", "completions/_memcore": "", "completions/memcore.fish": "",
	}
}

// pack writes an archive, and returns its line of SHA256SUMS.
func (r smallRelease) pack(t *testing.T, name string, texts map[string]string) string {
	t.Helper()
	var archive bytes.Buffer
	packed := gzip.NewWriter(&archive)
	out := tar.NewWriter(packed)
	for file, text := range texts {
		header := &tar.Header{Name: name + "/" + file, Mode: 0o755, Size: int64(len(text))}
		require.NoError(t, out.WriteHeader(header))
		_, err := out.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, out.Close())
	require.NoError(t, packed.Close())
	r.write(t, name+".tar.gz", archive.Bytes())
	return fmt.Sprintf("%x  %s.tar.gz\n", sha256.Sum256(archive.Bytes()), name)
}

func (r smallRelease) write(t *testing.T, name string, data []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, name), data, 0o644))
}

// sign signs SHA256SUMS with a new key, and returns its public half.
func sign(t *testing.T, dir string) string {
	t.Helper()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("there is no ssh-keygen to sign with")
	}
	key := filepath.Join(t.TempDir(), "key")
	for _, args := range [][]string{
		{"-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key},
		{"-q", "-Y", "sign", "-f", key, "-n", "memcore-release", filepath.Join(dir, "SHA256SUMS")},
	} {
		out, err := exec.CommandContext(t.Context(), "ssh-keygen", args...).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	public, err := os.ReadFile(key + ".pub")
	require.NoError(t, err)
	return strings.TrimSpace(string(public))
}

// install runs the script against a server of files; it returns what was printed.
func (r smallRelease) install(t *testing.T, prefix string, env []string, args ...string) (string, error) {
	t.Helper()
	server := httptest.NewServer(http.FileServer(http.Dir(r.dir)))
	defer server.Close()
	args = append([]string{r.script, "--from", server.URL, "--prefix", prefix}, args...)
	cmd := exec.CommandContext(t.Context(), "/bin/sh", args...)
	cmd.Env = append(os.Environ(), append([]string{"HOME=" + t.TempDir(), "no_proxy=127.0.0.1"}, env...)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// fakeUname puts a uname into a folder for PATH, which knows another machine.
func fakeUname(t *testing.T, system, machine string) string {
	t.Helper()
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\ncase $1 in -s) echo %s ;; *) echo %s ;; esac\n", system, machine)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "uname"), []byte(script), 0o755))
	return "PATH=" + dir + string(os.PathListSeparator) + os.Getenv("PATH")
}

// onlyTools makes a PATH of what install.sh needs and the named tools.
func onlyTools(t *testing.T, more ...string) string {
	t.Helper()
	dir := t.TempDir()
	needs := strings.Fields("uname mktemp sed cut tar gzip rm mkdir cp chmod mv dirname tail head grep cat")
	for _, tool := range append(needs, more...) {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Skipf("there is no %s", tool)
		}
		require.NoError(t, os.Symlink(path, filepath.Join(dir, tool)))
	}
	return "PATH=" + dir
}

func files(t *testing.T, dir string) (all []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			all = append(all, path)
		}
		return err
	}))
	return all
}

// install.sh installs what was released and says how to undo it; what it says leaves nothing.
func TestInstallScript(t *testing.T) {
	for _, signed := range []bool{false, true} {
		r := newRelease(t, signed)
		prefix := filepath.Join(t.TempDir(), "a folder")
		for range 2 { // the second time over the first
			out, err := r.install(t, prefix, nil)
			require.NoError(t, err, out)
			require.Contains(t, out, "installed memcore v1.2.3 in "+prefix+"/bin")
			require.Contains(t, out, map[bool]string{false: "verified: checksum only", true: "verified: checksum and signature"}[signed])
			require.Len(t, files(t, prefix), 8)
			_, undo, found := strings.Cut(out, "uninstall in each project, then\n")
			require.True(t, found, out)
			if signed {
				said, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", undo).CombinedOutput()
				require.NoError(t, err, string(said))
				require.Empty(t, files(t, prefix))
			}
		}
	}
}

// With --lancedb it installs the program with its native library, also over the one without, and leaves
// nothing, either.
func TestInstallScriptWithLanceDB(t *testing.T) {
	r := newRelease(t, false)
	prefix := filepath.Join(t.TempDir(), "a folder")
	library := filepath.Join(prefix, "lib", "memcore", "liblancedb_go.so")
	out, err := r.install(t, prefix, nil)
	require.NoError(t, err, out)
	require.NoFileExists(t, library)
	out, err = r.install(t, prefix, nil, "--lancedb")
	require.NoError(t, err, out)
	require.FileExists(t, library)
	require.Len(t, files(t, prefix), 9)
	_, undo, found := strings.Cut(out, "uninstall in each project, then\n")
	require.True(t, found, out)
	said, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", undo).CombinedOutput()
	require.NoError(t, err, string(said))
	require.Empty(t, files(t, prefix))
}

// Whatever is wrong, install.sh says what and installs nothing.
func TestInstallScriptRefuses(t *testing.T) {
	var asked atomic.Int64 // of what a network could have changed
	open := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer open.Close()
	away := httptest.NewServer(http.RedirectHandler(open.URL, http.StatusFound))
	defer away.Close()
	tests := []struct {
		name   string
		signed bool
		change func(*testing.T, smallRelease)
		env    func(*testing.T) string
		args   []string
		want   string
	}{
		{name: "other bytes", change: func(t *testing.T, r smallRelease) {
			data, err := os.ReadFile(r.archive)
			require.NoError(t, err)
			r.write(t, filepath.Base(r.archive), append(data, 0))
		}, want: "nothing was installed"},
		{name: "other bytes and their sum", signed: true, change: func(t *testing.T, r smallRelease) {
			r.write(t, filepath.Base(r.archive), []byte("forged"))
			r.write(t, "SHA256SUMS", fmt.Appendf(nil, "%x  %s\n", sha256.Sum256([]byte("forged")), filepath.Base(r.archive)))
		}, want: "the signature of"},
		{name: "the signature was taken away", signed: true, change: func(t *testing.T, r smallRelease) {
			require.NoError(t, os.Remove(filepath.Join(r.dir, "SHA256SUMS.sig")))
		}, want: "SHA256SUMS.sig failed"},
		{name: "another key", signed: true, change: func(t *testing.T, r smallRelease) {
			require.NoError(t, os.Remove(filepath.Join(r.dir, "SHA256SUMS.sig")))
			sign(t, r.dir)
		}, want: "the signature of"},
		{name: "no archive", change: func(t *testing.T, r smallRelease) { require.NoError(t, os.Remove(r.archive)) }, want: ".tar.gz failed:"},
		{name: "no release", change: func(t *testing.T, r smallRelease) { require.NoError(t, os.Remove(filepath.Join(r.dir, "SHA256SUMS"))) }, want: "SHA256SUMS failed:"},
		{name: "not for this machine", change: func(t *testing.T, r smallRelease) { r.write(t, "SHA256SUMS", nil) }, want: "does not name memcore-"},
		{name: "not with LanceDB for this machine", args: []string{"--lancedb"}, change: func(t *testing.T, r smallRelease) { r.write(t, "SHA256SUMS", nil) }, want: "leave --lancedb out"},
		{name: "no network", args: []string{"--from", "http://127.0.0.1:1"}, want: "check the network"},
		{name: "led to http", args: []string{"--from", away.URL}, want: "SHA256SUMS failed:"},
		{name: "processor", env: func(t *testing.T) string { return fakeUname(t, "Linux", "riscv64") }, want: "the processor 'riscv64'"},
		{name: "system", env: func(t *testing.T) string { return fakeUname(t, "Plan9", "x86_64") }, want: "the system 'Plan9'"},
		{name: "Windows", env: func(t *testing.T) string { return fakeUname(t, "MINGW64_NT-10.0", "x86_64") }, want: "unpack memcore-windows-amd64.zip"},
		{name: "nothing downloads", env: func(t *testing.T) string { return onlyTools(t, "sha256sum") }, want: "neither curl nor wget"},
		{name: "nothing computes sums", env: func(t *testing.T) string { return onlyTools(t, "curl") }, want: "install sha256sum"},
		{name: "argument", args: []string{"--frm", "x"}, want: "unknown argument '--frm'"},
		{name: "argument without value", args: []string{"--prefix"}, want: "--prefix wants a folder"},
		{name: "prefix is a file", args: []string{"--prefix", "/dev/null"}, want: "choose another folder"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRelease(t, tt.signed)
			if tt.change != nil {
				tt.change(t, r)
			}
			var env []string
			if tt.env != nil {
				env = []string{tt.env(t)}
			}
			prefix := t.TempDir()
			out, err := r.install(t, prefix, env, tt.args...)
			require.Error(t, err, out)
			require.Contains(t, out, tt.want)
			require.NotContains(t, out, "installed memcore")
			require.Empty(t, files(t, prefix))
		})
	}
	require.Zero(t, asked.Load())
	t.Logf("install.sh: %d faults: refused with what to do; nothing installed", len(tests))
}
