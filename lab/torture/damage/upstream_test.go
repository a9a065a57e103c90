package damage

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/reflection"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/openai"
	"github.com/memcore/memcore/inject/proxy"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/flat"
	"github.com/memcore/memcore/store/keyword"
)

const (
	key   = "sk-planted-0123456789abcdef"
	limit = 700 * time.Millisecond // that each client is given
)

// A fault is a server's reaction to each request; elsewhere must not be asked.
type fault struct {
	name  string
	serve func(w http.ResponseWriter, r *http.Request, elsewhere string)
}

func body(status int, kind, text string) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

// drip writes text repeatedly until the client leaves.
func drip(text string, pause time.Duration) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, r *http.Request, _ string) {
		w.Header().Set("Content-Type", "application/json")
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, text); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			time.Sleep(pause)
		}
	}
}

func hijacked(text string) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, _ string) {
		connection, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_, _ = io.WriteString(connection, text)
			_ = connection.Close()
		}
	}
}

const jsonKind = "application/json"

// garbage is an answer of every protocol at once.
func garbage(vector, score, text string) string {
	return `{"object":"list","model":"m","embeddings":[` + vector + `],"data":[{"object":"embedding","index":0,"embedding":` + vector + `}],` +
		`"results":[{"index":0,"relevance_score":` + score + `}],"message":{"role":"assistant","content":` + text + `},"choices":[{"message":{"role":"assistant","content":` + text + `}}]`
}

var faults = []fault{
	{"hangs", func(_ http.ResponseWriter, r *http.Request, _ string) { <-r.Context().Done() }},
	{"hangs after its head", func(w http.ResponseWriter, r *http.Request, _ string) {
		w.Header().Set("Content-Type", jsonKind)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}},
	{"closes at once", hijacked("")},
	{"closes in its head", hijacked("HTTP/1.1 200 OK\r\nContent-Le")},
	{"closes in its body", hijacked("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"emb")},
	{"is no HTTP", hijacked("SSH-2.0-OpenSSH_9.9\r\n")},
	{"has a head without end", func(w http.ResponseWriter, r *http.Request, _ string) {
		connection, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer connection.Close()
		_, _ = io.WriteString(buffered, "HTTP/1.1 200 OK\r\n")
		for range 1 << 14 {
			if _, err := io.WriteString(connection, "X-Filler: "+strings.Repeat("x", 1000)+"\r\n"); err != nil {
				return
			}
		}
	}},
	{"200 with a login page", body(200, "text/html", "<!DOCTYPE html><title>Log in</title>")},
	{"200 with nothing", body(200, jsonKind, "")},
	{"null", body(200, jsonKind, "null")},
	{"half of its JSON", body(200, jsonKind, garbage("[0.6,0.8]", "0.5", `"hi"`))},
	{"JSON nested a million deep", body(200, jsonKind, strings.Repeat("[", 1<<20))},
	{"endless white space", drip(strings.Repeat(" ", 1<<16), 0)},
	{"endless list", drip(`{"embeddings":[[`+strings.Repeat("1,", 1<<15), 0)},
	{"a byte now and then", drip(" ", 50*time.Millisecond)},
	{"no vector", body(200, jsonKind, garbage("[]", `"x"`, "7")+"}")},
	{"NaN", body(200, jsonKind, garbage("[NaN,1]", "NaN", "NaN")+"}")},
	{"numbers too large", body(200, jsonKind, garbage("[1e400,1]", "1e400", "1e400")+"}")},
	{"400 with the key", body(400, jsonKind, `{"error":{"message":"bad key `+key+` \u001b[2J"}}`)},
	{"401 with the key", body(401, "text/plain", "\x1b[2Jyour key "+key+" is wrong")},
	{"the key as its head", hijacked(key + "\r\n\r\n")},
	{"the key as a header", hijacked("HTTP/1.1 200 OK\r\n" + key + "\r\n\r\n")},
	{"the key as content type", body(200, key, "<p>hi")},
	{"the key as length", hijacked("HTTP/1.1 200 OK\r\nContent-Length: " + key + "\r\n\r\n")},
	{"404 page of a megabyte", body(404, "text/html", strings.Repeat("<p>\x1b[31m", 1<<17))},
	{"429 for an hour", func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(429)
	}},
	{"500", body(500, "text/plain", "oops")},
	{"503 for a date", func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Retry-After", time.Now().Add(24*time.Hour).UTC().Format(http.TimeFormat))
		w.WriteHeader(503)
	}},
	{"307 to elsewhere", func(w http.ResponseWriter, r *http.Request, elsewhere string) {
		http.Redirect(w, r, elsewhere+r.URL.Path, http.StatusTemporaryRedirect)
	}},
	{"308 to itself", func(w http.ResponseWriter, r *http.Request, _ string) {
		http.Redirect(w, r, r.URL.Path, http.StatusPermanentRedirect)
	}},
}

