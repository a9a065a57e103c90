package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/core/tools"
	"github.com/memcore/memcore/inject/hook"
)

// A fakeWorkspace answers with its name, and does as told.
type fakeWorkspace struct {
	folder   string
	closed   atomic.Bool
	outdated atomic.Bool
	hold     chan struct{} // requests wait for it; nil is not to wait
}

func (f *fakeWorkspace) Retrieve(ctx context.Context, r RetrieveRequest) (Retrieved, error) {
	if f.closed.Load() {
		return Retrieved{}, errors.New("it is closed")
	}
	switch r.Query {
	case "hold":
		select {
		case <-f.hold:
		case <-ctx.Done():
			return Retrieved{}, ctx.Err()
		}
	case "panic":
		panic("oh")
	case "bad":
		return Retrieved{}, fmt.Errorf("limit: %w", core.ErrOption)
	case "large":
		return Retrieved{Block: strings.Repeat("x", 16<<20)}, nil
	case "fail":
		return Retrieved{}, errors.New("the disk is gone")
	}
	return Retrieved{Result: core.Result{State: core.StateReady, Hits: []core.MemoryHit{{ID: "x", Text: f.folder}}}, Block: fmt.Sprintf("%s %v", f.folder, r.Explain)}, nil
}

func (f *fakeWorkspace) Search(context.Context, SearchRequest) (core.Result, error) {
	return core.Result{State: core.StateReady, Hits: []core.MemoryHit{}}, nil
}
func (f *fakeWorkspace) Context(context.Context, ContextRequest) (TextReply, error) {
	return TextReply{"# Curated"}, nil
}
func (f *fakeWorkspace) Reindex(context.Context, IndexRequest) (core.IndexReport, error) {
	return core.IndexReport{Documents: 1}, nil
}
func (f *fakeWorkspace) Status(context.Context) (core.Status, error) {
	return core.Status{State: core.StateReady}, nil
}
func (f *fakeWorkspace) Hook(_ context.Context, r HookRequest) (HookReply, error) {
	return HookReply{Reply: r.Agent + string(r.Event)}, nil
}
func (f *fakeWorkspace) Tools() []tools.Tool {
	type params struct {
		Text string `json:"text"`
	}
	say := func(_ context.Context, p params) (tools.Answer, error) {
		return tools.Answer{Text: f.folder + " " + p.Text}, nil
	}
	return []tools.Tool{tools.New("save_memory", "Save.", say), tools.New("recall_memory", "Recall.", say)}
}
func (f *fakeWorkspace) Watch(ctx context.Context, indexed func(core.IndexReport, error), _ func(error)) error {
	indexed(core.IndexReport{Written: 1}, nil)
	<-ctx.Done()
	return ctx.Err()
}
func (f *fakeWorkspace) Outdated() bool { return f.outdated.Load() }
func (f *fakeWorkspace) Close() error   { f.closed.Store(true); return nil }

// A testServer opens workspaces.
type testServer struct {
	*Server
	mu     sync.Mutex
	opened []*fakeWorkspace
	hold   chan struct{}
	ended  atomic.Bool
}

func newServer(t *testing.T, o Options) *testServer {
	h := &testServer{hold: make(chan struct{})}
	o.Open = func(_ context.Context, folder string) (Workspace, error) {
		if strings.HasSuffix(folder, "broken") {
			var none *fakeWorkspace // what a function of a type of its own returns with an error
			return none, errors.New("it cannot be opened")
		}
		ws := &fakeWorkspace{folder: folder, hold: h.hold}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.opened = append(h.opened, ws)
		return ws, nil
	}
	o.WorkspaceOf = func(folder string) (string, error) {
		if strings.HasSuffix(folder, "nowhere") {
			return "", errors.New("no such folder")
		}
		project, _, _ := strings.Cut(folder, string(filepath.Separator)+"sub")
		return project, nil
	}
	o.Logger, o.Version = slog.New(slog.DiscardHandler), "v1.2.3"
	h.Server = New(o, func() { h.ended.Store(true) })
	t.Cleanup(h.Close)
	return h
}

