package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/internal/app/apptest"
	"github.com/memcore/memcore/store"
)

// scriptCommands are the commands of scripts beside memcore.
var scriptCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"engine-of-index": setEngineOfIndex,
	"edit-manifest":   editManifest,
	"newer-index":     makeNewer,
	"damage":          damage,
	"lock":            lock,
	"start":           start,
	"finish":          finish,
	"age":             age,
	"overview":        writeOverview,
	"embedder":        startEmbedder,
	"embedded":        wantEmbedded,
	"chat-model":      startChatModel,
	"past-session":    writePastSession,
	"traces":          findTraces,
	"until":           until,
	"upstream":        startUpstream,
	"free-address":    findAddress,
	"post":            post,
	"post-until":      postUntil,
	"memory-service":  startMemoryService,
	"capture":         capture,
	"expand":          expand,

	"hostile-workspace": hostileWorkspace,
	"print-everywhere":  printEverywhere,
}

// capture sets a variable to what the group of a pattern matches in the last standard output.
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture NAME PATTERN")
	}
	found := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(found) < 2 {
		ts.Fatalf("no match for %q in stdout", args[1])
	}
	ts.Setenv(args[0], found[1])
}

// expand replaces ${NAME} in files by the values of variables.
func expand(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: expand FILE...")
	}
	for _, name := range args {
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(os.Expand(ts.ReadFile(name), ts.Getenv)), 0o600))
	}
}

// ofIndex returns the files that match a pattern in the current generation of each index.
func ofIndex(ts *testscript.TestScript, pattern string) []string {
	folders, err := filepath.Glob(filepath.Join(ts.Getenv("XDG_CACHE_HOME"), "memcore", "index", "*", "data"))
	ts.Check(err)
	var files []string
	for _, folder := range folders {
		current, err := os.ReadFile(filepath.Join(folder, "CURRENT"))
		ts.Check(err)
		found, err := filepath.Glob(filepath.Join(folder, strings.Fields(string(current))[0], pattern))
		ts.Check(err)
		files = append(files, found...)
	}
	if len(files) == 0 {
		ts.Fatalf("no index has a file %s", pattern)
	}
	return files
}

// setEngineOfIndex changes the engine in the manifest: engine-of-index NAME.
func setEngineOfIndex(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: engine-of-index NAME")
	}
	editManifest(ts, neg, []string{`"engine":"[a-z]*"`, `"engine":"` + args[0] + `"`})
}

// makeNewer makes an index look like that of a newer release.
func makeNewer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: newer-index")
	}
	for _, file := range ofIndex(ts, "manifest.json") {
		text, err := store.ManifestFormat{Kind: "memory", Number: 99}.Encode(filepath.Dir(file), struct{}{})
		ts.Check(err)
		ts.Check(os.WriteFile(file, text, 0o600))
	}
}

// editManifest changes the manifest, with its checksum: edit-manifest REGEXP REPLACEMENT.
func editManifest(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: edit-manifest REGEXP REPLACEMENT")
	}
	for _, file := range ofIndex(ts, "manifest.json") {
		ts.Check(apptest.RewriteManifest(file, args[0], args[1]))
	}
}

// damage overwrites files of the index, except CURRENT: damage FILE, damage FOLDER.
func damage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: damage NAME")
	}
	for _, root := range ofIndex(ts, args[0]) {
		ts.Check(filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() || entry.Name() == "CURRENT" {
				return err
			}
			return os.WriteFile(path, []byte("this is not an index"), 0o600)
		}))
	}
}

// heldLocks is the key of the locks of a script.
type heldLocks struct{}

// lock holds the lock of the index until "! lock" or the end of the script.
func lock(ts *testscript.TestScript, neg bool, _ []string) {
	held := ts.Value(heldLocks{}).(*[]*flock.Flock)
	if neg {
		for _, file := range *held {
			ts.Check(file.Close())
		}
		*held = nil
		return
	}
	for _, name := range ofIndex(ts, "../LOCK") {
		file := flock.New(name)
		if ok, err := file.TryLock(); err != nil || !ok {
			ts.Fatalf("lock %s: %v, %v", name, ok, err)
		}
		*held = append(*held, file)
		ts.Defer(func() { file.Close() })
	}
}

// Keys of a script's environment and of the process that start has started.
type (
	environment   struct{}
	backgroundKey struct{}
)

// A background is a running memcore.
type background struct {
	cmd    *exec.Cmd
	stderr *bufio.Reader
	said   string
}

