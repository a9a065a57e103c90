package damage

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/lab/torture/harness"
)

// A place is a home and a workspace.
type place struct {
	t               *testing.T
	home, workspace string
	env             []string // beside its own
}

func newPlace(t *testing.T) place {
	dir := t.TempDir()
	p := place{t: t, home: filepath.Join(dir, "home"), workspace: filepath.Join(dir, "ws")}
	for _, folder := range []string{p.home, filepath.Join(p.workspace, ".git"), filepath.Join(p.workspace, "notes")} {
		require.NoError(t, os.MkdirAll(folder, 0o755))
	}
	for i, text := range []string{"The staging postgres listens on port 5433.", "The canary is deployed on Tuesdays by Ada.", "Quokkas are fed at noon in the east meadow.",
		"The ledger is closed on the last Friday of a month.", "Restart the beacon after each change of its lamp."} {
		p.write(fmt.Sprintf("notes/%d.md", i), fmt.Sprintf("# Note %d\n\n%s\n", i, text))
	}
	return p
}

func (p place) write(name, text string) {
	p.t.Helper()
	writeEarlier(p.t, filepath.Join(p.workspace, name), text)
}

// token is the daemon's.
const token = "of-this-test"

// commandTime is far more than a command takes.
const commandTime = 60 * time.Second

// A ran is the result of a command.
type ran struct {
	out, errs string
	code      int
	took      time.Duration
}

func (r ran) String() string { return fmt.Sprintf("exit %d\n%s%s", r.code, r.out, r.errs) }

func (p place) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, harness.Program(p.t), args...)
	cmd.Dir = p.workspace
	cmd.Env = append([]string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH"), "MEMCORE_DAEMON_START=false", "TOKEN=" + token,
		"XDG_CACHE_HOME=" + filepath.Join(p.kept(), "cache"), "XDG_STATE_HOME=" + filepath.Join(p.kept(), "state")}, p.env...)
	return cmd
}

// run runs a command. The test fails if it is killed, panics or hangs.
func (p place) run(stdin string, args ...string) ran {
	p.t.Helper()
	return p.runFor(commandTime, stdin, args...)
}