func (h *testServer) count() (all, closed int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, ws := range h.opened {
		if ws.closed.Load() {
			closed++
		}
	}
	return len(h.opened), closed
}

func ask(t *testing.T, handler http.Handler, method, path, body string) (status int, answer string) {
	t.Helper()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
	return w.Code, strings.TrimSpace(w.Body.String())
}

func TestRoutes(t *testing.T) {
	h := newServer(t, Options{MaxBody: 1000}).Handler()
	for _, tt := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "/v1/retrieve", `{"workspace":"/a","query":"x"}`, 200, `"block":"/a false"`},
		{"POST", "/v1/retrieve", `{"workspace":"/a/sub/b","query":"x"}`, 200, `"block":"/a false"`},
		{"POST", "/v1/retrieve", `{"workspace":"/a","query":"x","explain":true}`, 200, `"block":"/a true"`},
		{"POST", "/v1/search", `{"workspace":"/a","query":"x"}`, 200, `"hits":[]`},
		{"POST", "/v1/context", `{"workspace":"/a"}`, 200, `{"text":"# Curated"}`},
		{"POST", "/v1/index", `{"workspace":"/a"}`, 200, `"documents":1`},
		{"POST", "/v1/status", `{"workspace":"/a"}`, 200, `"state":"ready"`},
		{"POST", "/v1/view", `{"workspace":"/a"}`, 404, `no pages`},
		{"POST", "/v1/hook", `{"workspace":"/a","agent":"codex","event":{"x":1}}`, 200, `{"reply":"codex{\"x\":1}"`},
		{"POST", "/v1/tools", `{"workspace":"/a"}`, 200, `"name":"save_memory"`},
		{"POST", "/v1/tools/save_memory", `{"workspace":"/a","arguments":{"text":"y"}}`, 200, `{"text":"/a y","data":null}`},
		{"POST", "/v1/tools/recall_memory", `{"workspace":"/a"}`, 200, `"text":"/a "`},
		{"POST", "/v1/tools/save_memory", `{"workspace":"/b","arguments":{"text":"y"}}`, 200, `"text":"/b y"`},
		{"GET", "/v1/health", ``, 200, `"version":"v1.2.3"`},

		{"POST", "/v1/tools/none", `{"workspace":"/a"}`, 404, `there is no tool`},
		{"POST", "/v1/tools/save_memory", `{"workspace":"/a","arguments":{"zebra":1}}`, 400, `there is no parameter \"zebra\"`},
		{"POST", "/v1/retrieve", `{"workspace":"/a","query":"bad"}`, 400, `option out of range`},
		{"POST", "/v1/retrieve", `{"workspace":"/a","query":"fail"}`, 500, `{"error":{"status":500,"message":"the disk is gone"}}`},
		{"POST", "/v1/retrieve", `{"workspace":"/a","query":"panic"}`, 500, `the service failed at this request`},
		{"POST", "/v1/retrieve", `{"workspace":"a","query":"x"}`, 400, `/properties/workspace`},
		{"POST", "/v1/retrieve", `{"workspace":"/nowhere","query":"x"}`, 404, `no such folder`},
		{"POST", "/v1/retrieve", `{"workspace":"/broken","query":"x"}`, 500, `it cannot be opened`},
		{"POST", "/v1/retrieve", `{"workspace":"/a"}`, 400, `missing properties: [\"query\"]`},
		{"POST", "/v1/retrieve", `{"workspace":"/a","query":" "}`, 400, `query is missing`},
		{"POST", "/v1/retrieve", `{"workspace":"/a","query":"x","limit":null}`, 400, `/properties/limit`},
		{"POST", "/v1/retrieve", `{"workspace":"/a","query":"x","limit":-1}`, 400, `/properties/limit`},
		{"POST", "/v1/retrieve", `{"workspace":"/a","query":"x","limit":10001}`, 400, `/properties/limit`},
		{"POST", "/v1/retrieve", `{"workspace":"/a","query":"x","limit":2.5}`, 400, `number 2.5`},
		{"POST", "/v1/search", `{"workspace":"/a","query":"x","limit":2e0}`, 200, `{`},
		{"POST", "/v1/retrieve", `{"workspace":"/a","query":"x","tokenBudget":-7.0}`, 200, `{`},
		{"POST", "/v1/retrieve", `{"workspace":"/a","query":"x","scope":"all"}`, 400, `/properties/scope`},
		{"POST", "/v1/retrieve", `{"WORKSPACE":"/a","query":"x"}`, 400, `WORKSPACE`},
		{"POST", "/v1/retrieve", `{"workspace":"/a","query":"x"}{}`, 400, `after top-level value`},
		{"POST", "/v1/retrieve", "{\"workspace\":\"/a\",\"query\":\"\xff\"}", 400, `not UTF-8`},
		{"POST", "/v1/retrieve", `null`, 400, `the body is not valid here`},
		{"POST", "/v1/tools/save_memory", `{"workspace":"/a","arguments":[1]}`, 400, `/properties/arguments`},
		{"POST", "/v1/hook", `{"workspace":"/a","agent":"nobody","event":{}}`, 400, `/properties/agent`},
		{"POST", "/v1/tools/recall_memory", `{"workspace":"/a","query":"x"}`, 400, `unknown field \"query\"`},
		{"POST", "/v1/retrieve", `nonsense`, 400, `the body is not valid here`},
		{"POST", "/v1/retrieve", `{"workspace":"/a","query":"` + strings.Repeat("x", 2000) + `"}`, 413, `larger than 1000 bytes`},
		{"GET", "/v1/retrieve", ``, 405, `/v1/retrieve takes POST, not GET`},
		{"TRACE", "/v1/health", ``, 405, `takes GET or HEAD`},
		{"PUT", "/v1/tools/x", ``, 405, `takes POST`},
		{"PUT", "/v1/tools/", ``, 404, `there is no PUT`},
		{"POST", "/v2/retrieve", ``, 404, `there is no POST /v2/retrieve`},
	} {
		status, answer := ask(t, h, tt.method, tt.path, tt.body)
		require.Equal(t, tt.status, status, "%s %s %s: %s", tt.method, tt.path, tt.body, answer)
		require.Contains(t, answer, tt.want, tt.path)
	}
}

