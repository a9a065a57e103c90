package proxy_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/inject/proxy"
	"github.com/memcore/memcore/inject/turn"
)

// knows answers every question with the same hits.
type knows struct {
	hits     []core.MemoryHit
	err      error
	wait     time.Duration
	state    core.State // "" is ready
	degraded []string
}

func (k *knows) RetrieveRelevant(ctx context.Context, _ string, _ core.RetrieveOptions) (core.Result, error) {
	if k.wait > 0 {
		select {
		case <-time.After(k.wait):
		case <-ctx.Done():
			return core.Result{}, ctx.Err()
		}
	}
	return core.Result{Hits: k.hits, State: cmp.Or(k.state, core.StateReady), Degraded: k.degraded}, k.err
}

var port = []core.MemoryHit{
	{Text: "Staging postgres listens on 5433.", Source: "notes/staging.md#L3", TokenEstimate: 9},
	{Text: "It moved in May.", Source: "notes/渡轮, alt.md#L1-L5", TokenEstimate: 5},
}

type memory interface {
	RetrieveRelevant(ctx context.Context, request string, options core.RetrieveOptions) (core.Result, error)
}

// encoded returns the block as a JSON string.
func encoded(t testing.TB) string {
	text, _ := formatter.Block(port)
	data, err := json.Marshal(text)
	require.NoError(t, err)
	return string(data)
}

// An upstream keeps its requests.
type upstream struct {
	*httptest.Server
	mu       sync.Mutex
	requests []received
}

type received struct {
	method, uri, host string
	header            http.Header
	length            int64
	body              []byte
}

// newUpstream answers by answer; nil answers "{}".
func newUpstream(t testing.TB, answer http.HandlerFunc) *upstream {
	u := &upstream{}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		u.mu.Lock()
		u.requests = append(u.requests, received{r.Method, r.RequestURI, r.Host, r.Header.Clone(), r.ContentLength, body})
		u.mu.Unlock()
		if answer == nil {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, "{}")
			return
		}
		answer(w, r)
	}))
	t.Cleanup(u.Close)
	return u
}

// only returns the one request that came.
func (u *upstream) only(t *testing.T) received {
	t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	require.Len(t, u.requests, 1)
	return u.requests[0]
}

// start serves a proxy until the test ends, and returns its URL. Then none of its goroutines runs.
func start(t testing.TB, target string, memory memory, options proxy.Options) string {
	t.Helper()
	options.Listen = "127.0.0.1:0"
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	options.Turn.Logger = options.Logger
	options.Turn.Timeout = cmp.Or(options.Turn.Timeout, time.Minute)
	p, err := proxy.New(target, memory, options)
	require.NoError(t, err)
	listener, err := p.Listen()
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- p.Serve(ctx, listener) }()
	t.Cleanup(func() {
		client.CloseIdleConnections()
		stop()
		select {
		case err := <-served:
			if err != nil {
				t.Errorf("Serve = %v", err)
			}
		case <-time.After(time.Minute):
			t.Error("Serve does not return")
		}
		if !assert.Eventually(t, func() bool { return running() == "" }, time.Minute, time.Millisecond) {
			t.Errorf("something still runs after Serve:\n%s", running())
		}
	})
	return "http://" + listener.Addr().String()
}

// running returns the stacks of the one proxy's goroutines.
func running() string {
	stacks := make([]byte, 1<<20)
	var ours []string
	for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		if strings.Contains(stack, "inject/proxy.(*") {
			ours = append(ours, stack)
		}
	}
	return strings.Join(ours, "\n\n")
}

// client shows answers as they are.
var client = &http.Transport{DisableCompression: true}

// An answer is a response and its body.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func send(t *testing.T, r *http.Request) answer {
	t.Helper()
	response, err := client.RoundTrip(r)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return answer{response.StatusCode, response.Header, body}
}

func post(t testing.TB, url, body string) *http.Request {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	return r
}

const (
	chat      = `{"model": "m","messages":[{"role":"user","content":"which port?"}], "temperature":1.0}`
	responses = `{"model":"m", "input":"which port?"}`
	messages  = `{"model":"m","max_tokens":9, "messages":[{"role":"user","content":"which port?"}]}`
)

