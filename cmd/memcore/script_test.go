package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/memcore/memcore/core/relevance"
)

// scriptCommands are what scripts do beside running memcore.
var scriptCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"engine-of-index": setEngineOfIndex,
	"edit-manifest":   editManifest,
	"newer-index":     makeNewer,
	"damage":          damage,
	"lock":            lock,
	"pause":           pause,
	"age":             age,
	"embedder":        startEmbedder,
	"embedded":        wantEmbedded,
	"chat-model":      startChatModel,
	"until":           until,
	"upstream":        startUpstream,
	"free-address":    findAddress,
	"post":            post,
}

// ofIndex are the files in the current generation of every index of a script that match a pattern.
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

// setEngineOfIndex makes an index look as if another engine had made it: engine-of-index NAME.
func setEngineOfIndex(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: engine-of-index NAME")
	}
	editManifest(ts, neg, []string{`"engine":"[a-z]*"`, `"engine":"` + args[0] + `"`})
}

// makeNewer makes an index look as if a newer release had made it.
func makeNewer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: newer-index")
	}
	for _, file := range ofIndex(ts, "manifest.json") {
		sum := crc32.Checksum([]byte("99{}"), crc32.MakeTable(crc32.Castagnoli))
		ts.Check(os.WriteFile(file, fmt.Appendf(nil, `{"format":99,"checksum":%d,"content":{}}`, sum), 0o600))
	}
}

// editManifest changes what the manifest of the index says, so that its checksum is right: edit-manifest REGEXP REPLACEMENT.
func editManifest(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: edit-manifest REGEXP REPLACEMENT")
	}
	for _, file := range ofIndex(ts, "manifest.json") {
		ts.Check(rewriteManifest(file, args[0], args[1]))
	}
}

// rewriteManifest replaces what an expression finds in a manifest, and mends its checksum.
func rewriteManifest(file, expression, replacement string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var frame struct {
		Format  int
		Content json.RawMessage
	}
	if err := json.Unmarshal(data, &frame); err != nil {
		return err
	}
	changed := regexp.MustCompile(expression).ReplaceAll(frame.Content, []byte(replacement))
	if bytes.Equal(frame.Content, changed) {
		return fmt.Errorf("%s has nothing to change: %s", file, data)
	}
	sum := crc32.Checksum(append([]byte(strconv.Itoa(frame.Format)), changed...), crc32.MakeTable(crc32.Castagnoli))
	return os.WriteFile(file, fmt.Appendf(nil, `{"format":%d,"checksum":%d,"content":%s}`, frame.Format, sum, changed), 0o600)
}

// damage overwrites files of the index: damage FILE, damage FOLDER. Those that name the current
// generation of an index stay, as they would if a disk failed.
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

// heldLocks is the key of the locks that a script holds.
type heldLocks struct{}

// lock does what a process that is indexing does to others, until "! lock" or the end of the script.
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

// pause waits: pause DURATION. What a script expects after it must hold, too, if it was too short.
func pause(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: pause DURATION")
	}
	duration, err := time.ParseDuration(args[0])
	ts.Check(err)
	time.Sleep(duration)
}

// age makes files look as if they had been saved an hour ago: what has just been saved is read twice,
// since it may change again within the resolution of its time. age FOLDER
func age(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: age FOLDER")
	}
	past := time.Now().Add(-time.Hour)
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return os.Chtimes(path, past, past)
	}))
}

// textsEmbedded is the key of a script's counter of texts that its embedder was asked for.
type textsEmbedded struct{}

// startEmbedder starts a server of embeddings and makes memcore use it.
func startEmbedder(ts *testscript.TestScript, neg bool, _ []string) {
	if neg {
		ts.Fatalf("usage: embedder")
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
		}
		json.NewEncoder(w).Encode(map[string]any{"data": wordVectors(asked.Input)})
	}))
	ts.Defer(server.Close)
	ts.Setenv("MEMCORE_EMBEDDER", "openai")
	ts.Setenv("MEMCORE_OPENAI_BASEURL", server.URL+"/v1")
	ts.Setenv("MEMCORE_OPENAI_MODEL", "words")
}

// startChatModel starts a server that plays the answers of a file, a JSON list of messages in OpenAI's form, and makes memcore reflect with it:
// chat-model FILE.
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

// until runs memcore again and again until it prints what is wanted: until REGEXP ARGUMENT...
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until REGEXP ARGUMENT...")
	}
	wanted := regexp.MustCompile(args[0])
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		err := ts.Exec("memcore", args[1:]...)
		if out := ts.ReadFile("stdout"); err == nil && wanted.MatchString(out) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("memcore %v does not print %s", args[1:], args[0])
		}
	}
}

// startUpstream starts a server that answers with what it is sent, as $UPSTREAM.
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

// findAddress finds an address that nobody listens on, as $ADDRESS.
func findAddress(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: free-address")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Setenv("ADDRESS", listener.Addr().String())
	ts.Check(listener.Close())
}

// post sends a file and prints status, headers X-Memcore-… and body of the answer: post URL FILE [HEADER VALUE]… It waits for the
// server to come up.
func post(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args)%2 != 0 {
		ts.Fatalf("usage: post URL FILE [HEADER VALUE]…")
	}
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
	fmt.Fprintf(ts.Stdout(), "%d\n", response.StatusCode)
	for _, name := range slices.Sorted(maps.Keys(response.Header)) {
		if strings.HasPrefix(name, "X-Memcore-") {
			fmt.Fprintf(ts.Stdout(), "%s: %s\n", name, strings.Join(response.Header[name], "|"))
		}
	}
	fmt.Fprintf(ts.Stdout(), "%s", answer)
}

// isAnchor reports whether a text is one that an unknown embedder is measured with, once for an index.
func isAnchor(text string) bool {
	questions, texts := relevance.Anchors()
	return slices.Contains(questions, text) || slices.Contains(texts, text)
}

// wantEmbedded checks how many texts the embedder was asked for since the last time, those that measure
// it left out: embedded N.
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

// wordVectors are similar for texts that share words.
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
