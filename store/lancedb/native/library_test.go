//go:build linux || darwin

package native

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// realTools are the machine's tools that the script may use. It finds all others in testdata/tools.
var realTools = []string{"bash", "sh", "go", "awk", "sed", "grep", "tr", "cut", "cp", "mv", "rm", "mkdir", "chmod", "cat",
	"touch", "date", "tee", "tail", "find", "dirname", "getconf", "sleep", "tar", "gzip", "sha256sum", "shasum", "flock", "perl"}

// A machine is the script's environment: tools, an empty cache, and the fakes' folder.
type machine struct {
	t     *testing.T
	tools string
	fakes string
	home  string
	env   []string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	root := t.TempDir()
	m := &machine{t: t, tools: filepath.Join(root, "tools"), fakes: filepath.Join(root, "fakes"), home: filepath.Join(root, "home")}
	for _, dir := range []string{m.tools, m.fakes, m.home} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	config := filepath.Join(m.home, ".config")
	if runtime.GOOS == "darwin" {
		config = filepath.Join(m.home, "Library", "Application Support")
	}
	// go would count its calls here, in a process that may outlive the test.
	require.NoError(t, os.MkdirAll(filepath.Join(config, "go", "telemetry"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(config, "go", "telemetry", "mode"), []byte("off"), 0o644))
	m.installTools()
	m.addPackage("lance-0.37.0", "src/lib.rs", "// lance\n")
	m.addPackage("protoc-bin-vendored-"+protocHost()+"-3.3.0", "bin/protoc", fakeProtoc)
	m.env = append(m.env, fmt.Sprintf("MEMCORE_PROTOC_SHA256=%x", sha256.Sum256([]byte(fakeProtoc))))
	return m
}

const fakeProtoc = "#!/bin/sh\necho protoc\n"

func (m *machine) installTools() {
	for _, name := range realTools {
		if path, err := exec.LookPath(name); err == nil {
			require.NoError(m.t, os.Symlink(path, filepath.Join(m.tools, name)))
		}
	}
	fakes, err := filepath.Glob("testdata/tools/*")
	require.NoError(m.t, err)
	for _, path := range fakes {
		path, err := filepath.Abs(path)
		require.NoError(m.t, err)
		require.NoError(m.t, os.Symlink(path, filepath.Join(m.tools, filepath.Base(path))))
	}
}

// protocHost is this machine's name in the packages of protoc.
func protocHost() string {
	system := map[string]string{"linux": "linux", "darwin": "macos"}[runtime.GOOS]
	return system + "-" + map[string]string{"amd64": "x86_64", "arm64": "aarch_64"}[runtime.GOARCH]
}

func libraryName() string {
	if runtime.GOOS == "darwin" {
		return "liblancedb_go.dylib"
	}
	return "liblancedb_go.so"
}

// addPackage adds a package of one file to the fake cargo's packages.
func (m *machine) addPackage(name, file, content string) {
	path := filepath.Join(m.fakes, "packages", name, file)
	require.NoError(m.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(m.t, os.WriteFile(path, []byte(content), 0o755))
}

func (m *machine) without(tool string) { require.NoError(m.t, os.Remove(filepath.Join(m.tools, tool))) }

// fake writes a file for the fakes.
func (m *machine) fake(name string, content []byte) {
	require.NoError(m.t, os.WriteFile(filepath.Join(m.fakes, name), content, 0o644))
}

func (m *machine) remove(name string) { require.NoError(m.t, os.Remove(filepath.Join(m.fakes, name))) }

// calls counts the calls of fakes that begin with a text.
func (m *machine) calls(prefix string) int {
	content, _ := os.ReadFile(filepath.Join(m.fakes, "calls"))
	count := 0
	for _, line := range strings.Split(string(content), "\n") {
		if prefix != "" && strings.HasPrefix(line, prefix) {
			count++
		}
	}
	return count
}

// cache is the script's folder of libraries.
func (m *machine) cache() string {
	if runtime.GOOS == "darwin" {
		return filepath.Join(m.home, "Library/Caches/memcore/lancedb")
	}
	return filepath.Join(m.home, "cache/memcore/lancedb")
}

// A result is the output of one run.
type result struct {
	stdout, stderr string
	code           int
}

// run runs the script with additional environment, NAME=VALUE, before "--", and arguments after it.
func (m *machine) run(settings ...string) result {
	m.t.Helper()
	command, stdout, stderr := m.command(settings...)
	err := command.Run()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		m.t.Fatal(err)
	}
	return result{strings.TrimSuffix(stdout.String(), "\n"), stderr.String(), command.ProcessState.ExitCode()}
}

func (m *machine) command(settings ...string) (command *exec.Cmd, stdout, stderr *bytes.Buffer) {
	script, err := filepath.Abs("library.sh")
	require.NoError(m.t, err)
	command = exec.Command(filepath.Join(m.tools, "bash"), script)
	command.Dir = m.home
	command.Env = append(m.environment(), m.env...)
	for i, setting := range settings {
		if setting == "--" {
			command.Args = append(command.Args, settings[i+1:]...)
			break
		}
		command.Env = append(command.Env, setting)
	}
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	command.Stdout, command.Stderr = stdout, stderr
	command.WaitDelay = 10 * time.Second
	return command, stdout, stderr
}

// environment is the test's, without the variables that the script reads; go still finds its
// modules.
func (m *machine) environment() []string {
	var env []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "LANCEDB_") && !strings.HasPrefix(variable, "MEMCORE_") {
			env = append(env, variable)
		}
	}
	for _, name := range []string{"GOMODCACHE", "GOCACHE", "GOPATH", "GOENV", "GOROOT"} {
		value, err := exec.Command("go", "env", name).Output()
		require.NoError(m.t, err)
		env = append(env, name+"="+strings.TrimSpace(string(value)))
	}
	return append(env, "PATH="+m.tools, "HOME="+m.home, "XDG_CACHE_HOME="+filepath.Join(m.home, "cache"),
		"FAKES="+m.fakes, "FAKE_LIBRARY="+libraryName())
}