// Chat requests get memory below any base, and paths are joined without doubling.
func TestRoutes(t *testing.T) {
	chatWith := strings.Replace(chat, `[{"role"`, `[{"role":"user","content":`+encoded(t)+`},{"role"`, 1)
	for _, tt := range []struct{ name, base, method, path, body, uri, want string }{
		{"a chat", "", "POST", "/v1/chat/completions", chat, "/v1/chat/completions", chatWith},
		{"a base with /v1 counts once", "/v1", "POST", "/v1/chat/completions", chat, "/v1/chat/completions", chatWith},
		{"a base that ends with a slash", "/v1/", "POST", "/v1/chat/completions", chat, "/v1/chat/completions", chatWith},
		{"a base that the client leaves out", "/openai/v1", "POST", "/chat/completions", chat, "/openai/v1/chat/completions", chatWith},
		{"a base of which the client has the end", "/api/v1", "POST", "/v1/chat/completions", chat, "/api/v1/chat/completions", chatWith},
		{"a base that the client has", "/openai/v1", "POST", "/openai/v1/chat/completions?api-version=2", chat, "/openai/v1/chat/completions?api-version=2", chatWith},
		{"a base with a query", "/v1?key=k", "POST", "/v1/chat/completions?b=%3B;c", chat, "/v1/chat/completions?key=k&b=%3B;c", chatWith},
		{"Responses", "", "POST", "/v1/responses", responses, "/v1/responses",
			`{"model":"m", "input":[{"type":"message","role":"user","content":` + encoded(t) + `},{"type":"message","role":"user","content":"which port?"}]}`},
		{"Anthropic", "", "POST", "/v1/messages?beta=true", messages, "/v1/messages?beta=true",
			`{"model":"m","max_tokens":9, "messages":[{"role":"user","content":[{"type":"text","text":` + encoded(t) + `},{"type":"text","text":"which port?"}]}]}`},
		{"Ollama", "", "POST", "/api/chat", chat, "/api/chat", chatWith},
		{"tokens are counted of what the client has", "", "POST", "/v1/messages/count_tokens", messages, "/v1/messages/count_tokens", messages},
		{"embeddings", "", "POST", "/v1/embeddings", chat, "/v1/embeddings", chat},
		{"completions without a chat", "", "POST", "/v1/completions", chat, "/v1/completions", chat},
		{"another method", "", "PUT", "/v1/chat/completions", chat, "/v1/chat/completions", chat},
		{"models", "/v1", "GET", "/v1/models/a%2Fb", "", "/v1/models/a%2Fb", ""},
		{"the root", "", "GET", "/", "", "/", ""},
		{"the root of a base", "/v1", "GET", "/", "", "/v1/", ""},
		{"a slash at the end", "/v1", "GET", "/v1/models/", "", "/v1/models/", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u := newUpstream(t, nil)
			r := post(t, start(t, u.URL+tt.base, &knows{hits: port}, proxy.Options{})+tt.path, tt.body)
			r.Method = tt.method
			got := send(t, r)
			sent := u.only(t)
			if sent.method != tt.method || sent.uri != tt.uri || string(sent.body) != tt.want {
				t.Errorf("upstream got %s %s\n%s\nwant %s %s\n%s", sent.method, sent.uri, sent.body, tt.method, tt.uri, tt.want)
			}
			if tt.body != "" && sent.length != int64(len(tt.want)) {
				t.Errorf("upstream got Content-Length %d, want %d", sent.length, len(tt.want))
			}
			injected := ""
			if tt.want != tt.body {
				injected = "2"
			}
			if got.status != http.StatusOK || got.header.Get("X-Memcore-Injected") != injected {
				t.Errorf("answer: status %d, injected %q; want 200, %q", got.status, got.header.Get("X-Memcore-Injected"), injected)
			}
		})
	}
}