// A client is given a key, which no error may show.
type client struct {
	name string
	ask  func(t *testing.T, url string) func(ctx context.Context) error
}

// clients are those of servers, without embedders: TestFaultsWhileIndexing has those.
var clients = []client{
	{"openai chat", func(t *testing.T, url string) func(context.Context) error {
		m, err := reflection.NewOpenAI(reflection.ServerOptions{BaseURL: url + "/v1", Model: "m", Key: key})
		require.NoError(t, err)
		return func(ctx context.Context) error { return chatOnce(ctx, m) }
	}},
}

func chatOnce(ctx context.Context, m reflection.Model) error {
	reply, err := m.Chat(ctx, []reflection.Message{{Role: reflection.RoleUser, Content: "hi"}}, nil)
	if err == nil && reply.Text != "" && reply.Text != "hi" {
		return nil
	}
	if err == nil {
		return errors.New("an empty reply") // which reflection takes for an end without changes
	}
	return err
}

// upstream serves a fault and counts requests to elsewhere.
func upstream(t *testing.T, f fault) (url string, followed *atomic.Int64) {
	t.Helper()
	followed = &atomic.Int64{}
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Add(1) }))
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the end of the connection is not noticed
		f.serve(w, r, elsewhere.URL)
	}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		elsewhere.Close()
	})
	return server.URL, followed
}

// slack is what a busy machine may add to a time limit.
const slack = 10 * time.Second

// Every client reports every fault in time, with a short error without key and terminal sequences.
// It follows no redirect.
func TestFaultsOfServers(t *testing.T) {
	for _, c := range clients {
		for _, f := range faults {
			t.Run(c.name+" "+f.name, func(t *testing.T) {
				t.Parallel()
				url, followed := upstream(t, f)
				ask := c.ask(t, url)
				ctx, stop := context.WithTimeout(t.Context(), limit)
				defer stop()
				began := time.Now()
				err := ask(ctx)
				if took := time.Since(began); took > limit+slack {
					t.Errorf("it took %v, want about %v", took, limit)
				}
				if err == nil {
					t.Fatal("no error")
				}
				text := err.Error()
				if len(text) > 1200 || strings.Contains(text, key) || strings.ContainsAny(text, "\x1b\x00\r") {
					t.Errorf("error %.1500q, want a short one without key and control characters", text)
				}
				require.Zero(t, followed.Load(), "it went elsewhere")
			})
		}
	}
	t.Logf("chat models: %d faults: each an error in time, without key", len(clients)*len(faults))
}

// The proxy passes on an upstream's answer, or reports a missing one. Memory does not matter.
func TestFaultsBehindTheProxy(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			url, followed := upstream(t, f)
			var log bytes.Buffer
			p, err := proxy.New(url, nil, proxy.Options{Listen: "127.0.0.1:0", Logger: slog.New(slog.NewTextHandler(&log, nil))})
			require.NoError(t, err)
			front := httptest.NewServer(p)
			defer func() {
				front.CloseClientConnections()
				front.Close()
				require.NotContains(t, log.String(), key)
			}()
			ctx, stop := context.WithTimeout(t.Context(), limit)
			defer stop()
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, front.URL+"/v1/chat/completions", strings.NewReader(`{"messages":[{"role":"user","content":"hi"}]}`))
			require.NoError(t, err)
			request.Header.Set("Authorization", "Bearer "+key)
			began := time.Now()
			response, err := http.DefaultTransport.RoundTrip(request)
			if err == nil {
				text, _ := bufio.NewReader(io.LimitReader(response.Body, 1<<16)).ReadString('\n')
				_ = response.Body.Close()
				if response.StatusCode == http.StatusBadGateway {
					require.Contains(t, text, "does not answer")
					require.NotContains(t, text, key)
				}
			}
			if took := time.Since(began); took > limit+slack {
				t.Errorf("it took %v, want about %v: the client's limit", took, limit)
			}
			require.Zero(t, followed.Load())
		})
	}
	t.Logf("upstream of the proxy: %d faults: passed on, or 502 that says so", len(faults))
}

