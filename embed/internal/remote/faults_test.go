package remote_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/embedtest"
	"github.com/memcore/memcore/embed/ollama"
	"github.com/memcore/memcore/embed/openai"
)

const secret = "sk-test-0123456789"

// A protocol is an embedder and its server's answers.
type protocol struct {
	// open returns an embedder for the server, with one text a request and this timeout.
	open func(t testing.TB, url string, timeout time.Duration) embed.Embedder
	// answer is a successful answer, as JSON.
	answer func(vecs [][]float32) string
	// patient returns an embedder that sends several texts a request, and tries twice.
	patient func(t testing.TB, url string) embed.Embedder
}

// A serve answers request n, from 1.
type serve func(w http.ResponseWriter, r *http.Request, n int)

// server starts a server and counts its requests.
func server(t testing.TB, s serve) (url string, requests *atomic.Int64) {
	t.Helper()
	requests = new(atomic.Int64)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // needed to notice the end of the connection
		s(w, r, int(requests.Add(1)))
	}))
	srv.Config.ErrorLog = nil
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return srv.URL, requests
}

// A fault is a faulty server and the expected error.
type fault struct {
	name     string
	serve    serve
	requests int64  // expected
	want     error  // nil: it succeeds in the end
	text     string // in the error
}

var protocols = map[string]protocol{
	"ollama": {
		open: func(t testing.TB, url string, timeout time.Duration) embed.Embedder {
			e, err := ollama.New("m", ollama.Options{Address: url, RemoteOptions: embed.RemoteOptions{Timeout: timeout, BatchSize: 1}})
			require.NoError(t, err)
			return e
		},
		answer: func(vecs [][]float32) string { return asJSON(map[string]any{"model": "m", "embeddings": vecs}) },
		patient: func(t testing.TB, url string) embed.Embedder {
			e, err := ollama.New("m", ollama.Options{Address: url, RemoteOptions: embed.RemoteOptions{Tries: 2}})
			require.NoError(t, err)
			return e
		},
	},
	"openai": {
		open: func(t testing.TB, url string, timeout time.Duration) embed.Embedder {
			e, err := openai.New("m", openai.Options{BaseURL: url + "/v1", Key: openai.NewKey(secret),
				RemoteOptions: embed.RemoteOptions{Timeout: timeout, BatchSize: 1}})
			require.NoError(t, err)
			return e
		},
		answer: func(vecs [][]float32) string {
			var data []map[string]any
			for i, v := range vecs {
				data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": v})
			}
			return asJSON(map[string]any{"object": "list", "data": data, "model": "m"})
		},
		patient: func(t testing.TB, url string) embed.Embedder {
			e, err := openai.New("m", openai.Options{BaseURL: url + "/v1", RemoteOptions: embed.RemoteOptions{Tries: 2}})
			require.NoError(t, err)
			return e
		},
	},
}

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func TestFaults(t *testing.T) {
	for name, p := range protocols {
		t.Run(name, p.testFaults)
	}
}

func (p protocol) testFaults(t *testing.T) {
	for _, f := range p.faults() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			url, requests := server(t, f.serve)
			vecs, err := p.open(t, url, time.Minute).Embed(t.Context(), embed.Query, []string{"text"})
			if !errors.Is(err, f.want) || (err == nil) != (len(vecs) == 1) {
				t.Errorf("Embed = %d vectors, %v; want error %v", len(vecs), err, f.want)
			}
			if err != nil && !strings.Contains(err.Error(), f.text) {
				t.Errorf("Embed = error %q, want one that says %q", err, f.text)
			}
			if err != nil && len(err.Error()) > 700 {
				t.Errorf("Embed = error of %d bytes, want a short one", len(err.Error()))
			}
			if requests.Load() != f.requests {
				t.Errorf("Embed made %d requests, want %d", requests.Load(), f.requests)
			}
		})
	}
	t.Run("no server", func(t *testing.T) { t.Parallel(); p.testNoServer(t) })
	t.Run("a server that hangs", func(t *testing.T) { t.Parallel(); p.testTimeout(t) })
	t.Run("cancelling a request", func(t *testing.T) { t.Parallel(); p.testCancel(t) })
	t.Run("cancelling a wait", func(t *testing.T) { t.Parallel(); p.testCancelWait(t) })
	t.Run("another dimension later", func(t *testing.T) { t.Parallel(); p.testDimension(t) })
	t.Run("one embedder used by many", func(t *testing.T) { t.Parallel(); p.testConcurrent(t) })
}