// Every route is described, with schemas of its types.
func TestOpenAPI(t *testing.T) {
	h := newServer(t, Options{})
	_, answer := ask(t, h.Handler(), "GET", "/v1/openapi.json", "")
	var document struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			OperationID string
			RequestBody *struct {
				Content map[string]struct {
					Schema struct{ Properties map[string]any }
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(answer), &document))
	require.Equal(t, "3.1.0", document.OpenAPI)
	ids := map[string]bool{}
	for path, methods := range document.Paths {
		for method, o := range methods {
			require.NotEmpty(t, o.OperationID, path)
			require.False(t, ids[o.OperationID], o.OperationID)
			ids[o.OperationID] = true
			body := `{}`
			status, text := 0, ""
			if path == "/v1/events" {
				continue // it has no end
			}
			status, text = ask(t, h.Handler(), strings.ToUpper(method), strings.ReplaceAll(path, "{name}", "save_memory"), body)
			require.NotContains(t, text, "there is no "+strings.ToUpper(method), "%s %s is served", method, path)
			if o.RequestBody != nil {
				require.Equal(t, 400, status, "a request without a workspace is refused: %s", path)
				properties := o.RequestBody.Content["application/json"].Schema.Properties
				require.Contains(t, properties, "workspace", path)
				if arguments, ok := properties["arguments"].(map[string]any); ok {
					require.NotContains(t, arguments, "items", "JSON, not bytes")
				}
			}
		}
	}
	require.True(t, h.ended.Load(), "shutdown was among them")
}

