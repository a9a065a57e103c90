package privilege

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/embed/pack/packtest"
	"github.com/memcore/memcore/lab/torture/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// A world is a home and a project for memcore, with nothing else in its environment.
type world struct {
	t       *testing.T
	program string
	dir     string // the folder of all others
	home    string
	project string
	umask   string
	env     []string
	loose   bool // commands may fail, as they do with a server that refuses

	mu      sync.Mutex
	printed map[string]string // by command line
	ran     [][]string
}

// programVariable names the built program for a test in its own process.
const programVariable = "MEMCORE_TORTURE_PROGRAM"

func newWorld(t *testing.T) *world {
	t.Helper()
	program := os.Getenv(programVariable)
	if program == "" {
		program = harness.Program(t)
	}
	dir, err := os.MkdirTemp("", "privilege") // a short path: a socket is in it
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	w := &world{t: t, program: program, dir: dir, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project"), umask: "022", printed: map[string]string{}}
	for _, folder := range []string{w.home, w.project, filepath.Join(dir, "tmp"), filepath.Join(w.project, ".git"), filepath.Join(w.home, ".claude")} {
		require.NoError(t, os.MkdirAll(folder, 0o755))
	}
	w.write("project/notes/staging.md", "# Staging\n\nThe staging database listens on port 5433.\n\n# Deploys\n\nDeploys run on Fridays, Ada approves them.\n")
	w.write("project/BEANS.md", "# Project\n\n- The colour of the logo is red.\n")
	w.write("project/turns/own/states/s1/staging.md", "# Staging\n\nThe staging database listens on port 5433, behind the proxy.\n")
	w.write("project/turns/own/states/s1/sessions.txt", "")
	w.write("project/turns/own/cases.jsonl", `{"id":"1","state":"s1","session":"s2","turn":0,"kind":"question","prompt":"which port does the staging database use?","nothing":false,`+
		`"judged":[{"path":"staging.md","lines":[1,3],"text":"The staging database listens on port 5433, behind the proxy.","grade":2}]}`+"\n")
	t.Cleanup(func() { w.command(context.Background(), "serve", "--stop").Run() })
	return w
}

// write makes a file with permissions of its own, as another program would.
func (w *world) write(name, text string) {
	path := filepath.Join(w.dir, name)
	require.NoError(w.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(w.t, os.WriteFile(path, []byte(text), 0o644))
}

// command returns memcore with a umask, in the project.
func (w *world) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", "umask " + w.umask + `; exec "$0" "$@"`, w.program}, args...)...)
	c.Dir = w.project
	c.Env = append([]string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + filepath.Join(w.dir, "tmp"), `EDITOR=sh -c 'echo "- By hand." >> "$0"'`, "MEMCORE_HOOK_BUDGET=20s"}, w.env...)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c
}

// note keeps the output of a command.
func (w *world) note(args []string, out string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ran = append(w.ran, args)
	w.printed[strings.Join(args, " ")] += out
}

// do runs a command.
func (w *world) do(stdin string, args ...string) string {
	w.t.Helper()
	ctx, stop := context.WithTimeout(w.t.Context(), time.Minute)
	defer stop()
	begun := time.Now()
	defer func() { w.took(begun, args) }()
	c := w.command(ctx, args...)
	c.Stdin = strings.NewReader(stdin)
	out, err := c.CombinedOutput()
	w.note(args, string(out))
	if err != nil && !w.loose {
		w.t.Fatalf("memcore %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// took logs the time of a command.
func (w *world) took(since time.Time, args []string) {
	if testing.Verbose() {
		w.t.Logf("%6.2f s: memcore %.80s", time.Since(since).Seconds(), strings.Join(args, " "))
	}
}

// A server is a command that runs until it is interrupted.
type server struct {
	w    *world
	args []string
	c    *exec.Cmd
	mu   sync.Mutex
	out  bytes.Buffer
}

func (s *server) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(p)
}

func (s *server) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String()
}

// start starts a command and waits until its output matches; it returns the first group.
func (w *world) start(wanted string, args ...string) (*server, string) {
	w.t.Helper()
	s := &server{w: w, args: args, c: w.command(context.Background(), args...)}
	s.c.Stdout, s.c.Stderr = s, s
	require.NoError(w.t, s.c.Start())
	w.t.Cleanup(func() { s.c.Process.Kill() })
	re, begun := regexp.MustCompile(wanted), time.Now()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if found := re.FindStringSubmatch(s.said()); found != nil {
			w.took(begun, args)
			return s, found[len(found)-1]
		}
	}
	w.t.Fatalf("memcore %s has not said %q: %s", strings.Join(args, " "), wanted, s.said())
	return nil, ""
}