// start runs memcore in the background and waits until its standard error matches: start REGEXP
// ARGUMENT... It has the environment with which the script began.
func start(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: start REGEXP ARGUMENT...")
	}
	wanted := regexp.MustCompile(args[0])
	cmd := exec.Command(filepath.Join(ts.Getenv("BIN"), "memcore"), args[1:]...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), ts.Value(environment{}).(*testscript.Env).Vars
	stderr, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() { _ = cmd.Process.Kill() })
	b := ts.Value(backgroundKey{}).(*background)
	*b = background{cmd: cmd, stderr: bufio.NewReader(stderr)}
	for !wanted.MatchString(b.said) {
		line, err := b.stderr.ReadString('\n')
		if b.said += line; err != nil {
			ts.Fatalf("memcore %v does not say %s: %s", args[1:], args[0], b.said)
		}
	}
}

// finish waits for what start has started. Its standard error is then that of the process.
func finish(ts *testscript.TestScript, _ bool, _ []string) {
	b := ts.Value(backgroundKey{}).(*background)
	rest, err := io.ReadAll(b.stderr)
	ts.Check(err)
	fmt.Fprint(ts.Stderr(), b.said, string(rest))
	ts.Check(b.cmd.Wait())
}

// age makes files look as if saved an hour ago: what has just been saved is read twice, since it
// may change again within the resolution of its time. A time makes folders old, too.
// age FOLDER [TIME]
func age(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: age FOLDER [TIME]")
	}
	past := time.Now().Add(-time.Hour)
	if len(args) == 2 {
		old, err := time.ParseDuration(args[1])
		ts.Check(err)
		past = time.Now().Add(-old)
	}
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() && len(args) == 1 {
			return err
		}
		return os.Chtimes(path, past, past)
	}))
}

// writeOverview writes the overview of a session as an agent would: overview SESSION FILE
func writeOverview(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: overview SESSION FILE")
	}
	folders, err := filepath.Glob(filepath.Join(ts.Getenv("HOME"), ".ai", "sessions", "*", args[0], "working-memory"))
	ts.Check(err)
	if len(folders) != 1 {
		ts.Fatalf("%d sessions are named %s", len(folders), args[0])
	}
	ts.Check(os.WriteFile(filepath.Join(folders[0], "overview.md"), []byte(ts.ReadFile(args[1])), 0o600))
}

// writePastSession writes a log of Claude Code about the current folder, on the branch of the
// variable BRANCH, and sets LOG to its path: past-session NAME ANSWER
func writePastSession(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: past-session NAME ANSWER")
	}
	folder, err := filepath.EvalSymlinks(ts.MkAbs("."))
	ts.Check(err)
	home := cmp.Or(ts.Getenv("CLAUDE_CONFIG_DIR"), filepath.Join(ts.Getenv("HOME"), ".claude"))
	dir := filepath.Join(home, "projects", regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(folder, "-"))
	ts.Check(os.MkdirAll(dir, 0o700))
	var log []byte
	for i, said := range []struct{ role, text string }{{"user", "why does the build fail?"}, {"assistant", args[1]}} {
		line, err := json.Marshal(map[string]any{"type": said.role, "sessionId": args[0], "cwd": folder, "gitBranch": ts.Getenv("BRANCH"), "uuid": strconv.Itoa(i),
			"timestamp": "2026-05-01T09:00:00Z", "message": map[string]any{"role": said.role, "content": said.text}})
		ts.Check(err)
		log = append(append(log, line...), '\n')
	}
	file := filepath.Join(dir, args[0]+".jsonl")
	ts.Check(os.WriteFile(file, log, 0o600))
	ts.Setenv("LOG", file)
}

// findTraces looks for a word in all files below folders, also in compressed ones: traces WORD
// FOLDER…
func findTraces(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: traces WORD FOLDER…")
	}
	decoder, err := zstd.NewReader(nil)
	ts.Check(err)
	defer decoder.Close()
	var files []string
	for _, root := range args[1:] {
		ts.Check(filepath.WalkDir(ts.MkAbs(root), func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if err == nil && strings.HasSuffix(path, ".zst") {
				text, err = decoder.DecodeAll(text, nil)
			}
			if strings.Contains(strings.ToLower(string(text)), strings.ToLower(args[0])) {
				files = append(files, path)
			}
			return err
		}))
	}
	if neg == (len(files) > 0) {
		ts.Fatalf("%q is in %d files: %s", args[0], len(files), strings.Join(files, ", "))
	}
}

// textsEmbedded is the key of the counter of embedded texts.
type textsEmbedded struct{}

