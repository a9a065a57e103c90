package app

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/memcore/memcore/core/use"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/app/kind"
)

func TestCasesOfTheWorkspace(t *testing.T) {
	s := newTestService(t)
	file := filepath.Join(s.Project, "memcore-eval.yaml")
	got, err := s.Cases(t.Context(), httpapi.CasesRequest{})
	require.NoError(t, err)
	require.Equal(t, httpapi.Cases{File: file, Cases: []httpapi.Case{}}, got)

	r := httpapi.CaseRequest{Query: " which port? glpat-0123456789abcdefghij", Wish: "come", Path: filepath.Join(s.Project, "staging.md"), Text: "port\n 5433"}
	got, err = s.ChangeCase(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, []httpapi.Expectation{{Path: "staging.md", Text: "port 5433"}}, got.Cases[0].Expect, "as hits name it")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NotContains(t, string(text), "glpat-", "secrets stay out")
	again, err := s.Cases(t.Context(), httpapi.CasesRequest{Query: r.Query})
	require.NoError(t, err)
	require.Equal(t, got, again, "the same question finds it")

	_, err = s.ChangeCase(t.Context(), httpapi.CaseRequest{Query: r.Query, Wish: "nothing"})
	require.Equal(t, kind.BadInput, kind.Of(err), err)
	r.Undo = true
	got, err = s.ChangeCase(t.Context(), r)
	require.NoError(t, err)
	require.Empty(t, got.Cases)
	got, err = s.ChangeCase(t.Context(), httpapi.CaseRequest{Query: r.Query, Wish: "nothing"})
	require.NoError(t, err)
	require.True(t, got.Cases[0].ExpectNothing)
	got, err = s.ChangeCase(t.Context(), httpapi.CaseRequest{Query: r.Query, Wish: "nothing", Undo: true})
	require.NoError(t, err)
	require.Empty(t, got.Cases)
}

func TestCasesShowNoSecrets(t *testing.T) {
	s := newTestService(t)
	const file = "cases:\n- query: is glpat-0123456789abcdefghij mine\n  expect:\n  - text: glpat-0123456789abcdefghij\n  expect_not:\n  - heading: glpat-0123456789abcdefghij\n"
	require.NoError(t, os.WriteFile(filepath.Join(s.Project, "memcore-eval.yaml"), []byte(file), 0o600))
	got, err := s.Cases(t.Context(), httpapi.CasesRequest{})
	require.NoError(t, err)
	require.Len(t, got.Cases, 1)
	require.NotContains(t, fmt.Sprint(got), "glpat-")
}

func TestCasesThatCannotBeRead(t *testing.T) {
	s := newTestService(t)
	file := filepath.Join(s.Project, "memcore-eval.yaml")
	const damaged = "cases:\n  - query: x\n    expects: y\n"
	require.NoError(t, os.WriteFile(file, []byte(damaged), 0o600))
	_, err := s.Cases(t.Context(), httpapi.CasesRequest{})
	require.ErrorContains(t, err, "memcore-eval.yaml: line 3: unknown key")
	require.Equal(t, kind.Conflict, kind.Of(err))
	_, err = s.ChangeCase(t.Context(), httpapi.CaseRequest{Query: "x", Wish: "nothing"})
	require.Equal(t, kind.Conflict, kind.Of(err), err)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, damaged, string(text))
	for _, r := range []httpapi.CaseRequest{{Wish: "nothing"}, {Query: "x", Wish: "come"}, {Query: "x", Wish: "else", Path: "a.md"}} {
		require.NoError(t, os.WriteFile(file, nil, 0o600))
		_, err = s.ChangeCase(t.Context(), r)
		require.Equal(t, kind.BadInput, kind.Of(err), err)
	}
}

// Clicks in several windows at once all count.
func TestCasesFromManyAtOnce(t *testing.T) {
	s := newTestService(t)
	var work errgroup.Group
	for i := range 6 {
		work.Go(func() error {
			_, err := s.ChangeCase(t.Context(), httpapi.CaseRequest{Query: fmt.Sprintf("question %d", i), Wish: "come", Path: "a.md"})
			return err
		})
	}
	require.NoError(t, work.Wait())
	got, err := s.Cases(t.Context(), httpapi.CasesRequest{})
	require.NoError(t, err)
	require.Len(t, got.Cases, 6)
}

func TestTurnsAreFound(t *testing.T) {
	s := newTestService(t)
	result, err := s.Retrieve(t.Context(), httpapi.RetrieveRequest{Query: "which port does the staging database listen on"})
	require.NoError(t, err)
	require.NotEmpty(t, result.Hits)
	hit := use.Hit{ID: result.Hits[0].ID, Source: result.Hits[0].Source, Path: result.Hits[0].Path}
	now := time.Now()
	log := use.NewLog(s.at.Use())
	ids := map[string]string{}
	for i, prompt := range []string{"how do I reach it?", "and the ferry?", ""} {
		turn := use.NewTurn(now.AddDate(0, 0, -i), []string{"codex", "claude-code"}[i%2], "s", prompt, true, []use.Hit{hit}[:min(1, len(prompt))])
		ids[turn.ID] = prompt
		require.NoError(t, log.Note(t.Context(), turn))
	}
	for name, tt := range map[string]struct {
		r    httpapi.TurnsRequest
		want []string
	}{
		"all, the latest first": {httpapi.TurnsRequest{}, []string{"how do I reach it?", "and the ferry?", ""}},
		"words of the prompt":   {httpapi.TurnsRequest{Find: "FERRY the"}, []string{"and the ferry?"}},
		"words of the passage":  {httpapi.TurnsRequest{Find: "reach 5433"}, []string{"how do I reach it?"}},
		"one agent":             {httpapi.TurnsRequest{Agent: "claude-code"}, []string{"and the ferry?"}},
		"another session":       {httpapi.TurnsRequest{Session: "t"}, nil},
		"since":                 {httpapi.TurnsRequest{Times: httpapi.Times{Since: "36h"}}, []string{"how do I reach it?", "and the ferry?"}},
		"until":                 {httpapi.TurnsRequest{Times: httpapi.Times{Until: "36h"}}, []string{""}},
		"a few":                 {httpapi.TurnsRequest{Limit: 1}, []string{"how do I reach it?"}},
	} {
		got, err := s.Turns(t.Context(), tt.r)
		require.NoError(t, err, name)
		var prompts []string
		for _, turn := range got.Turns {
			prompts = append(prompts, turn.Prompt)
			require.Contains(t, ids, turn.ID)
		}
		require.Equal(t, tt.want, prompts, name)
		require.Len(t, got.Sessions, 2, name)
		require.Equal(t, name == "a few", got.More == 2, name)
	}
	_, err = s.Turns(t.Context(), httpapi.TurnsRequest{Times: httpapi.Times{Since: "someday"}})
	require.Equal(t, kind.BadInput, kind.Of(err))
}