// wantLibrary checks that a run has found a library in the cache.
func (m *machine) wantLibrary(got result, content string) {
	m.t.Helper()
	if got.code != 0 || !strings.HasPrefix(got.stdout, m.cache()) {
		m.t.Fatalf("library.sh = %d %q, want a folder in %s; it said:\n%s", got.code, got.stdout, m.cache(), got.stderr)
	}
	library, err := os.ReadFile(filepath.Join(got.stdout, libraryName()))
	if err != nil || strings.TrimSpace(string(library)) != content {
		m.t.Fatalf("the library in %s is %q, %v, want %q", got.stdout, library, err, content)
	}
}

func TestBuiltOnce(t *testing.T) {
	m := newMachine(t)
	first := m.run()
	m.wantLibrary(first, "built")
	if _, err := os.Stat(filepath.Join(first.stdout, "../build")); !os.IsNotExist(err) {
		t.Errorf("the gigabytes of the build are still there: %v", err)
	}
	second := m.run("--", "--flags")
	want := fmt.Sprintf("-L%s -llancedb_go -Wl,-rpath,%s", first.stdout, first.stdout)
	if second.stdout != want || second.stderr != "" {
		t.Errorf("library.sh --flags = %q, want %q, and said %q", second.stdout, want, second.stderr)
	}
	if got := m.calls("cargo build"); got != 1 {
		t.Errorf("cargo has built %d times, want once", got)
	}
}

// The recipe builds the packages of the module's Cargo.lock, except for its own changes.
func TestWhatIsBuilt(t *testing.T) {
	m := newMachine(t)
	m.wantLibrary(m.run(), "built")
	seen := func(file string) string {
		content, err := os.ReadFile(filepath.Join(m.fakes, "seen", file))
		require.NoError(t, err)
		return string(content)
	}
	lock := seen("rust/Cargo.lock")
	for _, test := range []struct {
		name string
		ok   bool
	}{
		{"cargo build without --locked", m.calls("cargo build --release --locked") == 1},
		{"Cargo.lock with a repository", !strings.Contains(lock, "git+")},
		{"Cargo.lock without the checksum of lancedb", strings.Contains(entry(lock, "lancedb"), "checksum = ")},
		{"Cargo.lock with a source of the patched lance", !strings.Contains(entry(lock, "lance"), "source = ")},
		{"Cargo.lock without the sources of others", strings.Contains(entry(lock, "lance-core"), "source = ")},
		{"Cargo.toml without the patch", strings.Contains(seen("rust/Cargo.toml"), `lance = { path = "../lance" }`)},
		{"Cargo.toml with a repository", !strings.Contains(seen("rust/Cargo.toml"), "git = ")},
		{"lance without a recursion limit", strings.HasPrefix(seen("lance/src/lib.rs"), "#![recursion_limit")},
		{"not one nprobes", strings.Count(seen("rust/src/query.rs"), ".nprobes(40)") == 1},
	} {
		if !test.ok {
			t.Errorf("built from %s", test.name)
		}
	}
}

