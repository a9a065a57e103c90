package privilege

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Keys of servers that memcore asks, and another one. They must appear nowhere.
var keys = map[string]string{
	"OPENAI_API_KEY":    "sk-proj-embed-Vb6Nm2Qw9Er4Ty8Ui1Op5As",
	"REFLECT_KEY":       "rf-key-Lk2Jh6Gf0Ds4Aq8We1Rt5Yu9Io3Pz",
	"ANTHROPIC_API_KEY": "sk-ant-api03-Qa1Ws5Ed9Rf3Tg7Yh2Uj6Ik0Ol4Pm8Nb",
}

// Secrets in notes, logs and questions.
var inText = map[string]string{
	"GitHub token":        "ghp_x7Kq2Zp9Lm4Vt8Nb1Rc6Yw3Jd5Hf0Gs2AeQu",
	"AWS key":             "AKIAQ3ZT7MNB5XKC2WRV",
	"Anthropic key":       "sk-ant-api03-" + "Hn4Jk8Lm2Pq6Rs0Tv4Wx8Yz1Bc5Df9Gh3Jk7Lm1Np5Qr9St3Uv7Wx1Yz5Ab9Cd3Ef7Gh1Jk5Lm9Np3Qr7St1Uv5Wx9Y" + "AA",
	"password":            "Tr4nsf0rm-Kx82-Gate!",
	"password in address": "Wq93-hJz7-Lpt2",
	"bearer token":        "Zk81LqPw03NvXb57RtMc29HdYf64",
}

func planted() string {
	return "Token " + inText["GitHub token"] + " and aws_access_key_id = " + inText["AWS key"] + " and ANTHROPIC_API_KEY=" + inText["Anthropic key"] + " and password: " + inText["password"] +
		" and postgres://app:" + inText["password in address"] + "@db.example/shop and Authorization: Bearer " + inText["bearer token"]
}

// A hunt searches files and output for secrets.
type hunt struct {
	forms map[string][]string // by name
	found []string
}

func newHunt(secrets map[string]string) *hunt {
	h := &hunt{forms: map[string][]string{}}
	for name, secret := range secrets {
		core := secret[len(secret)/4 : len(secret)*3/4+2] // some print a part
		h.forms[name] = []string{secret, core, base64.StdEncoding.EncodeToString([]byte(secret))[:len(secret)]}
	}
	return h
}

func (h *hunt) look(where, text string) {
	for _, name := range slices.Sorted(maps.Keys(h.forms)) {
		for _, form := range h.forms[name] {
			if i := strings.Index(text, form); i >= 0 {
				h.found = append(h.found, fmt.Sprintf("%s has the %s: …%q…", where, name, text[max(0, i-60):min(len(text), i+len(form)+20)]))
				break
			}
		}
	}
}

// lookAround searches new files of a world, their names, and all output.
func (h *hunt) lookAround(w *world, before map[string]fs.FileInfo) (files int) {
	w.t.Helper()
	require.NoError(w.t, filepath.WalkDir(w.dir, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(w.t, err)
		_, mine := before[path]
		if mine && !strings.Contains(path, "/home/.cache/") && !strings.Contains(path, "/home/.local/") {
			return nil
		}
		h.look("the name of", path)
		if entry.Type().IsRegular() {
			text, err := os.ReadFile(path)
			require.NoError(w.t, err)
			h.look(strings.TrimPrefix(path, w.dir), string(text))
			files++
		}
		return nil
	}))
	w.mu.Lock()
	defer w.mu.Unlock()
	for command, out := range w.printed {
		h.look("what memcore "+command[:min(len(command), 60)]+" prints", out)
	}
	return files
}

// A recorder is a server that keeps requests and answers with their key.
type recorder struct {
	*httptest.Server
	mu     sync.Mutex
	bodies bytes.Buffer
	asked  int
}

