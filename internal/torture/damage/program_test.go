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

	"github.com/memcore/memcore/internal/torture"
)

// A place is a home folder and a workspace that only the program uses.
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

// token is what the daemon wants to see.
const token = "of-this-test"

// commandTime is far more than any command takes.
const commandTime = 60 * time.Second

// A ran is what a command did.
type ran struct {
	out, errs string
	code      int
	took      time.Duration
}

func (r ran) String() string { return fmt.Sprintf("exit %d\n%s%s", r.code, r.out, r.errs) }

func (p place) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, torture.Program(p.t), args...)
	cmd.Dir = p.workspace
	cmd.Env = append([]string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH"), "MEMCORE_DAEMON_START=false", "TOKEN=" + token}, p.env...)
	return cmd
}

// run runs a command; one that is killed, panics or hangs fails the test.
func (p place) run(stdin string, args ...string) ran {
	p.t.Helper()
	return p.runFor(commandTime, stdin, args...)
}

// runFor is run for a command that may take longer.
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

// crashed tells whether the runtime has said its last words.
func crashed(errs string) bool {
	return strings.Contains(errs, "goroutine ") || strings.Contains(errs, "panic:") || strings.Contains(errs, "SIG")
}

// state is where the program keeps all that is not the user's files.
func (p place) state() string { return filepath.Join(p.home, ".cache", "memcore") }

// prompt is what an agent's hook is called with.
func (p place) prompt(session string) string {
	event, err := json.Marshal(map[string]string{"hook_event_name": "UserPromptSubmit", "session_id": session, "cwd": p.workspace, "prompt": "which port does the staging postgres listen on?"})
	require.NoError(p.t, err)
	return string(event)
}

// reading are commands that change nothing a person wrote, with what of their output has to be the same each time.
func (p place) reading(session string) []struct {
	args  []string
	stdin string
} {
	return []struct {
		args  []string
		stdin string
	}{
		{args: []string{"retrieve", "which port does the staging postgres listen on?"}},
		{args: []string{"search", "quokka"}},
		{args: []string{"stats", "--json"}},
		{args: []string{"status"}},
		{args: []string{"doctor"}},
		{args: []string{"context"}},
		{args: []string{"recall", "canary"}},
		{args: []string{"hook", "claude-code"}, stdin: p.prompt(session)},
	}
}

// telling are the words that admit that an answer may not be whole.
var telling = regexp.MustCompile(`damaged|anew|newer|earlier|degraded|cannot be|no vector|not (?:searchable|complete|indexed)|index again|memcore index|mend|unexpected|invalid|nothing is indexed|is a directory|permission`)

// Whatever becomes of a file that memcore keeps: each command answers as before or says what is wrong, none crashes, and 'memcore index'
// without a flag makes all derived files good again.
func TestDamagedState(t *testing.T) {
	p := newPlace(t)
	require.Zero(t, p.run("", "index", "--conversations=false").code)
	require.Zero(t, p.run("", "save", "The falcon nests on the north tower.").code)
	p.run("", "session", "new", "s1")
	p.run("", "log", "the canary sings")
	p.run("", "trust", "add")
	p.run(p.prompt("begin"), "hook", "claude-code")
	require.Zero(t, p.run("", "index").code)
	for range 3 {
		require.Zero(t, p.run("", "index").code)
	}
	want := map[string]string{}
	for _, c := range p.reading("base")[:2] {
		want[c.args[0]] = p.run(c.stdin, c.args...).out
	}
	require.Contains(t, want["retrieve"], "5433")
	require.Contains(t, want["search"], "Quokkas")
	kept := treeOf(t, p.state())
	require.Greater(t, len(kept), 12)
	own := treeOf(t, p.workspace)
	random := rand.New(rand.NewPCG(3, 3))
	n := torture.Times(8, 500)
	said := 0
	for i := range n {
		if t.Failed() {
			break
		}
		kept.restore(t, p.state())
		w := hurt(t, random, p.state(), filesIn(t, p.state()))
		told := false
		for _, c := range p.reading(fmt.Sprintf("s%d", i)) {
			r := p.run(c.stdin, c.args...)
			says := r.code != 0 || telling.MatchString(r.errs+r.out)
			told = told || says
			if right, ok := want[c.args[0]]; ok && r.out != right && !telling.MatchString(r.errs) {
				t.Errorf("%d: %v: memcore %s is, and says nothing:\n%v\nwant\n%s", i, w, c.args, r, right)
			}
			if r.code != 0 && !telling.MatchString(r.errs+r.out) {
				t.Errorf("%d: %v: memcore %s fails without saying why and what to do: %v", i, w, c.args, r)
			}
			if c.args[0] == "hook" && r.code != 0 {
				t.Errorf("%d: %v: a hook fails, which stops a turn: %v", i, w, r)
			}
		}
		if told {
			said++
		}
		r := p.run("", "index")
		if r.code != 0 {
			if !isOwn(w.file) && !strings.Contains(w.what, "swap") {
				t.Errorf("%d: %v: memcore index: %v", i, w, r)
			}
			continue
		}
		for name, right := range want {
			c := p.reading("")[map[string]int{"retrieve": 0, "search": 1}[name]]
			if r := p.run("", c.args...); r.out != right && !strings.Contains(r.errs, "took longer than") { // a machine that does much else
				t.Errorf("%d: %v, after index: memcore %s: %v\nwant\n%s", i, w, c.args, r, right)
			}
		}
	}
	require.Equal(t, own, treeOf(t, p.workspace), "the user's files")
	torture.Report(t, torture.Row{Part: "damaged files", Case: "every file that memcore keeps, 9 commands each", Count: n, Unit: "damages",
		Result: fmt.Sprintf("%d told, others harmless; no crash, mended by memcore index", said)})
}

// isOwn tells of a file in the cache folder that says what a person decided, which is not made anew by guessing.
func isOwn(file string) bool {
	name := filepath.Base(file)
	return name == "sources.json" || name == "forgotten.json" || strings.HasPrefix(file, "journal/")
}

// A daemon whose files are cut, flipped or gone under it goes on: each answer is right or says what is wrong, and it mends the index by itself.
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
		case <-time.After(20 * time.Second):
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
	}, 20*time.Second, 50*time.Millisecond)
	index, err := filepath.Glob(filepath.Join(p.state(), "index", "*", "data"))
	require.NoError(t, err)
	require.Len(t, index, 1)
	random := rand.New(rand.NewPCG(11, 11))
	n, told := torture.Times(15, 300), 0
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
			told++
		}
		if i%3 == 0 { // a file that changes makes the daemon look
			p.write("notes/new.md", fmt.Sprintf("# New\n\nThe gull number %d has landed.\n", i))
		}
		r := p.run("", "index")
		require.Zero(t, r.code, "%d: %v: %v", i, w, r)
		require.Eventually(t, func() bool { got, degraded = ask(); return got == want && !degraded }, 20*time.Second, 50*time.Millisecond,
			"%d: %v, after index: %v", i, w, func() string { return got })
	}
	torture.Report(t, torture.Row{Part: "damaged files", Case: "index that a daemon has open", Count: n, Unit: "damages",
		Result: fmt.Sprintf("%d told, others harmless; the daemon lives and follows the mended index", told)})
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}