func (p protocol) faults() []fault {
	good := p.answer([][]float32{{3, 4}})
	one := func(code int, kind, body string) serve { return always(code, kind, body) }
	return []fault{
		{"nothing", one(200, "application/json", good), 1, nil, ""},
		{"rate limited once", first(429, good, "Retry-After", "1"), 2, nil, ""},
		{"rate limited for long", one(429, "application/json", `{"error": "slow down"}`), 2, embed.ErrUnavailable, "429 Too Many Requests: slow down"},
		{"a wait longer than RetryFor", first(429, good, "Retry-After", "3600"), 1, embed.ErrUnavailable, "429"},
		{"a failure once", first(500, good), 2, nil, ""},
		{"overloaded for long", one(503, "text/html", "<html>\n<b>503</b></html>"), 2, embed.ErrUnavailable, "503 Service Unavailable: <html> <b>503</b></html>"},
		{"a bad request", one(400, "application/json", `{"error": {"message": "no such\u001b[31m thing"}}`), 1, embed.ErrUnavailable, "400 Bad Request: no such thing"},
		{"an unknown model", one(404, "application/json", `{"error": "model not found"}`), 1, embed.ErrUnavailable, "404 Not Found: model not found"},
		{"an error page of a megabyte", one(404, "text/html", strings.Repeat("<p>", 1<<18)), 1, embed.ErrUnavailable, "404 Not Found: <p><p>"},
		{"a redirect", redirect, 1, embed.ErrUnavailable, "redirects are not followed"},
		{"a login page", one(200, "text/html", "<!DOCTYPE html><title>Log in</title>"), 1, embed.ErrUnavailable, "not JSON (text/html): <!DOCTYPE html>"},
		{"nothing at all", one(200, "application/json", ""), 1, embed.ErrUnavailable, "not JSON"},
		{"JSON that breaks off", one(200, "application/json", good[:len(good)/2]), 1, embed.ErrUnavailable, "not JSON"},
		{"JSON of another kind", one(200, "application/json", `{"hello": [1, 2]}`), 1, embed.ErrUnavailable, "0 vectors for 1 texts"},
		{"JSON that is a list", one(200, "application/json", `[1, 2]`), 1, embed.ErrUnavailable, "cannot unmarshal"},
		{"null", one(200, "application/json", `null`), 1, embed.ErrUnavailable, "0 vectors for 1 texts"},
		{"two vectors for one text", one(200, "application/json", p.answer([][]float32{{1, 0}, {0, 1}})), 1, embed.ErrUnavailable, "2 vectors for 1 texts"},
		{"a zero vector", one(200, "application/json", p.answer([][]float32{{0, 0}})), 1, embed.ErrUnavailable, "vector 0 is zero"},
		{"an empty vector", one(200, "application/json", p.answer([][]float32{{}})), 1, embed.ErrUnavailable, "vector 0 is empty"},
		{"a number too large", one(200, "application/json", strings.Replace(good, "3", "1e60", 1)), 1, embed.ErrUnavailable, "cannot unmarshal number 1e60"},
		{"NaN", one(200, "application/json", strings.Replace(good, "3", "NaN", 1)), 1, embed.ErrUnavailable, "not JSON"},
		{"an endless answer", endless, 1, embed.ErrUnavailable, "longer than 64 MB"},
		{"a connection cut before the answer", hangUp(good, 0), 2, nil, ""},
		{"a connection cut in the answer", hangUp(good, 5), 2, nil, ""},
	}
}

func always(code int, kind, body string) serve {
	return func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(code)
		io.WriteString(w, body)
	}
}

// first answers request 1 by code and headers, others by body.
func first(code int, body string, headers ...string) serve {
	return func(w http.ResponseWriter, _ *http.Request, n int) {
		if n > 1 {
			io.WriteString(w, body)
			return
		}
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
	}
}

func redirect(w http.ResponseWriter, r *http.Request, _ int) {
	http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
}

