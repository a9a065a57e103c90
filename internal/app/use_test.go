package app

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/journal"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/inject/hook"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/inject/view"
)

// What a deleted statement says goes from the journal, also where prompts say it.
func TestForgetStatement(t *testing.T) {
	s := newTestService(t)
	prompt := func(text string) string {
		data, err := json.Marshal(map[string]string{"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": text})
		require.NoError(t, err)
		answer, err := s.Hook(t.Context(), httpapi.HookRequest{Agent: agents.ClaudeCode, Event: data})
		require.NoError(t, err)
		require.NotEmpty(t, answer.Reply, text)
		return answer.Entry
	}
	find := func(id string) journal.Entry {
		entries, err := s.Use().Entries()
		require.NoError(t, err)
		i := slices.IndexFunc(entries, func(e journal.Entry) bool { return e.ID == id })
		require.GreaterOrEqual(t, i, 0)
		return entries[i]
	}
	staging, ferry := prompt("where does the staging database listen?"), prompt("from which pier does the ferry leave?")
	require.NotEmpty(t, find(staging).Passages())
	require.NoError(t, s.Use().ForgetStatement(t.Context(), notes.Statement{Dir: s.Project, Name: "staging.md"}, notes.Change{}))
	require.Empty(t, find(staging).Passages())
	require.NoError(t, s.Use().ForgetStatement(t.Context(), notes.Statement{Dir: s.Project, Name: "other.md"}, notes.Change{Diff: "--- other.md\n+++ other.md\n-- Which pier\tdoes the Ferry\n"}))
	require.Empty(t, find(ferry).Prompt, "it says what was forgotten")
}

// Forgetting lines removes the passages that cite them, and all candidates of their document, whose
// lines may have moved.
func TestForgetTakesOnlyWhatHasTheText(t *testing.T) {
	c := newCorrector(t)
	hit := func(first, last int, text string) core.MemoryHit {
		return core.MemoryHit{ID: text, Path: "harbour.md", Source: fmt.Sprintf("harbour.md#L%d-L%d", first, last), StartLine: first, EndLine: last, Text: text}
	}
	results := map[string]core.Result{
		"about it": {Hits: []core.MemoryHit{hit(5, 9, "Ada is on call.")}}, "beside it": {Hits: []core.MemoryHit{hit(1, 3, "The ferry")}},
		"a poem": {Rejected: []core.MemoryHit{hit(5, 9, "- Ada is on call."), hit(1, 3, "The ferry")}},
	}
	for prompt, result := range results {
		e := hook.Event{Agent: "codex", Kind: hook.Prompt, Session: prompt, Prompt: prompt}.Entry(time.Now(), true)
		e.Took, e.Result = "1ms", journal.Trim(result)
		for _, h := range result.Hits {
			e.Given = append(e.Given, journal.Given{Kind: journal.Passage, Key: h.ID, Path: h.Path, Source: h.Source})
		}
		require.NoError(t, c.at.Journal().Append(t.Context(), e))
	}
	c.make(view.ChangeRequest{How: view.ForgetLines, Path: "harbour.md", First: 9, Last: 9})
	entries, err := c.at.Journal().Entries()
	require.NoError(t, err)
	require.Len(t, entries, 3)
	for _, e := range entries {
		require.Equal(t, e.Prompt == "beside it", len(e.Passages()) == 1, e.Prompt)
		require.NoError(t, c.at.Journal().Explain(&e))
		require.Empty(t, append(e.Result.Hits, e.Result.Rejected...))
	}
}
