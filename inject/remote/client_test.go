package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/inject/httpapi"
)

const key = "mk-acme-0123456789"

// serve makes a server with faults that real ones seldom have, and a client of it.
func serve(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c, err := New(server.URL+"/v1/tenants/acme/", key, Options{RetryFor: 5 * time.Second})
	require.NoError(t, err)
	return c
}

func TestNew(t *testing.T) {
	for _, tt := range []struct {
		address, key, problem string
		o                     Options
	}{
		{"https://memory.example/v1/tenants/acme", key, "", Options{}},
		{"http://localhost:8080/v1/tenants/acme", key, "", Options{}},
		{"http://127.0.0.1/v1/tenants/acme", key, "", Options{}},
		{"http://[::1]:80/v1/tenants/acme", key, "", Options{}},
		{"http://memory.example/v1/tenants/acme", key, "", Options{AllowHTTP: true}},
		{"http://memory.example/v1/tenants/acme", key, "without encryption", Options{}},
		{"http://localhost.example/v1/tenants/acme", key, "without encryption", Options{}},
		{"memory.example/v1/tenants/acme", key, "not of the form", Options{}},
		{"ftp://memory.example/v1", key, "not of the form", Options{}},
		{"https://memory.example/v1?tenant=acme", key, "not of the form", Options{}},
		{"https://ann:secret@memory.example/v1", key, "user or password", Options{}},
		{"https://memory.example/v1", "", "key", Options{}},
		{"https://memory.example/v1", "two words", "key", Options{}},
		{"https://memory.example/v1", "a\nb", "key", Options{}},
	} {
		_, err := New(tt.address, tt.key, tt.o)
		if tt.problem == "" {
			require.NoError(t, err, tt.address)
			continue
		}
		require.ErrorContains(t, err, tt.problem, tt.address)
		require.NotContains(t, err.Error(), "secret")
	}
}