// Headers say what was injected. If nothing was, they say why, and the request is unchanged.
func TestReport(t *testing.T) {
	const pending = `{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"a"}]}]}`
	for _, tt := range []struct {
		name    string
		memory  *knows
		options proxy.Options
		path    string
		body    string
		gzip    bool
		reason  string
	}{
		{name: "injected"},
		{name: "nothing known", memory: &knows{}, reason: turn.ReasonNothing},
		{name: "nothing indexed", memory: &knows{state: core.StateMissing}, reason: "nothing is indexed yet: run memcore index"},
		{name: "not all indexed", memory: &knows{state: core.StateBuilding}, reason: "nothing relevant was found, and the index is not complete yet"},
		{name: "not all asked", memory: &knows{degraded: []string{"no “model”"}}, reason: "nothing relevant was found, but not all was asked: no ?model?"},
		{name: "memory fails", memory: &knows{hits: port, err: errors.New("disk")}, reason: turn.ReasonFailed},
		{name: "memory is late", memory: &knows{hits: port, wait: time.Hour}, options: proxy.Options{Turn: turn.Options{Timeout: 50 * time.Millisecond}}, reason: turn.ReasonLate},
		{name: "a call waits", path: "/v1/messages", body: pending, reason: turn.ReasonPending},
		{name: "no JSON", body: "message=x", reason: "chat request is not JSON: invalid character 'm' looking for beginning of value"},
		{name: "JSON of another kind", body: `{"prompt":"渡"}`, reason: `chat request has no "messages"`},
		{name: "no body", body: " ", reason: "chat request is not JSON: unexpected end of JSON input"},
		{name: "compressed", body: "\x1f\x8b…", gzip: true, reason: "the request is compressed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u := newUpstream(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Memcore-Injected", "77") })
			if tt.memory == nil {
				tt.memory = &knows{hits: port}
			}
			tt.body = cmp.Or(tt.body, chat)
			r := post(t, start(t, u.URL, tt.memory, tt.options)+cmp.Or(tt.path, "/v1/chat/completions"), tt.body)
			if tt.gzip {
				r.Header.Set("Content-Encoding", "gzip")
			}
			began := time.Now()
			got := send(t, r)
			if took := time.Since(began); took > time.Minute {
				t.Errorf("the answer took %v", took)
			}
			want := map[string]string{"Injected": "0", "Reason": tt.reason, "Tokens": "", "Sources": ""}
			if tt.reason == "" {
				want = map[string]string{"Injected": "2", "Reason": "", "Tokens": "14", "Sources": "notes/staging.md#L3, notes/%E6%B8%A1%E8%BD%AE%2C%20alt.md#L1-L5"}
			}
			for name, value := range want {
				if values := got.header.Values("X-Memcore-" + name); strings.Join(values, "|") != value {
					t.Errorf("X-Memcore-%s is %q, want %q", name, values, value)
				}
			}
			if sent := string(u.only(t).body); tt.reason != "" && sent != tt.body {
				t.Errorf("upstream got %s, want it as it was: %s", sent, tt.body)
			}
		})
	}
}

