package search_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/tools"
	"github.com/memcore/memcore/inject/search"
)

// A memory knows one thing, and what it was asked for.
type memory struct{ asked core.RetrieveOptions }

func (m *memory) Threshold() float64 { return 0.4 }

func (m *memory) RetrieveRelevant(_ context.Context, request string, o core.RetrieveOptions) (core.Result, error) {
	if m.asked = o; request == "broken" {
		return core.Result{}, errors.New("no luck")
	}
	return core.Result{State: core.StateReady, Hits: []core.MemoryHit{{Text: "The port is 5433.", Source: "staging.md#L3"}}}, nil
}

func TestTool(t *testing.T) {
	m := &memory{}
	tool := search.Tool(m, core.RetrieveOptions{Scope: core.ScopeProject, Kind: "markdown"})
	require.Equal(t, "8", string(tool.Schema.Properties["limit"].Default))
	require.Equal(t, []any{"project", "global"}, tool.Schema.Properties["scope"].Enum)
	for arguments, want := range map[string]core.RetrieveOptions{
		`{"query": "port"}`: {Scope: "project", Limit: 8},
		`{"query": "port", "scope": "global", "limit": 2}`: {Scope: "global", Limit: 2},
		`{"query": "port", "limit": -1}`:                   {Scope: "project", Limit: 8},
	} {
		answer, err := tool.Call(t.Context(), []byte(arguments))
		require.NoError(t, err)
		require.Equal(t, "Found 1 relevant memory:\n\n• (source: staging.md#L3)\n> The port is 5433.", answer.Text)
		want.Kind, want.TokenBudget, want.MinSimilarity = "markdown", -1, 0.2
		require.Equal(t, want, m.asked, arguments)
	}
	_, err := tool.Call(t.Context(), []byte(`{"query": " "}`))
	require.ErrorIs(t, err, tools.ErrArguments)
	_, err = tool.Call(t.Context(), []byte(`{"query": "broken"}`))
	require.ErrorContains(t, err, "search_memory: no luck")
}
