package rerank

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// serve makes a server with faults that real ones seldom have.
func serve(t *testing.T, handler http.HandlerFunc) Options {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return Options{BaseURL: server.URL + "/v1", Model: "some-model", Key: "s3cret"}
}

func TestEndpoint(t *testing.T) {
	var asked struct {
		Model, Query string
		Documents    []string
	}
	o := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		json.Unmarshal(body, &asked)
		if r.URL.Path != "/v1/rerank" || r.Header.Get("Authorization") != "Bearer s3cret" {
			w.WriteHeader(http.StatusTeapot)
		}
		fmt.Fprint(w, `{"model":"m","results":[{"index":1,"relevance_score":0.9},{"index":0,"relevance_score":0.25}]}`)
	})
	e, err := NewEndpoint(o)
	require.NoError(t, err)
	scores, err := e.Rerank(t.Context(), "why", []string{"a", "b"})
	require.NoError(t, err)
	require.Equal(t, []float64{0.25, 0.9}, scores)
	require.Equal(t, "why", asked.Query)
	require.Equal(t, []string{"a", "b"}, asked.Documents)
	require.NotContains(t, fmt.Sprintf("%+v %#v", e, e), "s3cret")
}

func TestParse(t *testing.T) {
	logistic := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	for _, tt := range []struct {
		answer string
		want   []float64
	}{
		{`{"results":[{"index":0,"relevance_score":-3},{"index":1,"relevance_score":0.5}]}`, []float64{logistic(-3), logistic(0.5)}},
		{`{"results":[{"index":0,"relevance_score":1}]}`, nil},
		{`{"results":[{"index":0,"relevance_score":1},{"index":0,"relevance_score":1}]}`, nil},
		{`{"results":[{"index":0,"relevance_score":1},{"index":2,"relevance_score":1}]}`, nil},
		{`{"results":[{"index":0,"relevance_score":1},{"relevance_score":1}]}`, nil},
		{`{"results":[{"index":0,"relevance_score":1},{"index":1}]}`, nil},
		{`[]`, nil}, {``, nil}, {`<html>`, nil},
	} {
		got, err := parse([]byte(tt.answer), 2)
		if tt.want == nil {
			require.ErrorIs(t, err, ErrAnswer, tt.answer)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, tt.want, got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"results":[{"index":1,"relevance_score":0.9},{"index":0,"relevance_score":-25}]}`, 2)
	f.Fuzz(func(t *testing.T, answer string, n int) {
		n = min(max(n, 0), 100)
		scores, err := parse([]byte(answer), n)
		if err != nil {
			return
		}
		require.Len(t, scores, n)
		for _, s := range scores {
			if !(s >= 0 && s <= 1) {
				t.Fatalf("score %v of %q", s, answer)
			}
		}
	})
}

func TestFaults(t *testing.T) {
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"refused": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no such model", http.StatusNotFound) }, "404 Not Found: no such model"},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusTemporaryRedirect)
		}, "307"},
		"repeats the key": {func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, `{"error":{"message":"who is `+r.Header.Get("Authorization")+`\u001b[2J?"}}`, http.StatusUnauthorized)
		}, "401 Unauthorized"},
		"no answer": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			o := serve(t, tt.handler)
			e, err := NewEndpoint(o)
			require.NoError(t, err)
			_, err = e.Rerank(t.Context(), "q", []string{"a"})
			require.ErrorContains(t, err, tt.want)
			require.ErrorContains(t, err, "some-model")
			require.NotContains(t, err.Error(), "s3cret")
			require.NotContains(t, err.Error(), "\x1b")
		})
	}
}

// Errors show a shortened answer, without the key and terminal sequences.
func TestErrorsAreFitToBeShown(t *testing.T) {
	o := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":{"message":"\u001b[2J bad key s3cret %s"}}`, strings.Repeat("<p>", 1000))
	})
	e, err := NewEndpoint(o)
	require.NoError(t, err)
	_, err = e.Rerank(t.Context(), "q", []string{"a"})
	require.ErrorContains(t, err, "bad key")
	require.NotContains(t, err.Error(), "s3cret")
	require.NotContains(t, err.Error(), "\x1b")
	require.Less(t, len(err.Error()), 600)
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []Options{{}, {BaseURL: "ftp://x/v1", Model: "m"}, {BaseURL: "http://x/v1"}, {BaseURL: "http://user:pa ss@/v1", Model: "m"}} {
		_, err := NewEndpoint(o)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "pa ss")
	}
}

func TestEndsWithContext(t *testing.T) {
	hang := make(chan struct{})
	o := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	})
	t.Cleanup(func() { close(hang) }) // before the server is closed, which waits
	e, err := NewEndpoint(o)
	require.NoError(t, err)
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer stop()
	_, err = e.Rerank(ctx, "q", []string{"a"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