// Without a memory everything passes.
func TestMemoryTurnedOff(t *testing.T) {
	u := newUpstream(t, nil)
	p, err := proxy.New(u.URL, nil, proxy.Options{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://127.0.0.1/v1/chat/completions", strings.NewReader(chat)))
	if got := w.Header().Get("X-Memcore-Reason"); got != "memory is turned off" || string(u.only(t).body) != chat {
		t.Errorf("reason %q, upstream got %s", got, u.only(t).body)
	}
}

// Many, long or odd sources fit into a header.
func TestSources(t *testing.T) {
	for _, tt := range []struct{ name, source, want string }{
		{"many", "a.md#L1", strings.Repeat(", a.md#L1", 8)},
		{"odd", "a\r\nX-Evil: 1", strings.Repeat(", a%0D%0AX-Evil:%201", 8)},
		{"long", strings.Repeat("a", 900), strings.Repeat(", "+strings.Repeat("a", 900), 2)},
		{"too long", strings.Repeat("a", 9000), ", "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			hits := slices.Repeat([]core.MemoryHit{{Text: "x", Source: tt.source}}, 12)
			u := newUpstream(t, nil)
			got := send(t, post(t, start(t, u.URL, &knows{hits: hits}, proxy.Options{})+"/api/chat", chat)).header
			if s := got.Get("X-Memcore-Sources"); ", "+s != tt.want || got.Get("X-Evil") != "" {
				t.Errorf("sources %q, X-Evil %q; want %q", s, got.Get("X-Evil"), tt.want)
			}
		})
	}
}

// The upstream gets the client's headers, without the token and those of the connection.
func TestRequestHeaders(t *testing.T) {
	u := newUpstream(t, nil)
	r := post(t, start(t, u.URL, &knows{hits: port}, proxy.Options{Token: "s3cret"})+"/v1/chat/completions", chat)
	for name, value := range map[string]string{
		"Authorization": "Bearer sk-1", "X-Api-Key": "k", "Anthropic-Version": "2023-06-01", "X-Forwarded-For": "10.0.0.1", "Accept-Encoding": "identity",
		"Connection": "X-Mine", "X-Mine": "1", "Te": "deflate", "Proxy-Authorization": "Basic x", "X-Memcore-Token": "s3cret", "User-Agent": "",
	} {
		r.Header.Set(name, value)
	}
	require.Equal(t, http.StatusOK, send(t, r).status)
	sent := u.only(t)
	want := http.Header{"Authorization": {"Bearer sk-1"}, "X-Api-Key": {"k"}, "Anthropic-Version": {"2023-06-01"}, "X-Forwarded-For": {"10.0.0.1"},
		"Accept-Encoding": {"identity"}, "Content-Type": {"application/json"}, "Content-Length": sent.header["Content-Length"]}
	require.Equal(t, want, sent.header)
	if want := strings.TrimPrefix(u.URL, "http://"); sent.host != want {
		t.Errorf("upstream got Host %q, want its own, %q", sent.host, want)
	}
}

// Answers pass unchanged, errors too: status, headers, bytes.
func TestAnswers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		header http.Header
		body   string
	}{
		{"an error of the API", 429, http.Header{"Retry-After": {"7"}, "Content-Type": {"application/json"}, "X-Request-Id": {"r"}}, "{\"error\" : {\"message\":\"slow\\u0020down\"}}\n"},
		{"a server's trouble", 503, http.Header{"Content-Type": {"text/html"}}, "<html>"},
		{"compressed", 200, http.Header{"Content-Encoding": {"gzip"}, "Content-Type": {"application/json"}}, "\x1f\x8b\x00not unpacked"},
		{"no type", 200, http.Header{"Content-Type": nil, "Date": nil}, "<html>"},
		{"a redirect", 307, http.Header{"Location": {"https://example.com/x"}, "Content-Type": {"text/plain"}}, "there"},
		{"cookies", 200, http.Header{"Set-Cookie": {"a=1", "b=2"}, "Content-Type": {"text/plain"}}, "x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u := newUpstream(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Date", "Sat, 21 Nov 2026 12:00:00 GMT")
				maps.Copy(w.Header(), tt.header)
				w.WriteHeader(tt.status)
				io.WriteString(w, tt.body)
			})
			request := func(url string) answer {
				got := send(t, post(t, url+"/v1/chat/completions", chat))
				for _, name := range []string{"X-Memcore-Injected", "X-Memcore-Tokens", "X-Memcore-Sources"} {
					got.header.Del(name)
				}
				return got
			}
			want := request(u.URL)
			require.Equal(t, tt.body, string(want.body))
			require.Equal(t, want, request(start(t, u.URL, &knows{hits: port}, proxy.Options{})))
		})
	}
}

// Tokens pass one by one, and unchanged.
func TestStreaming(t *testing.T) {
	events := []string{"data: {\"a\": 1}\n\n", ": ping\r\n\r\n", "data: {\"b\":\"渡\"}\n\n", "data: [DONE]\n\n"}
	goOn := make(chan struct{})
	u := newUpstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		flush := http.NewResponseController(w).Flush
		_ = flush()
		for _, event := range events {
			<-goOn // the client has read what came before
			io.WriteString(w, event)
			_ = flush()
		}
	})
	response, err := client.RoundTrip(post(t, start(t, u.URL, &knows{hits: port}, proxy.Options{})+"/v1/chat/completions", chat))
	require.NoError(t, err) // headers came before the first event
	defer response.Body.Close()
	require.Equal(t, "2", response.Header.Get("X-Memcore-Injected"))
	for _, event := range events {
		goOn <- struct{}{}
		got := make([]byte, len(event))
		_, err := io.ReadFull(response.Body, got)
		require.NoError(t, err)
		require.Equal(t, event, string(got))
	}
	rest, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Empty(t, rest)
}