func newRecorder(t *testing.T, status int) *recorder {
	r := &recorder{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		var body io.Reader = q.Body
		if q.Header.Get("Content-Encoding") == "gzip" {
			if unpacked, err := gzip.NewReader(q.Body); err == nil {
				body = unpacked
			}
		}
		text, _ := io.ReadAll(body)
		r.mu.Lock()
		r.asked++
		fmt.Fprintf(&r.bodies, "%s %s\n%s\n", q.Method, q.URL, text)
		r.mu.Unlock()
		w.Header().Set("X-Echo", q.Header.Get("Authorization"))
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"message":"I do not take %s of yours. It is %s."}}`, q.Header.Get("Authorization"), strings.TrimPrefix(q.Header.Get("Authorization"), "Bearer "))
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *recorder) got() (text string, asked int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bodies.String(), r.asked
}

// processes searches command lines of the program's processes, and returns environments by command
// line.
func (h *hunt) processes(t *testing.T, program string) map[string]string {
	environments := map[string]string{}
	all, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(t, err)
	for _, dir := range all {
		if exe, err := os.Readlink(dir + "/exe"); err != nil || exe != program {
			continue
		}
		line, _ := os.ReadFile(dir + "/cmdline")
		h.look("the command line "+string(line), string(line))
		environment, _ := os.ReadFile(dir + "/environ")
		environments[strings.ReplaceAll(strings.TrimPrefix(string(line), program), "\x00", " ")+dir] = string(environment)
	}
	return environments
}

// Keys of servers, tokens and clients' headers appear in no file, answer, log, metric, trace or
// error. Secrets in texts appear only there.
func TestNoSecretGetsOut(t *testing.T) {
	w := newWorld(t)
	w.loose = true // the servers refuse everything
	embedder, chat := newRecorder(t, 400), newRecorder(t, 400)
	w.write("home/.beans/config.yaml", "memory:\n  embedder: openai\n  openai:\n    baseURL: "+embedder.URL+"/v1\n    model: m\n"+
		"  reflect:\n    baseURL: "+chat.URL+"/v1\n    model: m\n    apiKeyEnv: REFLECT_KEY\n")
	w.env = []string{"PLANTED=" + planted()}
	for name, key := range keys {
		w.env = append(w.env, name+"="+key)
	}
	w.write("project/notes/access.md", "# Access\n\nThe pelican server is reached like this. "+planted()+"\n")
	slug := strings.NewReplacer("/", "-", ".", "-").Replace(w.project)
	w.write("home/.claude/projects/"+slug+"/5f0e.jsonl", `{"type":"user","sessionId":"5f0e","cwd":"`+w.project+`","uuid":"1","timestamp":"2026-11-01T10:00:00Z","message":{"role":"user","content":"What does the server want? `+planted()+`"}}`+"\n"+
		`{"type":"assistant","sessionId":"5f0e","cwd":"`+w.project+`","uuid":"2","timestamp":"2026-11-01T10:00:05Z","message":{"role":"assistant","id":"m1","content":[{"type":"text","text":"The flamingo server wants a token because it is in front of all others; it was moved behind the proxy in spring, and since then each call has to bring one. `+planted()+`"}]}}`+"\n")
	before := w.there()

	all := maps.Clone(keys)
	maps.Copy(all, inText)
	maps.Copy(all, map[string]string{"serve's token": serveToken, "mcp's token": mcpToken, "proxy's token": proxyToken, "client's key": clientKey})
	h := newHunt(all)
	w.do(`{"session_id":"s0","cwd":"`+w.project+`","hook_event_name":"UserPromptSubmit","prompt":"first"}`, "hook", "claude-code")
	daemons := 0
	for line, environment := range h.processes(t, w.program) {
		if !strings.Contains(line, "--on-demand") || !strings.Contains(environment, w.home+"\x00") {
			continue
		}
		daemons++
		require.Contains(t, environment, keys["REFLECT_KEY"], "the daemon needs the keys that are configured")
		for _, other := range []string{keys["ANTHROPIC_API_KEY"], inText["GitHub token"]} {
			require.NotContains(t, environment, other, "a daemon lives longer than who starts it, and gets what it needs")
		}
	}
	require.Equal(t, 1, daemons, "the hook has started a daemon")
	w.session(newUpstream(t).URL, func(serve, _, _ string) {
		for line, environment := range h.processes(t, w.program) {
			require.False(t, strings.Contains(line, "--on-demand") && strings.Contains(environment, serveToken), "a token is in the environment of a child")
		}
	})
	w.do("", "-v", "session", "reflect", "--yes")
	require.Contains(t, w.do("", "search", "pelican"), "pelican", "the note is indexed")
	require.Contains(t, w.do("", "search", "flamingo"), "flamingo", "the log is indexed")
	for _, secret := range inText {
		w.do("", "--json", "explain", secret)
	}

	// This process prints its goroutines.
	w.env = append(w.env, "SERVE_TOKEN="+serveToken)
	dying, _ := w.start(`listening at \S+sock`, "-v", "serve", "--http", "127.0.0.1:0", "--token-env", "SERVE_TOKEN")
	require.NoError(t, dying.c.Process.Signal(syscall.SIGQUIT))
	_ = dying.c.Wait()
	require.Contains(t, dying.said(), "goroutine ")
	w.note(dying.args, dying.said())

	files := h.lookAround(w, before)
	require.Greater(t, files, 30)
	for name, r := range map[string]*recorder{"embedder": embedder, "chat model": chat} {
		text, asked := r.got()
		require.NotZero(t, asked, "the %s was not asked", name)
		h.look("what the "+name+" is sent", text)
	}
	require.Empty(t, h.found)
	t.Logf("planted secrets: %d secrets: none in %d files, %d outputs, command lines and requests", len(all), files, len(w.printed))
}

// No message shows a password in a server's address.
func TestPasswordsInAddresses(t *testing.T) {
	const password = "Uz5-Address-Pw9-Kd3x"
	secrets := newHunt(map[string]string{"password": password})
	runs := 0
	for name, config := range map[string]string{
		"ollama":  "embedder: ollama\n  ollama:\n    host: http://ada:%s@127.0.0.1:1\n",
		"openai":  "embedder: openai\n  openai:\n    baseURL: http://ada:%s@127.0.0.1:1/v1\n    model: m\n",
		"reflect": "reflect:\n    baseURL: http://ada:%s@127.0.0.1:1/v1\n    model: m\n",
		"odd":     "embedder: openai\n  openai:\n    baseURL: \"http://ada:%s@[::1/v1\"\n    model: m\n",
		"scheme":  "reflect:\n    baseURL: ada:%s@127.0.0.1:1/v1\n    model: m\n",
		"shared":  "shared:\n    uri: https://ada:%s@127.0.0.1:1/team\n    owner: ada\n",
	} {
		w := newWorld(t)
		w.loose = true
		w.write("home/.beans/config.yaml", "memory:\n  "+fmt.Sprintf(config, password))
		before := w.there()
		for _, args := range [][]string{{"-v", "index"}, {"-v", "search", "staging database"}, {"-v", "status"}, {"-v", "doctor"}, {"session", "new", "s"}, {"session", "append", "I prefer tabs."}, {"-v", "session", "reflect", "--yes"}, {"-v", "hook", "text"}, {"explain", "--last"}} {
			w.do("which port does the staging database use?", args...)
			runs++
		}
		w.do("", "serve", "--stop")
		secrets.lookAround(w, before)
		if len(secrets.found) > 0 {
			t.Errorf("%s: %s", name, strings.Join(secrets.found, "\n"))
			secrets.found = nil
		}
	}
	w := newWorld(t)
	w.loose = true
	for _, args := range [][]string{
		{"proxy", "--upstream", "http://ada:" + password + "@127.0.0.1:1"},
		{"proxy", "--upstream", "ada:" + password + "@127.0.0.1:1"},
		{"proxy", "--upstream", "http://ada:" + password + "@[::1"},
	} {
		w.do("", args...)
		runs++
	}
	secrets.lookAround(w, w.there())
	require.Empty(t, secrets.found)
	t.Logf("passwords in addresses: %d commands: none says one", runs)
}