func (s *server) stop() {
	s.w.t.Helper()
	require.NoError(s.w.t, s.c.Process.Signal(os.Interrupt))
	begun := time.Now()
	_ = s.c.Wait() // some say with their code that they were interrupted
	s.w.took(begun, s.args)
	s.w.note(s.args, s.said())
}

// Unique tokens of a session's servers, which must appear nowhere.
const (
	serveToken = "tok-serve-7Hq2vXw9LmPz4RtKs8Yb"
	mcpToken   = "tok-mcp-3Jd6nBc1QfGx5WuEa0Vh"
	proxyToken = "tok-proxy-9Zk4yTr7MoSi2CpNl6Dg"
)

// newUpstream starts a model's server that answers with its request, keys in headers included.
func newUpstream(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":{"message":"Incorrect API key provided: %s"}}`, r.Header.Get("Authorization"))
	}))
	t.Cleanup(s.Close)
	return s
}

// session runs every command. serving, if set, is called while all servers run, with their
// addresses.
func (w *world) session(upstream string, serving func(serve, mcp, proxy string)) {
	t := w.t
	t.Helper()
	flags := []string{"-v"}
	do := func(stdin string, args ...string) string { return w.do(stdin, append(flags, args...)...) }
	do("", "version")
	do("", "help")
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		do("", "completion", shell)
	}
	do("", "trust", "add")
	do("", "trust", "list")
	do("", "trust", "list", ".")
	file := filepath.Join(w.t.TempDir(), "small.memcore")
	require.NoError(t, os.WriteFile(file, packtest.Small(t, "small"), 0o600))
	do("", "model", "add", file)
	do("", "model")
	w.loosely(func() { do("", "model", "remove", "small") }) // it is in use
	do("", "model", "add", "minilm")
	w.loosely(func() { // only builds with LanceDB have a service
		for _, command := range []string{"tenant list", "tenant create acme", "tenant set acme --rate 5", "tenant delete acme --yes", "key list --tenant acme", "key create --tenant acme --user ann", "key revoke k --tenant acme"} {
			do("", append([]string{"service"}, append(strings.Fields(command), "--storage", w.t.TempDir())...)...)
		}
	})
	do("", "init", "--yes", "--user", "--agent", "claude-code", "--agent", "gemini-cli", "--agent", "codex", "--agent", "cursor")
	do("", "init", "--yes", "--project", "--agent", "claude-code", "--agent", "gemini-cli", "--agent", "codex", "--agent", "cursor")
	do("", "index", "--conversations")
	do("", "session", "new", "demo")
	do("", "session", "append", "I prefer tabs over spaces. "+w.said())
	do("", "session", "list")
	do("", "session", "show")
	w.loosely(func() { do("", "session", "reflect", "--dry-run") }) // most worlds have no model
	do("", "session", "new", "brief")
	do("", "session", "delete", "brief", "--yes")
	do("", "session", "delete", "--older", "1y", "--yes")
	do("", "save", "--yes", "--shared", "The canary runs on port 7777. "+w.said())
	do("", "save", "--yes", "--target", "global", "My editor is vi. "+w.said())
	do("", "save", "--yes", "--local", "My desk is number 12. "+w.said())
	do("", "save", "--undo")
	do("", "memory", "add", "--yes", "--shared", "Backups run at night. "+w.said())
	do("", "memory", "add", "--yes", "--target", "global", "I like short answers. "+w.said())
	do("", "memory", "edit")
	do("", "memory", "edit", "--local")
	do("", "memory", "edit", "--global")
	for _, what := range []string{"list", "refresh", "show", "stats", "status"} {
		do("", "memory", what)
	}
	do("", "tool")
	do(`{"path": "facts/user.md", "content": "# User\n\nWorks in Turin. `+w.said()+`\n"}`, "tool", "memory_write", "-")
	do(`{"path": "facts/deep/er/team.md", "content": "# Team\n\nAda, Bo.\n"}`, "tool", "memory_write", "-")
	for _, event := range []string{
		`"hook_event_name":"SessionStart","source":"startup"`,
		`"hook_event_name":"UserPromptSubmit","prompt":"which port does the staging database use? ` + w.said() + `"`,
		`"hook_event_name":"Stop","last_assistant_message":"It is 5433. ` + w.said() + `"`,
		`"hook_event_name":"SessionEnd","reason":"exit"`,
	} {
		do(`{"session_id":"s1","cwd":"`+w.project+`","transcript_path":"",`+event+`}`, "hook", "claude-code")
	}
	do("which port does the staging database use?", "hook", "text")
	do("", "explain", "--last")
	do("", "search", "staging database")
	do("", "--json", "explain", "staging database")
	do("", "retrieve", "which port does the staging database use?")
	do("", "explain", "which port does the staging database use?")
	do(`{"model":"m","messages":[{"role":"user","content":"which port does the staging database use?"}]}`, "proxy", "--once")
	do("", "memory", "show", "--provenance")
	do("", "search", "--sessions", "tabs or spaces")
	do("", "memory", "pending", "--accept", "all")
	do(`{"session_id":"s1","cwd":"`+w.project+`","context_window":{"total_input_tokens":8000}}`, "statusline")
	do("", "index", "--rebuild")
	do("", "status", "--usage")
	do("", "view", "--link")
	do("", "export", "../export.tar.gz")
	do("", "import", "../export.tar.gz", "--yes", "--skip")
	do("", "status")
	w.loosely(func() { do("", "doctor") }) // problems are an error
	do("", "eval", "init", "cases.yaml")
	do("", "eval", "run", "--data", "cases.yaml")
	do("", "eval", "run", "--data", "cases.yaml", "--baseline", "baseline.json")
	w.write("project/run.json", w.doJSON("--json", "eval", "run", "--data", "cases.yaml"))
	do("", "eval", "compare", "run.json", "run.json")
	do("", "eval", "turns", "--data", "turns")
	do(strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"search_memory","arguments":{"query":"staging database"}}}`, ""}, "\n"), "mcp")
	w.servers(upstream, serving)
	do("", "forget", "--yes", "--from-index", "notes/staging.md#L5-L7")
	do("", "forget", "--yes", "the canary runs on port 7777")
	do("", "uninstall", "--yes")
	do("", "trust", "remove")
	do("", "serve", "--status")
	do("", "serve", "--stop")
	w.complete(flags)
}

// loosely calls do; commands may fail.
func (w *world) loosely(do func()) {
	before := w.loose
	w.loose = true
	do()
	w.loose = before
}

// doJSON returns a command's standard output.
func (w *world) doJSON(args ...string) string {
	out, err := w.command(w.t.Context(), args...).Output()
	if !w.loose {
		require.NoError(w.t, err)
	}
	return string(out)
}

// said returns text that is added to everything saved and asked: secrets, if the world has some.
func (w *world) said() string {
	for _, variable := range w.env {
		if text, ok := strings.CutPrefix(variable, "PLANTED="); ok {
			return text
		}
	}
	return ""
}

// servers runs all serving commands in parallel.
func (w *world) servers(upstream string, serving func(serve, mcp, proxy string)) {
	w.do("", "serve", "--stop") // the one that a hook has started
	before := w.env
	w.env = append(slices.Clone(before), "SERVE_TOKEN="+serveToken, "MCP_TOKEN="+mcpToken, "PROXY_TOKEN="+proxyToken)
	serve, _ := w.start(`listening at http://(\S+)[\s\S]*listening at \S+sock|listening at \S+sock[\s\S]*listening at http://(\S+)`, "-v", "serve", "--http", "127.0.0.1:0", "--token-env", "SERVE_TOKEN")
	at := regexp.MustCompile(`http://(\S+)`).FindStringSubmatch(serve.said())[1]
	mcp, mcpAt := w.start(`serving MCP at http://(\S+)/mcp`, "-v", "mcp", "--http", "127.0.0.1:0", "--token-env", "MCP_TOKEN")
	proxy, proxyAt := w.start(`listening on http://([^\s,]+)`, "-v", "proxy", "--upstream", upstream, "--listen", "127.0.0.1:0", "--token-env", "PROXY_TOKEN")
	w.env = before
	for _, path := range []string{"retrieve", "search", "context", "tools", "status"} {
		w.ask(at, http.MethodPost, "/v1/"+path, `{"workspace": "`+w.project+`"`+map[bool]string{true: `, "query": "which port does the staging database use? ` + w.said() + `"`}[len(path) > 6 && path != "context"]+`}`, "Authorization", "Bearer "+serveToken)
	}
	w.ask(at, http.MethodGet, "/v1/openapi.json", "", "Authorization", "Bearer "+serveToken)
	w.ask(at, http.MethodGet, "/v1/health", "", "Authorization", "Bearer wrong-"+serveToken)
	w.ask(proxyAt, http.MethodPost, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"which port does the staging database use? `+w.said()+`"}]}`, "X-Memcore-Token", proxyToken, "Authorization", "Bearer "+clientKey)
	w.ask(proxyAt, http.MethodGet, "/v1/models?key="+clientKey, "", "X-Memcore-Token", "wrong-"+proxyToken, "Authorization", "Bearer "+clientKey)
	w.do("", "-v", "search", "staging database")
	if serving != nil {
		serving(at, mcpAt, proxyAt)
	}
	for _, s := range []*server{proxy, mcp, serve} {
		s.stop()
	}
}

// clientKey is the key that the proxy's client sends to its model's server.
const clientKey = "sk-client-5Rw8eQz1XvUn3KbHj7Mt0LcYd4Ga"

// ask asks a server and keeps the answer with its headers.
func (w *world) ask(host, method, path, body string, header ...string) int {
	w.t.Helper()
	request, err := http.NewRequest(method, "http://"+host+path, strings.NewReader(body))
	require.NoError(w.t, err)
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := client.Do(request)
	require.NoError(w.t, err)
	defer response.Body.Close()
	var answer bytes.Buffer
	_ = response.Header.Write(&answer)
	_, err = answer.ReadFrom(response.Body)
	require.NoError(w.t, err)
	if !strings.Contains(path, "chat/completions") || response.StatusCode != http.StatusUnauthorized { // the upstream's words to its own client
		w.note([]string{method, host + strings.Split(path, "?")[0]}, answer.String())
	}
	return response.StatusCode
}

var client = &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext}}

// listed matches the line of a command in a help.
var listed = regexp.MustCompile(`(?m)^  ([a-z][a-z-]*) {2,}\S`)

// complete checks that every command of the program's help was run.
func (w *world) complete(flags []string) {
	w.t.Helper()
	leaves := 0
	var visit func(path []string)
	visit = func(path []string) {
		help, err := w.command(w.t.Context(), append(slices.Clone(path), "--help")...).Output()
		require.NoError(w.t, err)
		_, list, _ := strings.Cut(string(help), "\nUsage:\n")
		list, _, _ = strings.Cut(list, "\nFlags:\n")
		below := false
		for _, m := range listed.FindAllStringSubmatch(list, -1) {
			if below = true; m[1] != "help" {
				visit(append(slices.Clone(path), m[1]))
			}
		}
		if below {
			return
		}
		leaves++
		if !slices.ContainsFunc(w.ran, func(args []string) bool {
			args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return slices.Contains(append(flags, "--json"), a) })
			return len(args) >= len(path) && slices.Equal(args[:len(path)], path)
		}) {
			w.t.Errorf("the session leaves out memcore %s", strings.Join(path, " "))
		}
	}
	visit(nil)
	require.Greater(w.t, leaves, 20, "the help has fewer commands than are known")
}