// Each call sends what the service expects.
func TestCalls(t *testing.T) {
	ctx := t.Context()
	for _, tt := range []struct {
		name, method, path, body string // as sent
		answer                   string
		call                     func(*Client) (any, error)
		want                     string // as JSON
	}{
		{"whoami", "GET", "/whoami", "", `{"tenant":"acme","user":"ann","rights":["read"]}`,
			func(c *Client) (any, error) { return c.Whoami(ctx) }, `{"tenant":"acme","user":"ann","rights":["read"]}`},
		{"retrieve", "POST", "/retrieve", `{"query":"a <b>","limit":3}`, `{"hits":[],"state":"ready","threshold":0.5,"block":"text"}`,
			func(c *Client) (any, error) { return c.Retrieve(ctx, RetrieveRequest{Query: "a <b>", Limit: 3}) },
			`{"hits":[],"state":"ready","threshold":0.5,"block":"text"}`},
		{"search", "POST", "/search", `{"query":"x","since":"7d"}`, `{"hits":[],"state":"ready","threshold":0}`,
			func(c *Client) (any, error) { return c.Search(ctx, SearchRequest{Query: "x", Since: "7d"}) }, `{"hits":[],"state":"ready","threshold":0}`},
		{"context", "POST", "/context", `{}`, `{"text":"rules"}`, func(c *Client) (any, error) { return c.Context(ctx) }, `"rules"`},
		{"save", "POST", "/save", `{"arguments":{"content":"c","target":"project"}}`, `{"text":"saved","data":{"success":true}}`,
			func(c *Client) (any, error) { return c.Save(ctx, SaveRequest{Content: "c", Target: "project"}) }, `{"text":"saved","data":{"success":true}}`},
		{"put", "PUT", "/documents/run%20books/a.md", "# A", `{"path":"run books/a.md","version":7}`,
			func(c *Client) (any, error) { return c.Put(ctx, "run books/a.md", []byte("# A"), Condition{}) }, `{"path":"run books/a.md","version":7}`},
		{"get", "GET", "/documents/a.md", "", "# A",
			func(c *Client) (any, error) { return c.Get(ctx, "a.md") }, `{"Text":"IyBB","Version":12}`},
		{"delete", "DELETE", "/documents/a.md", "", `{"path":"a.md","version":8}`,
			func(c *Client) (any, error) { return c.Delete(ctx, "a.md") }, `{"path":"a.md","version":8}`},
		{"delete without an answer", "DELETE", "/documents/a.md", "", "",
			func(c *Client) (any, error) { return c.Delete(ctx, "a.md") }, `{"path":"","version":0}`},
		{"documents", "GET", "/documents", "", `{"documents":[{"path":"a.md","version":7,"bytes":3,"by":"ann","at":"2026-11-25T10:00:00Z"}],"version":9}`,
			func(c *Client) (any, error) { return c.Documents(ctx) },
			`{"documents":[{"path":"a.md","version":7,"bytes":3,"by":"ann","at":"2026-11-25T10:00:00Z"}],"version":9}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if r.Header.Get("Authorization") != "Bearer "+key || r.Header.Get("Idempotency-Key") != "" {
					t.Errorf("headers %v", r.Header)
				}
				if got := r.Method + " " + r.URL.EscapedPath() + " " + strings.TrimSpace(string(body)); got != tt.method+" /v1/tenants/acme"+tt.path+" "+tt.body {
					t.Errorf("sent %s", got)
				}
				w.Header().Set("ETag", `"12"`)
				io.WriteString(w, tt.answer)
			})
			got, err := tt.call(c)
			require.NoError(t, err)
			text, err := json.Marshal(got)
			require.NoError(t, err)
			require.JSONEq(t, tt.want, string(text))
		})
	}
}

// Requests have the fields of the daemon's, but no workspace.
func TestRequestsAreTheDaemons(t *testing.T) {
	for _, tt := range []struct{ theirs, ours any }{
		{httpapi.RetrieveRequest{}, RetrieveRequest{}},
		{httpapi.SearchRequest{}, SearchRequest{}},
	} {
		var names func(reflect.Type) []string
		names = func(of reflect.Type) (all []string) {
			for i := range of.NumField() {
				if f := of.Field(i); f.Anonymous {
					all = append(all, names(f.Type)...)
				} else if tag := f.Tag.Get("json"); tag != "workspace" {
					all = append(all, tag)
				}
			}
			return all
		}
		require.ElementsMatch(t, names(reflect.TypeOf(tt.theirs)), names(reflect.TypeOf(tt.ours)))
	}
}

func TestHeaders(t *testing.T) {
	var got []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, fmt.Sprintf("%s %s|%s|%s", r.Method, r.Header.Get("Memcore-At-Least"), r.Header.Get("If-Match"), r.Header.Get("If-None-Match")))
		io.WriteString(w, `{"tenant":"acme"}`)
	})
	later := c.AtLeast(9).AtLeast(3)
	for _, call := range []func() error{
		func() error { _, err := c.Whoami(t.Context()); return err },
		func() error { _, err := later.Get(t.Context(), "a.md"); return err },
		func() error { _, err := later.Put(t.Context(), "a.md", nil, Condition{IfVersion: 4}); return err },
		func() error { _, err := c.Put(t.Context(), "a.md", nil, Condition{IfNew: true}); return err },
	} {
		require.NoError(t, call())
	}
	require.Equal(t, []string{"GET ||", "GET 9||", `PUT |"4"|`, "PUT ||*"}, got)
}

func TestPaths(t *testing.T) {
	c, err := New("https://memory.example/v1", key, Options{})
	require.NoError(t, err)
	for _, path := range []string{"", ".", "/a.md", "../a.md", "a/../b.md", "a//b.md", "a/"} {
		_, err := c.Get(t.Context(), path)
		require.ErrorIs(t, err, errPath, path)
		_, err = c.Put(t.Context(), path, nil, Condition{})
		require.ErrorIs(t, err, errPath, path)
		_, err = c.Delete(t.Context(), path)
		require.ErrorIs(t, err, errPath, path)
	}
}

// What may be repeated is, and nothing else.
func TestRetries(t *testing.T) {
	status := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
	}
	hangUp := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	cut := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		io.WriteString(w, `{"tenant":`)
	}
	whoami := func(c *Client) error { _, err := c.Whoami(context.Background()); return err }
	search := func(c *Client) error {
		_, err := c.Search(context.Background(), SearchRequest{Query: "x"})
		return err
	}
	put := func(o Condition) func(c *Client) error {
		return func(c *Client) error { _, err := c.Put(context.Background(), "a.md", []byte("x"), o); return err }
	}
	remove := func(c *Client) error { _, err := c.Delete(context.Background(), "a.md"); return err }
	save := func(c *Client) error {
		_, err := c.Save(context.Background(), SaveRequest{Content: "x"})
		return err
	}
	for _, tt := range []struct {
		name  string
		first http.HandlerFunc // the answer to the first try
		call  func(*Client) error
		tries int64
		fails bool
	}{
		{"read, 429", status(429), whoami, 2, false},
		{"read, 502", status(502), search, 2, false},
		{"read, 503", status(503), whoami, 2, false},
		{"read, 504", status(504), search, 2, false},
		{"read, 500", status(500), whoami, 1, true},
		{"read, 401", status(401), whoami, 1, true},
		{"read, hung up", hangUp, search, 2, false},
		{"read, cut off", cut, whoami, 2, false},
		{"put, 503", status(503), put(Condition{}), 2, false},
		{"put, hung up", hangUp, put(Condition{}), 2, false},
		{"put with a condition, 503", status(503), put(Condition{IfVersion: 1}), 2, false},
		{"put with a condition, 504", status(504), put(Condition{IfVersion: 1}), 1, true},
		{"put with a condition, hung up", hangUp, put(Condition{IfNew: true}), 1, true},
		{"delete, 502", status(502), remove, 2, false},
		{"save, 503", status(503), save, 1, true},
		{"save, hung up", hangUp, save, 1, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var tries atomic.Int64
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if tries.Add(1) == 1 {
					tt.first(w, r)
					return
				}
				io.WriteString(w, `{"tenant":"acme","hits":[]}`)
			})
			err := tt.call(c)
			require.Equal(t, tt.fails, err != nil, "%v", err)
			require.Equal(t, tt.tries, tries.Load())
		})
	}
}

func TestTriesAreBounded(t *testing.T) {
	var tries atomic.Int64
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		tries.Add(1)
		w.WriteHeader(http.StatusBadGateway)
	})
	_, err := c.Whoami(t.Context())
	var status *Error
	require.ErrorAs(t, err, &status)
	require.Equal(t, 502, status.Status)
	require.EqualValues(t, defaultTries, tries.Load())
}

func TestRetryAfter(t *testing.T) {
	var tries atomic.Int64
	wait := "1"
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if tries.Add(1) == 1 {
			w.Header().Set("Retry-After", wait)
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		io.WriteString(w, `{"tenant":"acme"}`)
	})
	began := time.Now()
	_, err := c.Whoami(t.Context())
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(began), time.Second)

	// A wait that is longer than there is time fails at once.
	for _, ofCaller := range []bool{false, true} {
		ctx := t.Context()
		wait = "60"
		if ofCaller {
			var stop context.CancelFunc
			ctx, stop = context.WithTimeout(ctx, 2*time.Second)
			defer stop()
			wait = "3"
		}
		tries.Store(0)
		began = time.Now()
		_, err = c.Whoami(ctx)
		var status *Error
		require.ErrorAs(t, err, &status)
		require.Equal(t, wait+"s", strings.Replace(status.RetryAfter.String(), "1m0s", "60s", 1))
		require.Less(t, time.Since(began), time.Second)
	}
}

func TestDeleteTwiceIsNoError(t *testing.T) {
	var tries atomic.Int64
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if tries.Add(1) == 1 { // it deletes, and the answer is lost
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusNotFound)
	})
	_, err := c.Delete(t.Context(), "a.md")
	require.NoError(t, err)
	_, err = c.Delete(t.Context(), "a.md")
	require.ErrorContains(t, err, "404")
}

func TestContextEnds(t *testing.T) {
	c := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the server does not see that the client has gone
		<-r.Context().Done()
	})
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	began := time.Now()
	_, err := c.Retrieve(ctx, RetrieveRequest{Query: "x"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(began), 2*time.Second)
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the other host was asked") }))
	defer elsewhere.Close()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	})
	_, err := c.Search(t.Context(), SearchRequest{Query: "x"})
	require.ErrorContains(t, err, "redirects are not followed")
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       string
	}{
		{"of the service", `{"error":{"status":403,"message":"the key may not write"}}`, "answered 403 Forbidden: the key may not write"},
		{"with the key", `{"error":{"status":403,"message":"unknown: ` + key + `"}}`, "answered 403 Forbidden: unknown: [key]"},
		{"with control characters", `{"error":{"message":"a\u001b[31m\nb"}}`, "Forbidden: a"},
		{"of a proxy", "<html>no</html>", "answered 403 Forbidden"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusForbidden)
				io.WriteString(w, tt.body)
			})
			_, err := c.Whoami(t.Context())
			require.ErrorContains(t, err, tt.want)
			require.NotContains(t, err.Error(), key)
			require.NotContains(t, err.Error(), "\x1b")
			require.Equal(t, err.Error(), strings.Join(strings.Fields(err.Error()), " "))
			require.NotContains(t, fmt.Sprintf("%+v %#v", c, c), key)
			require.True(t, errors.As(err, new(*Error)))
		})
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	for name, answer := range map[string]string{"no JSON": "<html>", "no tenant": "{}", "another type": `{"tenant":1}`} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, answer) })
		_, err := c.Whoami(t.Context())
		require.ErrorContains(t, err, "its answer", name)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func (endless) Close() error { return nil }

func (endless) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: endless{}}, nil
}

func TestAnswersAreBounded(t *testing.T) {
	c, err := New("https://memory.example/v1", key, Options{Transport: endless{}})
	require.NoError(t, err)
	_, err = c.Get(t.Context(), "a.md")
	require.ErrorContains(t, err, "longer than 64 MB")
}

func TestRemote(t *testing.T) {
	var sent map[string]any
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		sent = nil
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			t.Error(err)
		}
		sent["at"] = r.URL.Path
		io.WriteString(w, `{"hits":[{"id":"1","text":"t","score":0.5,"path":"a.md"}],"state":"ready","block":"b"}`)
	})
	now := time.Date(2026, 11, 25, 10, 0, 0, 0, time.FixedZone("", 3600))
	found, err := Remote{c}.Retrieve(t.Context(), "why", core.RetrieveOptions{Scope: core.ScopeGlobal, MinSimilarity: -1, TokenBudget: -1, Since: now.Add(-time.Hour), Now: now, Not: []string{"x"}})
	require.NoError(t, err)
	require.Len(t, found.Hits, 1)
	require.Equal(t, map[string]any{"at": "/v1/tenants/acme/retrieve", "query": "why", "scope": "global", "tokenBudget": -1.0, "since": "2026-11-25T09:00:00+01:00", "now": "2026-11-25T10:00:00+01:00"}, sent)
	found, err = Remote{c}.Search(t.Context(), "why", core.SearchOptions{Path: "runbooks", Limit: 3, Now: now})
	require.NoError(t, err)
	require.Len(t, found.Hits, 1)
	require.Equal(t, map[string]any{"at": "/v1/tenants/acme/search", "query": "why", "path": "runbooks", "limit": 3.0, "now": "2026-11-25T10:00:00+01:00"}, sent)
}