// With a faulty embedder the index answers by keywords, in time, and says so. It keeps nothing of
// the garbage: a good embedder completes it.
func TestFaultsWhileIndexing(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			var well atomic.Bool
			url, followed := upstream(t, fault{f.name, func(w http.ResponseWriter, r *http.Request, elsewhere string) {
				if well.Load() {
					body(200, jsonKind, garbage("[0.6,0.8]", "1", `""`)+"}")(w, r, elsewhere)
					return
				}
				f.serve(w, r, elsewhere)
			}})
			notes, index := t.TempDir(), filepath.Join(t.TempDir(), "index")
			require.NoError(t, os.WriteFile(filepath.Join(notes, "a.md"), []byte("# Staging\n\nThe staging postgres listens on port 5433.\n"), 0o644))
			open := func(limit time.Duration) *core.Manager {
				e, err := openai.New("m", openai.Options{BaseURL: url + "/v1", Key: openai.NewKey(key), RemoteOptions: embed.RemoteOptions{BatchSize: 1, Timeout: limit, Tries: 1, RetryFor: limit}})
				require.NoError(t, err)
				m, err := core.Open(t.Context(), core.Options{
					Folder: index, Sources: []source.Source{source.NewFolder(source.FolderOptions{Path: notes, Workspace: notes})},
					Engine: store.Engine{Name: "flat",
						Vectors:  func(ctx context.Context, dir string, d int) (store.VectorIndex, error) { return flat.Open(ctx, dir, d) },
						Keywords: func(ctx context.Context, dir string) (store.KeywordIndex, error) { return keyword.Open(ctx, dir) }},
					Embedder: e, Freshness: -1, EmbedTimeout: limit, Logger: slog.New(slog.DiscardHandler)})
				require.NoError(t, err)
				t.Cleanup(func() { m.Close() })
				return m
			}
			m := open(limit)
			report, err := m.Index(t.Context(), core.IndexOptions{})
			require.NoError(t, err)
			require.Equal(t, 1, report.Pending)
			require.NotEmpty(t, report.Degraded)
			require.NotContains(t, fmt.Sprint(report), key)
			began := time.Now()
			result, err := m.RetrieveRelevant(t.Context(), question, core.RetrieveOptions{MinSimilarity: -1})
			require.NoError(t, err)
			if took := time.Since(began); took > limit+slack {
				t.Errorf("a turn waited %v, want at most about %v", took, limit)
			}
			require.Len(t, result.Hits, 1)
			require.NotEmpty(t, result.Degraded)
			require.NoError(t, m.Check(t.Context()))

			well.Store(true)
			m = open(time.Minute)
			report, err = m.Index(t.Context(), core.IndexOptions{})
			require.NoError(t, err)
			require.Zero(t, report.Pending, report.Degraded)
			result, err = m.RetrieveRelevant(t.Context(), question, core.RetrieveOptions{MinSimilarity: -1})
			require.NoError(t, err)
			require.Empty(t, result.Degraded)
			require.NoError(t, m.Check(t.Context()))

			well.Store(false) // now the query's embedding is at fault
			m = open(limit)
			result, err = m.RetrieveRelevant(t.Context(), question+" really", core.RetrieveOptions{MinSimilarity: -1})
			require.NoError(t, err)
			require.Len(t, result.Hits, 1)
			require.NotEmpty(t, result.Degraded)
			require.Zero(t, followed.Load())
		})
	}
	t.Logf("embedder while indexing and asking: %d faults: keywords answer in time, no garbage is stored, healed with the server", len(faults))
}