// Workspaces are opened once and kept apart. They are opened again after a change, and closed when
// there are too many, but never in use.
func TestPool(t *testing.T) {
	h := newServer(t, Options{MaxOpen: 2, Idle: time.Hour})
	handler := h.Handler()
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			folder := fmt.Sprintf("/w%d", i%2)
			_, answer := ask(t, handler, "POST", "/v1/retrieve", `{"workspace":"`+folder+`","query":"x"}`)
			if !strings.Contains(answer, `"block":"`+folder) {
				t.Error(answer)
			}
		})
	}
	all.Wait()
	opened, closed := h.count()
	require.Equal(t, 2, opened)
	require.Zero(t, closed)
	h.opened[0].outdated.Store(true)
	_, answer := ask(t, handler, "POST", "/v1/retrieve", `{"workspace":"`+h.opened[0].folder+`","query":"x"}`)
	require.Contains(t, answer, h.opened[0].folder)
	require.Eventually(t, func() bool { n, c := h.count(); return n == 3 && c == 1 }, time.Minute, time.Millisecond)

	held := make(chan string)
	go func() {
		_, answer := ask(t, handler, "POST", "/v1/retrieve", `{"workspace":"/held","query":"hold"}`)
		held <- answer
	}()
	require.Eventually(t, func() bool { n, _ := h.count(); return n == 4 }, time.Minute, time.Millisecond)
	for i := range 5 {
		status, _ := ask(t, handler, "POST", "/v1/retrieve", fmt.Sprintf(`{"workspace":"/more%d","query":"x"}`, i))
		require.Equal(t, 200, status)
	}
	require.LessOrEqual(t, len(h.Health().Open), 3)
	h.Shrink()
	close(h.hold)
	require.Contains(t, <-held, "/held", "a workspace in use is not closed")
	require.Eventually(t, func() bool { h.Shrink(); n, c := h.count(); return n == c }, time.Minute, time.Millisecond)
	status, _ := ask(t, handler, "POST", "/v1/retrieve", `{"workspace":"/again","query":"x"}`)
	require.Equal(t, 200, status)
	h.Close()
	n, c := h.count()
	require.Equal(t, n, c)
	status, answer = ask(t, handler, "POST", "/v1/retrieve", `{"workspace":"/late","query":"x"}`)
	require.Equal(t, 503, status)
	require.Contains(t, answer, "the daemon is ending")
}

// Over its bounds, the service refuses soon and with a status, then works as before.
func TestLimits(t *testing.T) {
	h := newServer(t, Options{MaxAtOnce: 2, Wait: 20 * time.Millisecond})
	handler := h.Handler()
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() { ask(t, handler, "POST", "/v1/retrieve", `{"workspace":"/a","query":"hold"}`) })
	}
	require.Eventually(t, func() bool { return len(h.slots) == 2 }, time.Minute, time.Millisecond)
	require.True(t, h.Busy())
	status, _ := ask(t, handler, "POST", "/v1/retrieve", `{"workspace":"/a","query":"x"}`)
	require.Equal(t, 503, status)
	status, _ = ask(t, handler, "GET", "/v1/health", "")
	require.Equal(t, 200, status, "it still says how it is")
	close(h.hold)
	all.Wait()
	require.Eventually(t, func() bool {
		status, _ := ask(t, handler, "POST", "/v1/retrieve", `{"workspace":"/a","query":"x"}`)
		return status == 200
	}, time.Minute, time.Millisecond)

	// Slow bodies take no slot.
	unhurried := newServer(t, Options{MaxAtOnce: 2})
	server := httptest.NewServer(unhurried.Handler())
	defer server.Close()
	for range 4 {
		connection, err := net.Dial("tcp", strings.TrimPrefix(server.URL, "http://"))
		require.NoError(t, err)
		defer connection.Close()
		_, err = io.WriteString(connection, "POST /v1/retrieve HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
		require.NoError(t, err)
	}
	answer, err := http.Post(server.URL+"/v1/retrieve", "application/json", strings.NewReader(`{"workspace":"/a","query":"x"}`))
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, 200, answer.StatusCode)

	slow := newServer(t, Options{PerSecond: 1}).Handler()
	refused := 0
	for range 10 {
		if status, _ := ask(t, slow, "POST", "/v1/retrieve", `{"workspace":"/a","query":"x"}`); status == 429 {
			refused++
		}
	}
	require.GreaterOrEqual(t, refused, 7)
}

