package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/use"
	"github.com/memcore/memcore/eval"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/app/kind"
)

// watched watches a service until the test, or stop, ends.
func watched(t *testing.T, s *Service) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Watch(ctx, func(core.IndexReport, error) {}, func(error) {})
	}()
	stop = func() { cancel(); <-ended }
	t.Cleanup(stop)
	return stop
}

func writeCases(t *testing.T, s *Service, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(OwnCases(s.Workspace), []byte(text), 0o600))
}

const twoCases = "cases:\n- query: Which port does the staging database use?\n  expect: staging.md\n- query: who won the chess world championship in 1972\n  expect_nothing: true\n"

// finished waits until nothing runs.
func finished(t *testing.T, s *Service) (r httpapi.Runs) {
	t.Helper()
	require.Eventually(t, func() bool {
		var err error
		r, err = s.Runs(t.Context())
		require.NoError(t, err)
		return r.Running == nil
	}, 30*time.Second, 5*time.Millisecond)
	return r
}

func TestCasesAreMeasuredInTheBackground(t *testing.T) {
	s := newTestService(t)
	s.Version = "v1"
	r, err := s.Runs(t.Context())
	require.NoError(t, err)
	require.Equal(t, httpapi.Runs{Runs: r.Runs, File: eval.CasesFile}, r)
	require.NotNil(t, r.Runs, "an empty list, not null")
	_, err = s.Evaluate(t.Context())
	require.Equal(t, kind.BadInput, kind.Of(err))
	require.ErrorContains(t, err, "memcore eval init")

	writeCases(t, s, twoCases)
	started, err := s.Evaluate(t.Context()) // nothing works on it before Watch
	require.NoError(t, err)
	require.Equal(t, 2, started.Total)
	_, err = s.Evaluate(t.Context())
	require.Equal(t, kind.Conflict, kind.Of(err), "one at a time")
	watched(t, s)
	r = finished(t, s)
	require.Len(t, r.Runs, 1)
	require.Empty(t, r.Failed)
	require.Equal(t, 2, r.Cases)
	require.Equal(t, "v1", r.Runs[0].Version)
	require.NotEmpty(t, r.Runs[0].Embedder)

	run, err := s.Run(t.Context(), httpapi.RunRequest{ID: r.Runs[0].ID})
	require.NoError(t, err)
	require.Equal(t, []string{"expected: staging.md"}, run.Report.Queries[0].Injected)
	_, err = s.Run(t.Context(), httpapi.RunRequest{ID: "none"})
	require.Equal(t, kind.NotFound, kind.Of(err))

	_, err = s.Evaluate(t.Context())
	require.NoError(t, err)
	r = finished(t, s)
	require.Len(t, r.Runs, 2)
	c, err := s.CompareRuns(t.Context(), httpapi.CompareRequest{Before: r.Runs[1].ID, After: r.Runs[0].ID})
	require.NoError(t, err)
	require.Equal(t, 1, c.Queries)

	// Runs do not show forgotten texts.
	require.NoError(t, s.Use().Forget(t.Context(), use.Place{Path: "staging.md"}, "chess world"))
	run, err = s.Run(t.Context(), httpapi.RunRequest{ID: r.Runs[0].ID})
	require.NoError(t, err)
	require.Empty(t, run.Report.Queries)
}

func TestCasesThatCannotBeReadAreNamed(t *testing.T) {
	s := newTestService(t)
	writeCases(t, s, "cases:\n- question: x\n")
	r, err := s.Runs(t.Context())
	require.NoError(t, err)
	require.Contains(t, r.Problem, "line 2")
	_, err = s.Evaluate(t.Context())
	require.Equal(t, kind.BadInput, kind.Of(err))
	writeCases(t, s, "cases:\n"+strings.Repeat("- {query: x, expect_nothing: true}\n", mostCases+1))
	_, err = s.Evaluate(t.Context())
	require.ErrorContains(t, err, "memcore eval run --data")
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("swordfish"), 0o600))
	require.NoError(t, os.Remove(OwnCases(s.Workspace)))
	require.NoError(t, os.Symlink(secret, OwnCases(s.Workspace)))
	r, err = s.Runs(t.Context())
	require.NoError(t, err)
	require.Contains(t, r.Problem, "symbolic link")
	require.NotContains(t, r.Problem, "swordfish", "a project shows no file from elsewhere")
}

// The end of the daemon ends a run, of which nothing is kept.
func TestARunEndsWithTheDaemon(t *testing.T) {
	s := newTestService(t)
	var many strings.Builder
	many.WriteString("cases:\n")
	for i := range mostCases {
		fmt.Fprintf(&many, "- {query: 'question %d about the staging database', expect: staging.md}\n", i)
	}
	writeCases(t, s, many.String())
	stop := watched(t, s)
	_, err := s.Evaluate(t.Context())
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		r, err := s.Runs(t.Context())
		return err == nil && r.Running != nil && r.Running.Done > 0
	}, 30*time.Second, time.Millisecond)
	stop()
	r, err := s.Runs(t.Context())
	require.NoError(t, err)
	require.Nil(t, r.Running)
	require.Empty(t, r.Runs)
	_, err = s.Evaluate(t.Context())
	require.Equal(t, kind.Unavailable, kind.Of(err))
}

func TestOwnCases(t *testing.T) {
	s := openTestService(t, map[string]string{"a.md": "# A\n"})
	require.False(t, IsOwnCases(s.Workspace, OwnCases(s.Workspace)), "missing")
	writeCases(t, s, twoCases)
	require.True(t, IsOwnCases(s.Workspace, OwnCases(s.Workspace)))
	other := filepath.Join(t.TempDir(), eval.CasesFile)
	require.NoError(t, os.WriteFile(other, []byte(twoCases), 0o600))
	require.False(t, IsOwnCases(s.Workspace, other), "of another folder")
}