// A client sees that an answer broke off.
func TestBrokenStream(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "data: 1\n\n")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	response, err := client.RoundTrip(post(t, start(t, u.URL, &knows{hits: port}, proxy.Options{})+"/v1/chat/completions", chat))
	require.NoError(t, err)
	defer response.Body.Close()
	if got, err := io.ReadAll(response.Body); err == nil || string(got) != "data: 1\n\n" {
		t.Errorf("read %q and error %v, want the first event and an error", got, err)
	}
}

// The upstream sees that a client went away.
func TestClientGoesAway(t *testing.T) {
	for name, first := range map[string]bool{"before the answer": false, "in the middle of it": true} {
		t.Run(name, func(t *testing.T) {
			arrived, cancelled := make(chan struct{}), make(chan struct{})
			u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
				if first {
					io.WriteString(w, "data: 1\n\n")
					_ = http.NewResponseController(w).Flush()
				}
				close(arrived)
				<-r.Context().Done()
				close(cancelled)
			})
			var log logBuffer
			ctx, cancel := context.WithCancel(t.Context())
			r := post(t, start(t, u.URL, &knows{hits: port}, proxy.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})+"/v1/chat/completions", chat).WithContext(ctx)
			go func() { <-arrived; cancel() }()
			response, err := client.RoundTrip(r)
			if err == nil {
				_, err = io.ReadAll(response.Body)
				response.Body.Close()
			}
			require.ErrorIs(t, err, context.Canceled)
			select {
			case <-cancelled:
			case <-time.After(time.Minute):
				t.Error("the upstream's request goes on")
			}
			if !first {
				require.Eventually(t, func() bool { return strings.Contains(log.String(), "status=499") }, time.Minute, 5*time.Millisecond)
			}
		})
	}
}

type logBuffer struct {
	mu    sync.Mutex
	bytes bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes.String()
}

// The log has a line a request, without the user's data.
func TestLog(t *testing.T) {
	u := newUpstream(t, nil)
	var log logBuffer
	url := start(t, u.URL, &knows{hits: port}, proxy.Options{Token: "t0ken", Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	r := post(t, url+"/v1/chat/completions?key=sk-query%0A", chat)
	r.Header.Set("Authorization", "Bearer sk-header")
	r.Header.Set("X-Memcore-Token", "t0ken")
	send(t, r)
	require.Eventually(t, func() bool {
		return strings.Contains(log.String(), "level=INFO msg=request method=POST path=/v1/chat/completions status=200 injected=2 added=")
	},
		time.Minute, 5*time.Millisecond, "log: %s", &log)
	for _, secret := range []string{"sk-", "t0ken", "which port", "5433", "staging"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log has %q: %s", secret, &log)
		}
	}
}

// Errors have the form of the API.
func TestFailures(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed := "http://" + free.Addr().String()
	require.NoError(t, free.Close())
	url := start(t, closed, &knows{hits: port}, proxy.Options{})
	for _, tt := range []struct{ path, want string }{
		{"/v1/chat/completions", `{"error":{"code":"memcore_proxy","message":"memcore: the upstream does not answer: POST ` + closed + `/v1/chat/completions: dial tcp `},
		{"/v1/responses", `{"error":{"code":"memcore_proxy","message":"memcore: the upstream does not answer: POST ` + closed + `/v1/responses: dial tcp `},
		{"/v1/messages?key=k", `{"error":{"message":"memcore: the upstream does not answer: POST ` + closed + `/v1/messages: dial tcp `},
		{"/api/chat", `{"error":"memcore: the upstream does not answer: POST ` + closed + `/api/chat: dial tcp `},
	} {
		got := send(t, post(t, url+tt.path, chat))
		if got.status != http.StatusBadGateway || !strings.HasPrefix(string(got.body), tt.want) || !strings.Contains(string(got.body), "refused; start it, or run") ||
			!json.Valid(got.body) || got.header.Get("Content-Type") != "application/json" || got.header.Get("X-Memcore-Injected") == "" {
			t.Errorf("%s: status %d %v\n%s\nwant 502 and %s…", tt.path, got.status, got.header, got.body, tt.want)
		}
	}
}

// Web pages are refused by any name, programs are not.
func TestGuards(t *testing.T) {
	for _, tt := range []struct {
		name, host, origin, token string
		wants                     string // token that the proxy wants
		status                    int
	}{
		{name: "by address", status: 200},
		{name: "by name", host: "localhost:7471", status: 200},
		{name: "by the IPv6 address", host: "[::1]:7471", status: 200},
		{name: "without a port", host: "127.0.0.1", status: 200},
		{name: "a name that was made to resolve to us", host: "evil.example:7471", status: 403},
		{name: "a name that looks like ours", host: "localhost.evil.example", status: 403},
		{name: "another machine's address", host: "192.0.2.1:7471", status: 403},
		{name: "a page of ours", host: "localhost:7471", origin: "http://localhost:7471", status: 200},
		{name: "another page", origin: "https://evil.example", status: 403},
		{name: "a page of another port", host: "localhost:7471", origin: "http://localhost:3000", status: 403},
		{name: "a page of a rebound name", host: "evil.example", origin: "http://evil.example", status: 403},
		{name: "a page without an origin", origin: "null", status: 403},
		{name: "the token", wants: "t0ken", token: "t0ken", status: 200},
		{name: "no token", wants: "t0ken", status: 401},
		{name: "another token", wants: "t0ken", token: "t0ken2", status: 401},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u := newUpstream(t, nil)
			r := post(t, start(t, u.URL, &knows{hits: port}, proxy.Options{Token: tt.wants})+"/v1/chat/completions", chat)
			r.Host = tt.host
			if tt.origin != "" {
				r.Header.Set("Origin", tt.origin)
			}
			if tt.token != "" {
				r.Header.Set("X-Memcore-Token", tt.token)
			}
			got := send(t, r)
			if got.status != tt.status || !json.Valid(got.body) {
				t.Errorf("status %d, body %s; want %d and JSON", got.status, got.body, tt.status)
			}
			if passed := len(u.requests) == 1; passed != (tt.status == 200) {
				t.Errorf("the upstream got %d requests", len(u.requests))
			}
		})
	}
}