// startEmbedder starts a server of embeddings and makes memcore use it: embedder [echo]. With echo
// it sends the key back, unasked. It never answers about a text with the word "unanswerable", and
// refuses one with "indigestible", which it repeats.
func startEmbedder(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 && !slices.Equal(args, []string{"echo"}) {
		ts.Fatalf("usage: embedder [echo]")
	}
	texts := ts.Value(textsEmbedded{}).(*atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		for _, text := range asked.Input {
			if !isAnchor(text) {
				texts.Add(1)
			}
			if strings.Contains(text, "unanswerable") {
				<-r.Context().Done()
			}
			if strings.Contains(text, "indigestible") {
				http.Error(w, fmt.Sprintf(`{"error":{"message":%q}}`, "cannot read: "+text), http.StatusBadRequest)
				return
			}
		}
		data, err := json.Marshal(map[string]any{"data": wordVectors(asked.Input)})
		ts.Check(err)
		if len(args) == 0 {
			w.Write(data)
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		ts.Check(err)
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s%s", len(data), data, r.Header.Get("Authorization"))
		conn.Close()
	}))
	ts.Defer(server.Close)
	ts.Setenv("MEMCORE_EMBEDDER", "openai")
	ts.Setenv("MEMCORE_OPENAI_BASEURL", server.URL+"/v1")
	ts.Setenv("MEMCORE_OPENAI_MODEL", "words")
}

// startChatModel starts a chat model with the answers of a file, a JSON list of messages in
// OpenAI's form, and makes memcore reflect with it: chat-model FILE.
func startChatModel(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: chat-model FILE")
	}
	var replies []json.RawMessage
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &replies))
	var step atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(step.Add(1)) - 1
		if n >= len(replies) {
			http.Error(w, `{"error":{"message":"the model is tired"}}`, http.StatusInternalServerError)
			return
		}
		json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": replies[n]}}, "usage": map[string]int{"total_tokens": 100}})
	}))
	ts.Defer(server.Close)
	ts.Setenv("MEMCORE_REFLECT_BASEURL", server.URL+"/v1")
	ts.Setenv("MEMCORE_REFLECT_MODEL", "scripted")
}

// until runs memcore until its output matches: until REGEXP ARGUMENT...
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until REGEXP ARGUMENT...")
	}
	wanted := regexp.MustCompile(args[0])
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		err := ts.Exec("memcore", args[1:]...)
		if out := ts.ReadFile("stdout"); err == nil && wanted.MatchString(out) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("memcore %v does not print %s", args[1:], args[0])
		}
	}
}

// startUpstream starts a server that echoes requests, as $UPSTREAM.
func startUpstream(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: upstream")
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		_, _ = io.Copy(w, r.Body)
	}))
	ts.Defer(server.Close)
	ts.Setenv("UPSTREAM", server.URL)
}

// findAddress finds a free address, as $ADDRESS.
func findAddress(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: free-address")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Setenv("ADDRESS", listener.Addr().String())
	ts.Check(listener.Close())
}

// post sends a file and prints status, X-Memcore-… headers and body of the answer: post URL FILE
// [HEADER VALUE]… It waits until the server listens.
func post(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args)%2 != 0 {
		ts.Fatalf("usage: post URL FILE [HEADER VALUE]…")
	}
	fmt.Fprint(ts.Stdout(), posted(ts, args))
}

// postUntil posts until the answer matches, for busy machines: post-until REGEXP URL FILE [HEADER
// VALUE]…
func postUntil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || len(args)%2 != 1 {
		ts.Fatalf("usage: post-until REGEXP URL FILE [HEADER VALUE]…")
	}
	wanted := regexp.MustCompile(args[0])
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		answer := posted(ts, args[1:])
		if wanted.MatchString(answer) {
			fmt.Fprint(ts.Stdout(), answer)
			return
		}
		if time.Since(began) > 2*time.Minute {
			ts.Fatalf("%s does not answer with %s: %s", args[1], args[0], answer)
		}
	}
}