// entry is a package in a Cargo.lock.
func entry(lock, name string) string {
	_, rest, _ := strings.Cut(lock, "name = \""+name+"\"\n")
	text, _, _ := strings.Cut(rest, "[[package]]")
	return text
}

func TestFailedBuildGoesOn(t *testing.T) {
	m := newMachine(t)
	m.fake("broken", nil)
	got := m.run()
	if got.code != 1 || got.stdout != "" {
		t.Errorf("library.sh = %d %q, want 1 and nothing", got.code, got.stdout)
	}
	for _, want := range []string{"error[E0275]", "the build failed, see " + m.cache()} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("library.sh said %q, want %q in it", got.stderr, want)
		}
	}
	m.remove("broken")
	m.wantGoesOn()
}

func TestKilledBuildGoesOn(t *testing.T) {
	m := newMachine(t)
	m.fake("hanging", nil)
	command := m.start()
	require.NoError(t, syscall.Kill(-command.Process.Pid, syscall.SIGKILL))
	_ = command.Wait()
	m.remove("hanging")
	m.wantGoesOn()
}

// start begins a build that hangs, in its own process group.
func (m *machine) start(settings ...string) *exec.Cmd {
	m.t.Helper()
	command, _, stderr := m.command(settings...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(m.t, command.Start())
	m.t.Cleanup(func() { _ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) })
	m.await(stderr, func() bool { _, err := os.Stat(filepath.Join(m.fakes, "hangs")); return err == nil })
	return command
}

func (m *machine) await(stderr *bytes.Buffer, done func() bool) {
	m.t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			m.t.Fatalf("nothing happens; said %q", stderr)
		}
	}
}

// wantGoesOn checks that a build continues where the last one ended.
func (m *machine) wantGoesOn() {
	m.t.Helper()
	m.wantLibrary(m.run(), "built")
	if m.calls("resumed") != 1 || m.calls("cargo build") != 2 {
		m.t.Errorf("cargo has built %d times and went on %d times, want 2, 1", m.calls("cargo build"), m.calls("resumed"))
	}
}

// Of two builds at once, the second waits and finds the first one's library, with flock or without.
func TestTwoAtOnce(t *testing.T) {
	for _, tool := range []string{"flock", "perl"} {
		t.Run(tool, func(t *testing.T) {
			m := newMachine(t)
			if _, err := os.Lstat(filepath.Join(m.tools, tool)); err != nil {
				t.Skipf("there is no %s", tool)
			}
			if _, err := os.Lstat(filepath.Join(m.tools, "flock")); err == nil && tool == "perl" {
				m.without("flock")
			}
			m.testTwoAtOnce()
		})
	}
}

func (m *machine) testTwoAtOnce() {
	m.fake("hanging", nil)
	first := m.start()
	waiting := make(chan result)
	var once sync.Once
	go func() { once.Do(func() { waiting <- m.run() }) }()
	select {
	case got := <-waiting:
		m.t.Fatalf("the second did not wait: %d %q, said %q", got.code, got.stdout, got.stderr)
	case <-time.After(2 * time.Second):
	}
	m.remove("hanging")
	require.NoError(m.t, first.Wait())
	second := <-waiting
	m.wantLibrary(second, "built")
	if !strings.Contains(second.stderr, "another build is running") || m.calls("cargo build") != 1 {
		m.t.Errorf("cargo has built %d times, want once; the second said %q", m.calls("cargo build"), second.stderr)
	}
}