func TestNew(t *testing.T) {
	for _, tt := range []struct{ upstream, listen, token, failure string }{
		{upstream: "http://127.0.0.1:11434"},
		{upstream: "http://x", listen: "localhost:0"},
		{upstream: "http://x", listen: "[::1]:0"},
		{upstream: "http://x", listen: "0.0.0.0:0", token: "t"},
		{upstream: "http://x", listen: "0.0.0.0:0", failure: "needs a token"},
		{upstream: "http://x", listen: ":0", failure: "needs a token"},
		{upstream: "http://x", listen: "192.0.2.1:0", failure: "needs a token"},
		{upstream: "http://x", listen: "7471", failure: "want host:port"},
		{upstream: "http://x", listen: "127.0.0.1:port", failure: "listen address"},
		{upstream: "", failure: "want a URL such as"},
		{upstream: "api.openai.com/v1", failure: "want a URL such as"},
		{upstream: "ftp://x", failure: "want a URL such as"},
		{upstream: "http://x\x00", failure: "want a URL such as"},
		{upstream: "https://me:s3cret@x", failure: "user or password"},
		{upstream: "me:s3cret@x/v1", failure: "user or password"},
	} {
		_, err := proxy.New(tt.upstream, nil, proxy.Options{Listen: tt.listen, Token: tt.token})
		if tt.failure == "" && err != nil || tt.failure != "" && (err == nil || !strings.Contains(err.Error(), tt.failure)) {
			t.Errorf("New(%q) listening on %q: %v, want %q", tt.upstream, tt.listen, err, tt.failure)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the error has a password: %v", err)
		}
	}
}

// A proxy refuses to be its own upstream.
func TestLoop(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, free.Close())
	p, err := proxy.New("http://localhost:"+strings.Split(free.Addr().String(), ":")[1]+"/v1", nil, proxy.Options{Listen: free.Addr().String()})
	require.NoError(t, err)
	_, err = p.Listen()
	require.ErrorContains(t, err, "is this proxy itself")
}

func TestBaseURL(t *testing.T) {
	for upstream, want := range map[string]string{"http://x": "http://h:1/v1", "http://x/": "http://h:1/v1", "https://x/v1": "http://h:1/v1", "https://x/api/v1/": "http://h:1/api/v1"} {
		p, err := proxy.New(upstream, nil, proxy.Options{})
		require.NoError(t, err)
		if got := p.BaseURL("h:1"); got != want {
			t.Errorf("BaseURL in front of %s = %s, want %s", upstream, got, want)
		}
	}
}