// posted sends a file and returns the output of post.
func posted(ts *testscript.TestScript, args []string) string {
	body := ts.ReadFile(args[1])
	var response *http.Response
	for began := time.Now(); response == nil; time.Sleep(20 * time.Millisecond) {
		request, err := http.NewRequest(http.MethodPost, args[0], strings.NewReader(body))
		ts.Check(err)
		for i := 2; i < len(args); i += 2 {
			request.Header.Set(args[i], args[i+1])
		}
		if response, err = http.DefaultClient.Do(request); err != nil && time.Since(began) > time.Minute {
			ts.Fatalf("%v", err)
		}
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	ts.Check(err)
	var out strings.Builder
	fmt.Fprintf(&out, "%d\n", response.StatusCode)
	for _, name := range slices.Sorted(maps.Keys(response.Header)) {
		if strings.HasPrefix(name, "X-Memcore-") {
			fmt.Fprintf(&out, "%s: %s\n", name, strings.Join(response.Header[name], "|"))
		}
	}
	return out.String() + string(answer)
}

// isAnchor reports whether a text measures an unknown embedder, once for an index.
func isAnchor(text string) bool {
	questions, texts := relevance.Anchors()
	return slices.Contains(questions, text) || slices.Contains(texts, text)
}

// wantEmbedded checks the number of embedded texts since the last check, without anchors: embedded
// N.
func wantEmbedded(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: embedded N")
	}
	want, err := strconv.ParseInt(args[0], 10, 64)
	ts.Check(err)
	if got := ts.Value(textsEmbedded{}).(*atomic.Int64).Swap(0); got != want {
		ts.Fatalf("the embedder was asked for %d texts, want %d", got, want)
	}
}

// wordVectors returns vectors that are similar if texts share words.
func wordVectors(texts []string) []map[string]any {
	var data []map[string]any
	for i, text := range texts {
		vector := make([]float32, 64)
		vector[0] = 0.1
		for _, word := range strings.Fields(strings.ToLower(text)) {
			sum := fnv.New32a()
			sum.Write([]byte(word))
			vector[sum.Sum32()%64]++
		}
		data = append(data, map[string]any{"index": i, "embedding": vector})
	}
	return data
}

// serviceKey is the key that the memory service of scripts knows.
const serviceKey = "mk-acme-right"

// runningService is the key of the memory service of a script.
type runningService struct{}

// startMemoryService starts a memory service, as $SERVICE, which writes its requests to
// service.log. "! memory-service" makes it fail, another memory-service answer again:
// memory-service [WAIT], with WAIT before each answer but whoami's. It knows about keys only.
func startMemoryService(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) > 1 {
		ts.Fatalf("usage: memory-service [WAIT]")
	}
	s := ts.Value(runningService{}).(*memoryService)
	wait := time.Duration(0)
	if len(args) > 0 {
		var err error
		wait, err = time.ParseDuration(args[0])
		ts.Check(err)
	}
	s.wait.Store(int64(wait))
	s.down.Store(neg)
	if s.log != "" {
		return
	}
	s.log = ts.MkAbs("service.log")
	server := httptest.NewServer(s)
	ts.Defer(func() {
		server.CloseClientConnections()
		server.Close()
	})
	ts.Setenv("SERVICE", server.URL+"/v1/tenants/acme")
}

// A memoryService answers like one that knows how keys are rotated.
type memoryService struct {
	log  string
	down atomic.Bool
	wait atomic.Int64
}

func (s *memoryService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	path, _ := strings.CutPrefix(r.URL.Path, "/v1/tenants/acme")
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		fmt.Fprintf(log, "%s %s %s\n", r.Method, path, strings.TrimSpace(string(body)))
		log.Close()
	}
	fail := func(status int, message string) {
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"status": status, "message": message}})
	}
	switch {
	case s.down.Load():
		fail(http.StatusInternalServerError, "the storage is away")
		return
	case r.Header.Get("Authorization") != "Bearer "+serviceKey:
		fail(http.StatusUnauthorized, "this key is not known")
		return
	case path != "/whoami":
		select {
		case <-time.After(time.Duration(s.wait.Load())):
		case <-r.Context().Done():
			return
		}
	}
	found := map[string]any{"state": "ready", "hits": []any{}, "threshold": 0.5}
	if strings.Contains(string(body), "rotat") {
		found["hits"] = []any{map[string]any{"id": "c1", "text": "Signing keys are rotated on the first Monday of a quarter.", "score": 0.97,
			"source": "runbooks/keys.md#L3-L4", "path": "runbooks/keys.md", "startLine": 3, "endLine": 4, "scope": "project", "kind": "markdown", "tokenEstimate": 14}}
	}
	switch path {
	case "/whoami":
		fmt.Fprint(w, `{"tenant":"acme","user":"ann","rights":["read","write"],"expires":"2099-01-01T12:00:00Z"}`)
	case "/retrieve", "/search":
		json.NewEncoder(w).Encode(found)
	case "/context":
		fmt.Fprint(w, `{"text":"# Acme\n\n- Write dates as 2026-11-25."}`)
	case "/save":
		fmt.Fprint(w, `{"text":"Saved to BEANS.md of acme.","data":{"written":true}}`)
	default:
		fail(http.StatusNotFound, "there is no such thing")
	}
}
