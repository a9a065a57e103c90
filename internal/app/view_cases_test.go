package app

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/memcore/memcore/core/journal"
	"github.com/memcore/memcore/inject/hook"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/inject/view"
	"github.com/memcore/memcore/internal/kind"
)

func TestCasesOfTheWorkspace(t *testing.T) {
	s := newTestService(t)
	const query = " which port? glpat-0123456789abcdefghij"
	got, err := s.Page().Case(t.Context(), query)
	require.NoError(t, err)
	require.Zero(t, got, "there is no file")
	c := view.Case{Query: query, Expect: []view.Expectation{{Path: filepath.Join(s.Project, "staging.md"), Text: "port\n 5433"}}}
	require.NoError(t, s.Page().AddCase(t.Context(), c))
	require.NoError(t, s.Page().AddCase(t.Context(), view.Case{Query: query, ExpectNot: []view.Expectation{{Path: "ferry.md"}}}))
	text, err := os.ReadFile(filepath.Join(s.Project, "memcore-eval.yaml"))
	require.NoError(t, err)
	require.NotContains(t, string(text), "glpat-", "secrets stay out")
	got, err = s.Page().Case(t.Context(), query)
	require.NoError(t, err)
	require.Equal(t, []view.Expectation{{Path: "staging.md", Text: "port 5433"}}, got.Expect, "as hits name it")
	require.Equal(t, []view.Expectation{{Path: "ferry.md"}}, got.ExpectNot)
	err = s.Page().AddCase(t.Context(), view.Case{Query: query, ExpectNothing: true})
	require.Equal(t, kind.BadInput, kind.Of(err), err)
}

func TestCasesShowNoSecrets(t *testing.T) {
	s := newTestService(t)
	const file = "cases:\n- query: mine\n  expect:\n  - text: glpat-0123456789abcdefghij\n  expect_not:\n  - heading: glpat-0123456789abcdefghij\n"
	require.NoError(t, os.WriteFile(filepath.Join(s.Project, "memcore-eval.yaml"), []byte(file), 0o600))
	got, err := s.Page().Case(t.Context(), "mine")
	require.NoError(t, err)
	require.Len(t, got.Expect, 1)
	require.NotContains(t, fmt.Sprint(got), "glpat-")
}

func TestCasesThatCannotBeRead(t *testing.T) {
	s := newTestService(t)
	file := filepath.Join(s.Project, "memcore-eval.yaml")
	const damaged = "cases:\n  - query: x\n    expects: y\n"
	require.NoError(t, os.WriteFile(file, []byte(damaged), 0o600))
	_, err := s.Page().Case(t.Context(), "x")
	require.ErrorContains(t, err, "line 3: unknown key")
	require.Equal(t, kind.Conflict, kind.Of(err))
	err = s.Page().AddCase(t.Context(), view.Case{Query: "x", ExpectNothing: true})
	require.Equal(t, kind.Conflict, kind.Of(err), err)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, damaged, string(text))
	for _, c := range []view.Case{{ExpectNothing: true}, {Query: "x"}, {Query: "x", Expect: []view.Expectation{{}}}} {
		require.NoError(t, os.WriteFile(file, nil, 0o600))
		err = s.Page().AddCase(t.Context(), c)
		require.Equal(t, kind.BadInput, kind.Of(err), err)
	}
}

// Clicks in several windows at once all count.
func TestCasesFromManyAtOnce(t *testing.T) {
	s := newTestService(t)
	var work errgroup.Group
	for i := range 6 {
		work.Go(func() error {
			return s.Page().AddCase(t.Context(), view.Case{Query: "which?", Expect: []view.Expectation{{Path: fmt.Sprintf("%d.md", i)}}})
		})
	}
	require.NoError(t, work.Wait())
	got, err := s.Page().Case(t.Context(), "which?")
	require.NoError(t, err)
	require.Len(t, got.Expect, 6)
}

func TestTurnsAreFound(t *testing.T) {
	s := newTestService(t)
	result, err := s.Retrieve(t.Context(), httpapi.RetrieveRequest{Query: "which port does the staging database listen on"})
	require.NoError(t, err)
	require.NotEmpty(t, result.Hits)
	hit := result.Hits[0]
	now := time.Now()
	ids := map[string]string{}
	for i, prompt := range []string{"how do I reach it?", "and the ferry?", ""} {
		e := hook.Event{Agent: []string{"codex", "claude-code"}[i%2], Session: "s", Kind: hook.Prompt, Prompt: prompt}.Entry(now.AddDate(0, 0, -i), true)
		if prompt != "" {
			e.Given = []journal.Given{{Kind: journal.Passage, Key: hit.ID, Source: hit.Source, Path: hit.Path}}
		}
		e.Took, e.Result = "1ms", journal.Trim(result.Result)
		ids[e.ID] = prompt
		require.NoError(t, s.at.Journal().Append(t.Context(), e))
	}
	for name, tt := range map[string]struct {
		r    view.TurnsRequest
		want []string
	}{
		"all, the latest first": {view.TurnsRequest{}, []string{"how do I reach it?", "and the ferry?", ""}},
		"words of the prompt":   {view.TurnsRequest{Find: "FERRY the"}, []string{"and the ferry?"}},
		"words of the passage":  {view.TurnsRequest{Find: "reach 5433"}, []string{"how do I reach it?"}},
		"one agent":             {view.TurnsRequest{Agent: "claude-code"}, []string{"and the ferry?"}},
		"another session":       {view.TurnsRequest{Session: "t"}, nil},
		"since":                 {view.TurnsRequest{Times: httpapi.Times{Since: "36h"}}, []string{"how do I reach it?", "and the ferry?"}},
		"until":                 {view.TurnsRequest{Times: httpapi.Times{Until: "36h"}}, []string{""}},
		"a few":                 {view.TurnsRequest{Limit: 1}, []string{"how do I reach it?"}},
	} {
		got, err := s.Page().Turns(t.Context(), tt.r)
		require.NoError(t, err, name)
		var prompts []string
		for _, turn := range got.Turns {
			prompts = append(prompts, turn.Prompt)
			require.Contains(t, ids, turn.ID)
			require.Len(t, turn.Result.Hits, len(result.Hits))
		}
		require.Equal(t, tt.want, prompts, name)
		require.Len(t, got.Sessions, 2, name)
		require.Equal(t, name == "a few", got.More == 2, name)
	}
	_, err = s.Page().Turns(t.Context(), view.TurnsRequest{Times: httpapi.Times{Since: "someday"}})
	require.Equal(t, kind.BadInput, kind.Of(err))
}