// Larger bodies pass without memory, of known length or not.
func TestHugeBodies(t *testing.T) {
	pad := strings.Repeat("x", 1<<20)
	for _, tt := range []struct {
		name   string
		pads   int
		known  bool
		reason string
	}{
		{"below, in pieces", 8, false, ""},
		{"above, in pieces", 66, false, "the request is over 64 MB"},
		{"above", 66, true, "the request is over 64 MB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u := newUpstream(t, nil)
			body := `{"messages":[{"role":"user","content":"which port?"}],"pad":"` + strings.Repeat(pad, tt.pads) + `"}`
			r := post(t, start(t, u.URL, &knows{hits: port}, proxy.Options{})+"/v1/chat/completions", body)
			if !tt.known {
				r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), -1
			}
			got := send(t, r)
			sent := u.only(t)
			if got.header.Get("X-Memcore-Reason") != tt.reason || got.status != 200 {
				t.Fatalf("status %d, reason %q, want %q", got.status, got.header.Get("X-Memcore-Reason"), tt.reason)
			}
			if tt.known != (sent.length >= 0) {
				t.Errorf("the upstream got Content-Length %d", sent.length)
			}
			if tt.reason != "" && string(sent.body) != body || tt.reason == "" && len(sent.body) != len(body)+len(`{"role":"user","content":},`)+len(encoded(t)) {
				t.Errorf("the upstream got %d bytes of %d", len(sent.body), len(body))
			}
		})
	}
}

// An upstream may answer before it has the whole request.
func TestAnswerBeforeTheEndOfTheRequest(t *testing.T) {
	u := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		for part := make([]byte, 5); ; {
			if _, err := io.ReadFull(r.Body, part); err != nil {
				return
			}
			_, _ = w.Write(part)
			_ = http.NewResponseController(w).Flush()
		}
	}))
	t.Cleanup(u.Close)
	body, more := io.Pipe()
	r := post(t, start(t, u.URL, &knows{hits: port}, proxy.Options{})+"/v1/audio/transcriptions", "")
	r.Body, r.ContentLength = body, -1
	go io.WriteString(more, "first")
	response, err := client.RoundTrip(r)
	require.NoError(t, err)
	defer response.Body.Close()
	for _, part := range []string{"first", "next ", "last "} {
		got := make([]byte, len(part))
		_, err = io.ReadFull(response.Body, got)
		require.NoError(t, err)
		require.Equal(t, part, string(got))
		if part == "first" {
			_, err = io.WriteString(more, "next last ")
			require.NoError(t, err)
			require.NoError(t, more.Close())
		}
	}
}

// Concurrent requests are independent, and connections are used again.
func TestConcurrentRequests(t *testing.T) {
	var connections sync.Map
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) { connections.Store(r.RemoteAddr, true) })
	url := start(t, u.URL, &knows{hits: port}, proxy.Options{})
	const clients, each = 8, 25
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for range each {
				r := post(t, url+"/v1/chat/completions", chat)
				response, err := client.RoundTrip(r)
				if err != nil {
					t.Errorf("request: %v", err)
					return
				}
				_, _ = io.Copy(io.Discard, response.Body)
				response.Body.Close()
				if response.Header.Get("X-Memcore-Injected") != "2" {
					t.Errorf("headers %v", response.Header)
				}
			}
		})
	}
	all.Wait()
	with := len(chat) + len(`{"role":"user","content":},`) + len(encoded(t))
	if len(u.requests) != clients*each || slices.ContainsFunc(u.requests, func(r received) bool { return len(r.body) != with }) {
		t.Errorf("the upstream got %d requests, want %d of %d bytes", len(u.requests), clients*each, with)
	}
	opened := 0
	connections.Range(func(any, any) bool { opened++; return true })
	if opened > 3*clients {
		t.Errorf("%d connections to the upstream for %d clients", opened, clients)
	}
}