func endless(w http.ResponseWriter, _ *http.Request, _ int) {
	block := []byte(strings.Repeat(" ", 1<<20))
	for {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

// hangUp cuts off only the first body.
func hangUp(body string, after int) serve {
	return func(w http.ResponseWriter, _ *http.Request, n int) {
		if n > 1 {
			io.WriteString(w, body)
			return
		}
		conn, buf, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		if after > 0 {
			fmt.Fprintf(buf, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body[:after])
			buf.Flush()
		}
		conn.Close()
	}
}

func (p protocol) testNoServer(t *testing.T) {
	srv := httptest.NewServer(nil)
	srv.Close() // its port is now free
	_, err := p.open(t, srv.URL, time.Minute).Embed(t.Context(), embed.Query, []string{"text"})
	if !errors.Is(err, embed.ErrRefused) || !strings.Contains(err.Error(), strings.TrimPrefix(srv.URL, "http://")) {
		t.Errorf("Embed = %v, want ErrRefused that names the server", err)
	}
}

func hang(_ http.ResponseWriter, r *http.Request, _ int) { <-r.Context().Done() }

func (p protocol) testTimeout(t *testing.T) {
	url, _ := server(t, hang)
	_, err := p.open(t, url, 50*time.Millisecond).Embed(t.Context(), embed.Query, []string{"text"})
	if !errors.Is(err, embed.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Embed past its timeout = %v, want ErrUnavailable and not the caller's deadline", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = p.open(t, url, time.Minute).Embed(ctx, embed.Query, []string{"text"})
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, embed.ErrUnavailable) {
		t.Errorf("Embed past the caller's deadline = %v, want that", err)
	}
}

func (p protocol) testCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	url, _ := server(t, func(w http.ResponseWriter, r *http.Request, n int) { cancel(); hang(w, r, n) })
	p.cancelled(t, ctx, url)
}

func (p protocol) testCancelWait(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	url, requests := server(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set("Retry-After", "50")
		w.WriteHeader(429)
		time.AfterFunc(50*time.Millisecond, cancel)
	})
	p.cancelled(t, ctx, url)
	if requests.Load() != 1 {
		t.Errorf("Embed made %d requests, want 1", requests.Load())
	}
}

// cancelled embeds documents: their retries outlast the test.
func (p protocol) cancelled(t *testing.T, ctx context.Context, url string) {
	t.Helper()
	start := time.Now()
	vecs, err := p.open(t, url, time.Minute).Embed(ctx, embed.Document, []string{"text"})
	if !errors.Is(err, context.Canceled) || errors.Is(err, embed.ErrUnavailable) || vecs != nil {
		t.Errorf("Embed = %v, %v; want context.Canceled", vecs, err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("Embed returned after %v, want at once", took)
	}
}

func (p protocol) testDimension(t *testing.T) {
	url, _ := server(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		io.WriteString(w, p.answer([][]float32{append(make([]float32, n), 1)}))
	})
	e := p.open(t, url, time.Minute)
	_, err := e.Embed(t.Context(), embed.Document, []string{"first"})
	require.NoError(t, err)
	if _, err := e.Embed(t.Context(), embed.Document, []string{"second"}); !errors.Is(err, embed.ErrDimension) {
		t.Errorf("3 numbers after 2: %v, want ErrDimension", err)
	}
	if got := e.Dimension(); got != 2 {
		t.Errorf("Dimension() = %d, want the 2 of the first answer", got)
	}
}

func (p protocol) testConcurrent(t *testing.T) {
	url, _ := server(t, first(500, p.answer([][]float32{{3, 4}})))
	e := p.open(t, url, time.Minute)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := e.Embed(t.Context(), embed.Document, []string{"a", "b"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// Both protocols keep the contract when a server fails with some texts.
func TestServers(t *testing.T) {
	for name, p := range protocols {
		t.Run(name, func(t *testing.T) {
			embedtest.TestServer(t, func(t *testing.T, answer func(texts []string) embedtest.Answer) embed.Embedder {
				srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					var asked struct{ Input []string }
					require.NoError(t, json.NewDecoder(r.Body).Decode(&asked))
					a := answer(asked.Input)
					switch {
					case a.HangsUp:
						hangUp("", 0)(w, r, 1)
					case a.Status != 0:
						w.WriteHeader(a.Status)
						io.WriteString(w, a.Body)
					default:
						io.WriteString(w, p.answer(a.Vectors))
					}
				}))
				t.Cleanup(srv.Close)
				return p.patient(t, srv.URL)
			})
		})
	}
}