func TestMissingTools(t *testing.T) {
	for _, test := range []struct {
		name, without, rust string
		want                string // in what is said, or nothing if it is built
	}{
		{name: "cargo", without: "cargo", want: "https://rustup.rs"},
		{name: "rustc", without: "rustc", want: "https://rustup.rs"},
		{name: "old Rust", rust: "1.85.1", want: "rustc 1.86 or later"},
		{name: "very old Rust", rust: "0.99.0", want: "rustc 1.86 or later"},
		{name: "odd Rust", rust: "unknown", want: "rustc 1.86 or later"},
		{name: "oldest Rust", rust: "1.86.0"},
		{name: "nightly Rust", rust: "1.100.0-nightly"},
		{name: "next Rust", rust: "2.0.0"},
		{name: "C compiler", without: "cc", want: "apt-get install build-essential"},
		{name: "go", without: "go", want: "go is missing"},
		{name: "curl", without: "curl"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := newMachine(t)
			if test.without != "" {
				m.without(test.without)
			}
			got := m.run("FAKE_RUST=" + test.rust)
			if test.want == "" {
				m.wantLibrary(got, "built")
			} else if got.code != 3 || got.stdout != "" || !strings.Contains(got.stderr, test.want) {
				t.Errorf("library.sh = %d %q, said %q, want 3, nothing, %q", got.code, got.stdout, got.stderr, test.want)
			}
		})
	}
}

func TestGivenFolder(t *testing.T) {
	for _, test := range []struct {
		name, folder, file, content string
		arguments                   []string
		code                        int
		want                        string // on stdout, or of an error on stderr; DIR is the folder
	}{
		{name: "shared", folder: "lib", file: libraryName(), content: "x", want: "DIR"},
		{name: "flags", folder: "lib", file: libraryName(), content: "x", arguments: []string{"--flags"}, want: "-LDIR -llancedb_go -Wl,-rpath,DIR"},
		{name: "origin", folder: "lib", file: libraryName(), content: "x", arguments: []string{"--flags", "$ORIGIN"}, want: "-LDIR -llancedb_go -Wl,-rpath,$ORIGIN"},
		{name: "origins", folder: "lib", file: libraryName(), content: "x", arguments: []string{"--flags", "a", "b c"},
			want: `-LDIR -llancedb_go -Wl,-rpath,a "-Wl,-rpath,b c"`},
		{name: "blanks", folder: "my lib", file: libraryName(), content: "x", arguments: []string{"--flags"}, want: `"-LDIR" -llancedb_go "-Wl,-rpath,DIR"`},
		{name: "static", folder: "lib", file: "liblancedb_go.a", content: "x", want: "DIR"},
		{name: "nothing in it", folder: "lib", file: "other.so", content: "x", code: 1, want: "which has no " + libraryName()},
		{name: "empty library", folder: "lib", file: libraryName(), code: 1, want: "which has no " + libraryName()},
		{name: "no folder", code: 1, want: "which is no folder"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := newMachine(t)
			dir := filepath.Join(m.home, "none")
			if test.folder != "" {
				dir = filepath.Join(m.home, test.folder)
				require.NoError(t, os.Mkdir(dir, 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(dir, test.file), []byte(test.content), 0o644))
			}
			for _, given := range []string{dir, filepath.Base(dir)} { // the script is called in m.home
				got := m.run(append([]string{"LANCEDB_LIB=" + given, "--"}, test.arguments...)...)
				want := strings.ReplaceAll(test.want, "DIR", dir)
				if got.code != test.code || test.code == 0 && got.stdout != want || test.code != 0 && !strings.Contains(got.stderr, want) {
					t.Errorf("LANCEDB_LIB=%s library.sh = %d %q, said %q, want %d %q", given, got.code, got.stdout, got.stderr, test.code, want)
				}
			}
			if m.calls("cargo")+m.calls("curl") != 0 {
				t.Error("cargo or curl was called, want neither where a folder is given")
			}
		})
	}
}