// Clients that do not read take no slot, and large bodies stay within the bound.
func TestGreedyClients(t *testing.T) {
	h := newServer(t, Options{MaxAtOnce: 2})
	server := httptest.NewServer(h.Handler())
	defer server.Close()
	defer server.CloseClientConnections()
	send := func(text string) {
		t.Helper()
		connection, err := net.Dial("tcp", strings.TrimPrefix(server.URL, "http://"))
		require.NoError(t, err)
		t.Cleanup(func() { connection.Close() })
		_, _ = io.WriteString(connection, text) // it may be refused before all is said
	}
	status := func(body string) (int, string) {
		answer, err := http.Post(server.URL+"/v1/retrieve", "application/json", strings.NewReader(body))
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return answer.StatusCode, answer.Header.Get("Retry-After")
	}
	for range 4 {
		body := `{"workspace":"/a","query":"large"}`
		send(fmt.Sprintf("POST /v1/retrieve HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
	}
	require.Eventually(t, func() bool { n, _ := h.count(); return n == 1 && !h.Busy() }, time.Minute, time.Millisecond)
	for range 5 {
		code, _ := status(`{"workspace":"/a","query":"x"}`)
		require.Equal(t, 200, code)
	}

	h.bodies.Most = (8<<20 + 64<<10) / 3 * 4
	send("POST /v1/retrieve HTTP/1.1\r\nHost: x\r\nContent-Length: 16000000\r\n\r\n" + strings.Repeat(" ", 7<<20))
	large := `{"workspace":"/a","query":"x"}` + strings.Repeat(" ", 100<<10)
	require.Eventually(t, func() bool { return h.bodies.Held() >= 8<<20 }, time.Minute, time.Millisecond)
	code, again := status(large)
	require.Equal(t, 503, code)
	require.Equal(t, "1", again)
	code, _ = status(`{"workspace":"/a","query":"x"}`)
	require.Equal(t, 200, code, "small ones are served")
}

func TestRemote(t *testing.T) {
	asks := func(path, body string) func(*http.Request) {
		return func(r *http.Request) {
			r.URL.Path, r.Body, r.ContentLength = path, io.NopCloser(strings.NewReader(body)), int64(len(body))
		}
	}
	h := newServer(t, Options{Opened: func(workspace string) bool { return workspace == "/a" }})
	server := httptest.NewServer(h.Remote("secret"))
	defer server.Close()
	for name, tt := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"with the token": {func(*http.Request) {}, 200},
		"none":           {func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		"another":        {func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }, 401},
		"a web page":     {func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, 403},
		"a simple form": {func(r *http.Request) {
			r.Header.Set("Origin", "null")
			r.Header.Set("Content-Type", "text/plain") // needs no preflight
		}, 403},
		"its own page":   {func(r *http.Request) { r.Header.Set("Origin", server.URL) }, 200},
		"a rebound name": {func(r *http.Request) { r.Host = "evil.example" }, 403},
		"the person's":   {func(r *http.Request) { r.URL.Path = "/v1/view" }, 403},
		"below":          {asks("/v1/retrieve", `{"workspace":"/a/sub","query":"x"}`), 200},
		"never opened":   {asks("/v1/retrieve", `{"workspace":"/","query":"x"}`), 403},
		"to index":       {asks("/v1/index", `{"workspace":"/"}`), 403},
		"to call a tool": {asks("/v1/tools/save", `{"workspace":"/b"}`), 403},
		"not there":      {asks("/v1/index", `{"workspace":"/nowhere"}`), 403},
	} {
		r, err := http.NewRequestWithContext(t.Context(), "POST", server.URL+"/v1/retrieve", strings.NewReader(`{"workspace":"/a","query":"x"}`))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer secret")
		tt.change(r)
		response, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, response.Body)
		require.NoError(t, response.Body.Close())
		require.Equal(t, tt.want, response.StatusCode, name)
	}
	for _, ws := range h.opened {
		require.Equal(t, "/a", ws.folder)
	}
}

