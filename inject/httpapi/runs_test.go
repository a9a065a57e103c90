package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/eval"
	"github.com/memcore/memcore/eval/runs"
	"github.com/memcore/memcore/internal/app/kind"
)

func (f *fakeWorkspace) Runs(context.Context) (Runs, error) {
	return Runs{Runs: []runs.Run{{ID: "one", All: eval.Result{Scores: map[string]float64{"mrr": 1}, Intervals: map[string]eval.Interval{"mrr": {1, 1}}}}}, File: "memcore-eval.yaml", Running: &Running{Total: 3}}, nil
}
func (f *fakeWorkspace) Run(_ context.Context, r RunRequest) (Run, error) {
	if r.ID != "one" {
		return Run{}, kind.As(kind.NotFound, runs.ErrNoRun)
	}
	return Run{Run: runs.Run{ID: "one"}, Report: eval.Report{Queries: []eval.Asked{{Text: "Where?"}}}}, nil
}
func (f *fakeWorkspace) CompareRuns(context.Context, CompareRequest) (runs.Comparison, error) {
	return runs.Comparison{}, nil
}
func (f *fakeWorkspace) Evaluate(context.Context) (Running, error) {
	return Running{}, kind.As(kind.Conflict, errors.New("it runs already"))
}

// Runs of a folder match the schemas, also at its limits.
func TestRunsMatchTheirSchemas(t *testing.T) {
	folder := runs.Folder(filepath.Join(t.TempDir(), "runs"))
	none, err := folder.List()
	require.NoError(t, err)
	matches(t, Runs{Runs: none})
	quiet := eval.Tally([]int{10}, "expectation", []eval.Asked{{Text: "ok", Found: []string{}}})
	busy := eval.Tally([]int{10}, "expectation", []eval.Asked{{Text: "where", Answerable: true, Relevant: map[string]int{"a": 1}, Found: []string{"a"}, FoundScores: []float64{1}, Candidates: []string{"a"}, Injected: []string{"a"}}})
	var ids []string
	for i, report := range []eval.Report{quiet, busy, busy} {
		run, err := folder.Add(time.Unix(int64(i), 0), "", "", report)
		require.NoError(t, err)
		ids = append(ids, run.ID)
		_, kept, err := folder.Get(run.ID)
		require.NoError(t, err)
		matches(t, Run{Run: run, Report: kept})
	}
	for _, before := range ids {
		c, err := folder.Compare(before, ids[2])
		require.NoError(t, err)
		matches(t, c)
	}
	all, err := folder.List()
	require.NoError(t, err)
	matches(t, Runs{Runs: all, Running: &Running{}})
}

func matches[T any](t *testing.T, value T) {
	t.Helper()
	schema, err := schemaOf[T]().Resolve(nil)
	require.NoError(t, err)
	data, err := json.Marshal(value)
	require.NoError(t, err)
	var instance any
	require.NoError(t, json.Unmarshal(data, &instance))
	require.NoError(t, schema.Validate(instance), string(data))
}

// Runs are read by all clients. Only the person at this machine starts one.
func TestRunsAreReadAndStartedByThePerson(t *testing.T) {
	h := newServer(t, Options{})
	ask := func(handler http.Handler, path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), "POST", path, bytes.NewBufferString(body))
		r.Host = "localhost"
		r.Header.Set("Authorization", "Bearer secret")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	for _, tt := range []struct {
		path, body    string
		local, remote int
		has           string
	}{
		{"/v1/runs", `{"workspace":"/a"}`, 200, 200, `"total":3`},
		{"/v1/run", `{"workspace":"/a","id":"one"}`, 200, 200, "Where?"},
		{"/v1/run", `{"workspace":"/a","id":"../one"}`, 404, 404, "no such run"},
		{"/v1/run", `{"workspace":"/a"}`, 400, 400, "id"},
		{"/v1/runs/compare", `{"workspace":"/a","before":"one","after":"one"}`, 200, 200, `"missing"`},
		{"/v1/eval", `{"workspace":"/a"}`, 409, 403, ""},
	} {
		w := ask(h.Handler(), tt.path, tt.body)
		require.Equal(t, tt.local, w.Code, "%s: %s", tt.path, w.Body)
		require.True(t, strings.Contains(w.Body.String(), tt.has), w.Body.String())
		require.Equal(t, tt.remote, ask(h.Remote("secret"), tt.path, tt.body).Code, tt.path)
	}
}