// runFor is run with a time limit.
func (p place) runFor(limit time.Duration, stdin string, args ...string) ran {
	p.t.Helper()
	ctx, stop := context.WithTimeout(p.t.Context(), limit)
	defer stop()
	cmd := p.command(ctx, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	began := time.Now()
	err := cmd.Run()
	r := ran{out.String(), errs.String(), cmd.ProcessState.ExitCode(), time.Since(began)}
	if ctx.Err() != nil || r.code < 0 || crashed(r.errs) {
		p.t.Errorf("memcore %s: %v, %v", strings.Join(args, " "), err, r)
	}
	return r
}

// crashed reports whether the runtime printed a crash.
func crashed(errs string) bool {
	return strings.Contains(errs, "goroutine ") || strings.Contains(errs, "panic:") || strings.Contains(errs, "SIG")
}

// kept returns the folder of memcore's own files.
func (p place) kept() string { return filepath.Join(p.home, "kept") }

func (p place) cache() string { return filepath.Join(p.kept(), "cache", "memcore") }

// prompt returns the input of a hook.
func (p place) prompt(session string) string {
	event, err := json.Marshal(map[string]string{"hook_event_name": "UserPromptSubmit", "session_id": session, "cwd": p.workspace, "prompt": "which port does the staging postgres listen on?"})
	require.NoError(p.t, err)
	return string(event)
}

// reading returns commands that change no user's file, with the part of their output that must not
// vary.
func (p place) reading(session string) []struct {
	args  []string
	stdin string
} {
	return []struct {
		args  []string
		stdin string
	}{
		{args: []string{"retrieve", question}},
		{args: []string{"search", "quokka"}},
		{args: []string{"status", "--usage", "--json"}},
		{args: []string{"status"}},
		{args: []string{"doctor"}},
		{args: []string{"memory", "show"}},
		{args: []string{"search", "--sessions", "canary"}},
		{args: []string{"hook", "claude-code"}, stdin: p.prompt(session)},
	}
}

// telling matches words that admit an incomplete answer.
var telling = regexp.MustCompile(`damaged|anew|newer|earlier|degraded|cannot be|no vector|not (?:searchable|complete|indexed)|index again|memcore index|mend|unexpected|invalid|nothing is indexed|is a directory|permission`)

// After any damage to a file of memcore, each command answers as before or reports a problem, none
// crashes, and 'memcore index' restores all derived files.
func TestDamagedState(t *testing.T) {
	p := newPlace(t)
	require.Zero(t, p.run("", "index", "--conversations=false").code)
	require.Zero(t, p.run("", "save", "--yes", "--shared", "The falcon nests on the north tower.").code)
	p.run("", "session", "new", "s1")
	p.run("", "session", "append", "the canary sings")
	p.run("", "trust", "add")
	p.run(p.prompt("begin"), "hook", "claude-code")
	require.Zero(t, p.run("", "index").code)
	for range 3 {
		require.Zero(t, p.run("", "index").code)
	}
	want := map[string]string{}
	for _, c := range p.reading("base")[:2] {
		want[strings.Join(c.args, " ")] = p.run(c.stdin, c.args...).out
	}
	require.Contains(t, want["retrieve "+question], "5433")
	require.Contains(t, want["search quokka"], "Quokkas")
	kept := treeOf(t, p.kept())
	require.Greater(t, len(kept), 12)
	own := treeOf(t, p.workspace)
	random := rand.New(rand.NewPCG(3, 3))
	n := harness.Times(8, 500)
	said := 0
	for i := range n {
		if t.Failed() {
			break
		}
		kept.restore(t, p.kept())
		w := hurt(t, random, p.kept(), filesIn(t, p.kept()))
		reported := false
		for _, c := range p.reading(fmt.Sprintf("s%d", i)) {
			r := p.run(c.stdin, c.args...)
			says := r.code != 0 || telling.MatchString(r.errs+r.out)
			reported = reported || says
			if right, ok := want[strings.Join(c.args, " ")]; ok && r.out != right && !telling.MatchString(r.errs) {
				t.Errorf("%d: %v: memcore %s is, and says nothing:\n%v\nwant\n%s", i, w, c.args, r, right)
			}
			if r.code != 0 && !telling.MatchString(r.errs+r.out) {
				t.Errorf("%d: %v: memcore %s fails without reason and hint: %v", i, w, c.args, r)
			}
			if c.args[0] == "hook" && r.code != 0 {
				t.Errorf("%d: %v: a hook fails, which stops a turn: %v", i, w, r)
			}
		}
		if reported {
			said++
		}
		r := p.run("", "index")
		if r.code != 0 {
			if !isOwn(w.file) && !strings.Contains(w.what, "swap") {
				t.Errorf("%d: %v: memcore index: %v", i, w, r)
			}
			continue
		}
		for _, c := range p.reading("")[:2] {
			right := want[strings.Join(c.args, " ")]
			if r := p.run("", c.args...); r.out != right && !strings.Contains(r.errs, "took longer than") { // a machine that does much else
				t.Errorf("%d: %v, after index: memcore %s: %v\nwant\n%s", i, w, c.args, r, right)
			}
		}
	}
	require.Equal(t, own, treeOf(t, p.workspace), "the user's files")
	t.Logf("every file that memcore keeps, 9 commands each: %d damages: %d reported, others harmless; no crash, repaired by memcore index", n, said)
}

// isOwn reports whether a file cannot be made again.
func isOwn(file string) bool { return strings.HasPrefix(file, "state/") }

// A daemon survives damage to its files: each answer is right or reports a problem, and the daemon
// repairs the index.
func TestDamageUnderADaemon(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("what is mapped cannot be changed there")
	}
	p := newPlace(t)
	require.Zero(t, p.run("", "index").code)
	address := freeAddress(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	daemon := p.command(ctx, "serve", "--http", address, "--token-env", "TOKEN")
	var errs bytes.Buffer
	daemon.Stdout, daemon.Stderr = &errs, &errs
	require.NoError(t, daemon.Start())
	ended := make(chan error, 1)
	go func() { ended <- daemon.Wait() }()
	defer func() {
		_ = daemon.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(time.Minute):
			_ = daemon.Process.Kill()
			<-ended
			t.Error("the daemon does not end")
		}
		if crashed(errs.String()) {
			t.Errorf("the daemon said: %s", errs.String())
		}
	}()
	ask := func() (text string, degraded bool) {
		body, err := json.Marshal(map[string]any{"workspace": p.workspace, "query": "which port does the staging postgres listen on?"})
		require.NoError(t, err)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/v1/retrieve", bytes.NewReader(body))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Authorization", "Bearer "+token)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err.Error(), true
		}
		defer response.Body.Close()
		var answer struct {
			Block    string
			State    string
			Degraded []string
		}
		if response.StatusCode != http.StatusOK {
			return "", true
		}
		require.NoError(t, json.NewDecoder(response.Body).Decode(&answer))
		return answer.Block, answer.State != "ready" || len(answer.Degraded) > 0
	}
	var want string
	require.Eventually(t, func() bool {
		var degraded bool
		want, degraded = ask()
		return !degraded && strings.Contains(want, "5433")
	}, time.Minute, 50*time.Millisecond)
	index, err := filepath.Glob(filepath.Join(p.cache(), "index", "*", "data"))
	require.NoError(t, err)
	require.Len(t, index, 1)
	random := rand.New(rand.NewPCG(11, 11))
	n, reported := harness.Times(15, 300), 0
	for i := range n {
		w := hurt(t, random, index[0], filesIn(t, index[0]))
		got, degraded := ask()
		select {
		case err := <-ended:
			t.Fatalf("%d: %v: the daemon has ended: %v\n%s", i, w, err, errs.String())
		default:
		}
		if got != want && !degraded {
			t.Errorf("%d: %v: the daemon answers, and says nothing:\n%s\nwant\n%s", i, w, got, want)
		}
		if degraded {
			reported++
		}
		if i%3 == 0 { // a file that changes makes the daemon look
			p.write("notes/new.md", fmt.Sprintf("# New\n\nThe gull number %d has landed.\n", i))
		}
		r := p.run("", "index")
		require.Zero(t, r.code, "%d: %v: %v", i, w, r)
		require.Eventually(t, func() bool { got, degraded = ask(); return got == want && !degraded }, time.Minute, 50*time.Millisecond,
			"%d: %v, after index: %v", i, w, func() string { return got })
	}
	t.Logf("index that a daemon has open: %d damages: %d reported, others harmless; the daemon runs on with the repaired index", n, reported)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}