// What only the person at this machine may do is done over the socket, however a request with the
// token spells its path.
func TestOnlyThePersonOpensThePages(t *testing.T) {
	h := newServer(t, Options{})
	for _, spelled := range []string{"/v1/view", "/v1/view?x=1", "/v1/%2e/view", "//v1/view", "/v1/view/", "/%761/view"} {
		r := httptest.NewRequestWithContext(t.Context(), "POST", spelled, strings.NewReader(`{"workspace":"/a"}`))
		r.Header.Set("Authorization", "Bearer secret")
		w := httptest.NewRecorder()
		h.Remote("secret").ServeHTTP(w, r)
		require.Contains(t, []int{307, 403, 404}, w.Code, "%s: %s", spelled, w.Body)
	}
	require.Empty(t, h.opened, "no workspace was asked")
}

func TestEvents(t *testing.T) {
	h := newServer(t, Options{})
	server := httptest.NewServer(h.Handler())
	defer server.Close()
	ctx, stop := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "GET", server.URL+"/v1/events?workspace=/a", nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	for _, folder := range []string{"/b", "/a"} {
		answer, err := http.Post(server.URL+"/v1/retrieve", "application/json", bytes.NewBufferString(`{"workspace":"`+folder+`","query":"x"}`))
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
	}
	lines := bufio.NewScanner(response.Body)
	var kinds []string
	for len(kinds) < 2 && lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			var e Event
			require.NoError(t, json.Unmarshal([]byte(data), &e))
			require.Equal(t, "/a", e.Workspace)
			kinds = append(kinds, e.Kind)
		}
	}
	require.Equal(t, []string{"opened", "indexed"}, kinds)
	stop()
	require.Eventually(t, func() bool { return h.listening() == 0 }, time.Minute, time.Millisecond)
	response, err = http.Get(server.URL + "/v1/events")
	require.NoError(t, err)
	defer response.Body.Close()
	h.EndStreams()
	_, err = io.ReadAll(response.Body)
	require.NoError(t, err, "streams end when the server does")
}

func (h *testServer) listening() int {
	h.Server.mu.Lock()
	defer h.Server.mu.Unlock()
	return len(h.listeners)
}

// Errors of the caller are not failures of the service.
func TestStatusOfErrors(t *testing.T) {
	for want, all := range map[int][]error{
		400: {core.ErrOption, tools.ErrArguments, notes.ErrPath, notes.ErrTarget, notes.ErrNothing, notes.ErrOpen, notes.ErrNoEntry, notes.ErrStatement, session.ErrRole, hook.ErrAgent, hook.ErrEvent},
		403: {notes.ErrUnseen},
		404: {notes.ErrNoFile, session.ErrNoSession, core.ErrNoConversation},
		409: {notes.ErrChanged},
		503: {ErrClosed, context.Canceled},
		504: {context.DeadlineExceeded},
		500: {errors.New("the disk is gone")},
	} {
		for _, err := range all {
			w := httptest.NewRecorder()
			Fail(w, fmt.Errorf("doing it: %w", err))
			require.Equal(t, want, w.Code, err.Error())
		}
	}
}

// Changes of the system's clock do not end a daemon.
func TestLastUsedFollowsNoClock(t *testing.T) {
	h := newServer(t, Options{})
	before := h.LastUsed()
	time.Sleep(time.Millisecond)
	ask(t, h.Handler(), "POST", "/v1/retrieve", `{"workspace":"/a","query":"x"}`)
	require.True(t, h.LastUsed().After(before))
	require.Contains(t, h.LastUsed().String(), " m=", "it has no reading of the monotonic clock")
}