// An idle connection that the upstream closes costs no request.
func TestUpstreamClosesIdleConnections(t *testing.T) {
	u := newUpstream(t, nil)
	url := start(t, u.URL, &knows{hits: port}, proxy.Options{})
	for range 5 {
		require.Equal(t, http.StatusOK, send(t, post(t, url+"/v1/chat/completions", chat)).status)
		u.CloseClientConnections()
		time.Sleep(20 * time.Millisecond) // until that is noticed: a chat that may have been heard is not sent again
	}
}

// An upgraded connection passes bytes both ways, and ends with the proxy.
func TestUpgrade(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		connection, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer connection.Close()
		io.WriteString(connection, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		line, _ := buffered.ReadString('\n')
		io.WriteString(connection, "heard "+line)
		_, _ = io.Copy(io.Discard, buffered) // until it is closed
	})
	address := strings.TrimPrefix(start(t, u.URL, &knows{hits: port}, proxy.Options{}), "http://")
	connection, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer connection.Close()
	io.WriteString(connection, "GET /v1/realtime HTTP/1.1\r\nHost: "+address+"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	got := make([]byte, 4096)
	require.NoError(t, connection.SetReadDeadline(time.Now().Add(time.Minute)))
	n := 0
	readTo := func(end string) {
		for !strings.HasSuffix(string(got[:n]), end) {
			m, err := connection.Read(got[n:])
			require.NoError(t, err, "so far: %q", got[:n])
			n += m
		}
	}
	readTo("\r\n\r\n")
	io.WriteString(connection, "hello\n")
	readTo("heard hello\n")
	if !strings.HasPrefix(string(got[:n]), "HTTP/1.1 101 ") || strings.Contains(string(got[:n]), "X-Memcore") {
		t.Errorf("answer %q", got[:n])
	}
}

// A stopping proxy waits for answers, then cuts the rest.
func TestStop(t *testing.T) {
	for _, tt := range []struct {
		name  string
		grace time.Duration
		whole bool
	}{{"in time", time.Minute, true}, {"too late", -1, false}} {
		t.Run(tt.name, func(t *testing.T) {
			goOn := make(chan struct{})
			u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
				io.WriteString(w, "first ")
				_ = http.NewResponseController(w).Flush()
				select {
				case <-goOn:
				case <-r.Context().Done():
				}
				io.WriteString(w, "last")
			})
			p, err := proxy.New(u.URL, &knows{hits: port}, proxy.Options{Listen: "127.0.0.1:0", Grace: tt.grace, Logger: slog.New(slog.DiscardHandler)})
			require.NoError(t, err)
			listener, err := p.Listen()
			require.NoError(t, err)
			ctx, stop := context.WithCancel(t.Context())
			served := make(chan error, 1)
			go func() { served <- p.Serve(ctx, listener) }()
			response, err := client.RoundTrip(post(t, "http://"+listener.Addr().String()+"/v1/chat/completions", chat))
			require.NoError(t, err)
			defer response.Body.Close()
			stop()
			if tt.whole {
				time.AfterFunc(50*time.Millisecond, func() { close(goOn) })
			}
			got, err := io.ReadAll(response.Body)
			if whole := err == nil && string(got) == "first last"; whole != tt.whole {
				t.Errorf("read %q, %v; want it whole: %v", got, err, tt.whole)
			}
			select {
			case err := <-served:
				require.NoError(t, err)
			case <-time.After(time.Minute):
				t.Fatal("Serve does not return")
			}
			if _, err := net.DialTimeout("tcp", listener.Addr().String(), time.Second); err == nil {
				t.Error("it still listens")
			}
		})
	}
}

// A speculative upgrade does not prevent memory.
func TestSpeculativeUpgrade(t *testing.T) {
	u := newUpstream(t, nil)
	r := post(t, start(t, u.URL, &knows{hits: port}, proxy.Options{})+"/v1/chat/completions", chat)
	r.Header.Set("Connection", "Upgrade, HTTP2-Settings")
	r.Header.Set("Upgrade", "h2c")
	r.Header.Set("HTTP2-Settings", "AAEAAEAAAAIAAAAAAAMAAAAAAAQBAAAAAAUAAEAAAAYABgAA")
	if got := send(t, r); got.header.Get("X-Memcore-Injected") != "2" || u.only(t).header.Get("Upgrade") != "" {
		t.Errorf("headers %v, upstream got %v", got.header, u.only(t).header)
	}
}