// An archive is used only with a known and right checksum.
func TestPublished(t *testing.T) {
	platform := runtime.GOOS + "_" + runtime.GOARCH
	good := archive(t, "lib/"+platform+"/"+libraryName())
	others := archive(t, "lib/plan9_mips/"+libraryName())
	for _, test := range []struct {
		name     string
		page     string // SUM is the archive's
		archive  []byte
		settings []string
		want     string // fetched, or built
		says     string
		asked    int // how often curl is called
	}{
		{name: "checksum right", page: page(`"sha256:SUM"`), archive: good, want: "fetched", says: "fetching", asked: 2},
		{name: "checksum wrong", page: page(`"sha256:` + strings.Repeat("0", 64) + `"`), archive: good, want: "built", says: "another checksum", asked: 2},
		{name: "no checksum", page: page("null"), archive: good, want: "built", says: "gives no checksum", asked: 1},
		{name: "other archive's checksum", page: `{"assets":[{"name":"other.tar.gz","digest":"sha256:SUM"}]}`, archive: good, want: "built", says: "gives no checksum", asked: 1},
		{name: "page is no JSON", page: "<html>", archive: good, want: "built", says: "gives no checksum", asked: 1},
		{name: "no page", archive: good, want: "built", says: "does not answer", asked: 1},
		{name: "no archive", page: page(`"sha256:SUM"`), want: "built", says: "could not be fetched", asked: 2},
		{name: "no archive for this platform", page: page(`"sha256:SUM"`), archive: others, want: "built", says: "no library for", asked: 2},
		{name: "no archive at all", page: page(`"sha256:SUM"`), archive: []byte("<html>"), want: "built", asked: 2},
		{name: "switched off", page: page(`"sha256:SUM"`), archive: good, settings: []string{"MEMCORE_LANCEDB_PREBUILT=no"}, want: "built"},
		{name: "trusted by hand", archive: good, settings: []string{"MEMCORE_LANCEDB_SHA256=SUM"}, want: "fetched", asked: 1},
		{name: "trusted by hand, wrongly", page: page(`"sha256:SUM"`), archive: good, settings: []string{"MEMCORE_LANCEDB_SHA256=12"}, want: "built", says: "another checksum", asked: 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := newMachine(t)
			sum := sha256.Sum256(test.archive)
			insert := func(text string) string { return strings.ReplaceAll(text, "SUM", hex.EncodeToString(sum[:])) }
			if test.page != "" {
				m.fake("page", []byte(insert(test.page)))
			}
			if test.archive != nil {
				m.fake("archive", test.archive)
			}
			for _, setting := range test.settings {
				m.env = append(m.env, insert(setting))
			}
			got := m.run()
			m.wantLibrary(got, test.want)
			if asked := m.calls("curl"); asked != test.asked || !strings.Contains(got.stderr, test.says) {
				t.Errorf("library.sh asked %d times and said %q, want %d and %q", asked, got.stderr, test.asked, test.says)
			}
			left, err := filepath.Glob(filepath.Join(m.cache(), "*/fetched"))
			if err != nil || len(left) != 0 {
				t.Errorf("%v is left", left)
			}
		})
	}
}

// page is a release page whose archive has a digest; other assets come before and after it.
func page(digest string) string {
	return `{
  "name": "v0.1.2", "body": "the \"name\": of the game, {\"digest\": 1}",
  "assets": [
    {"name": "first.tar.gz", "uploader": {"login": "x"}, "digest": "sha256:` + strings.Repeat("a", 64) + `"},
    {"name": "lancedb-go-native-binaries.tar.gz", "label": "", "uploader": {"login": "x"}, "size": 1,
      "digest": ` + digest + `},
    {"name": "last.tar.gz", "digest": "sha256:` + strings.Repeat("b", 64) + `"}
  ]
}`
}

// archive is a tarball with one library in it.
func archive(t *testing.T, name string) []byte {
	t.Helper()
	var buffer bytes.Buffer
	compressed := gzip.NewWriter(&buffer)
	files := tar.NewWriter(compressed)
	content := []byte("fetched")
	require.NoError(t, files.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}))
	_, err := files.Write(content)
	require.NoError(t, err)
	require.NoError(t, files.Close())
	require.NoError(t, compressed.Close())
	return buffer.Bytes()
}

// Abandoned builds of other keys are removed after a month. Libraries stay: programs use them in
// place.
func TestOldBuildsGo(t *testing.T) {
	m := newMachine(t)
	m.wantLibrary(m.run(), "built")
	for path, test := range map[string]struct {
		days  int
		stays bool
	}{"old/build": {40, false}, "old/lib": {40, true}, "young/build": {5, true}} {
		dir := filepath.Join(m.cache(), path)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		then := time.Now().AddDate(0, 0, -test.days)
		require.NoError(t, os.Chtimes(dir, then, then))
		m.wantLibrary(m.run(), "built")
		if _, err := os.Stat(dir); test.stays != (err == nil) {
			t.Errorf("%s after %d days: %v, want that it stays: %v", path, test.days, err, test.stays)
		}
	}
}

// A protoc of another version than the recipe's is not run.
func TestForeignProtoc(t *testing.T) {
	m := newMachine(t)
	got := m.run("MEMCORE_PROTOC_SHA256=") // as for everybody: the sum that the script knows
	require.NotEqual(t, 0, got.code)
	require.Contains(t, got.stderr, "not run")
	require.Zero(t, m.calls("cargo build"))
	m.wantLibrary(m.run(), "built")
}
