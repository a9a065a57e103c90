package core_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
)

// A rule is found by its file, whatever its words and meaning.
func TestRulesOfFiles(t *testing.T) {
	mem := newMemory(t)
	mem.write(".cursor/rules/queries.mdc", "---\nglobs: db/**/*.sql\n---\n# Statements\n\nEvery statement names its columns one by one, because a star has broken the nightly export twice already. Identifiers are in small letters throughout.\n")
	mem.write("AGENTS.md", "# Agents\n\n## Go\n\nEvery exported identifier has a comment that begins with its name, and errors are wrapped with the thing that was tried, so that a log says it.\n\n"+
		"## Frontend\n\nWhat lies in `web/` is formatted with prettier before it is committed, and its snapshots are made anew with every change of a component.\n")
	m := mem.open()
	index(t, m)
	for _, tt := range []struct{ name, prompt, want, why string }{
		{"globs of the frontmatter", "please make db/orders/list.sql faster", "notes/.cursor/rules/queries.mdc#L4-L6", "is a rule of notes/.cursor/rules/queries.mdc for db/orders/list.sql"},
		{"a heading with the language", "rename the receiver in order.go", "notes/AGENTS.md#L1-L5", "is a rule of notes/AGENTS.md for order.go"},
		{"a folder that the section names", "tidy up web/basket.vue", "notes/AGENTS.md#L7-L9", "is a rule of notes/AGENTS.md for web/basket.vue"},
		{"no rule for it", "tidy up basket.toml", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			result, err := m.RetrieveRelevant(t.Context(), tt.prompt, core.RetrieveOptions{Explain: true})
			require.NoError(t, err)
			require.Equal(t, tt.want, first(result), "%+v", result)
			if tt.want != "" {
				require.Equal(t, tt.why, result.Hits[0].Explain.Why)
			}
		})
	}
	result, err := m.RetrieveRelevant(t.Context(), "please make db/orders/list.sql faster", core.RetrieveOptions{Not: []string{"notes/.cursor/rules/"}})
	require.NoError(t, err)
	require.Empty(t, result.Hits, "a folder of rules that the agent reads itself")
	result, err = m.RetrieveRelevant(t.Context(), "please make db/orders/list.sql faster", core.RetrieveOptions{Scope: core.ScopeProject, Kind: source.KindMarkdown})
	require.NoError(t, err)
	require.Equal(t, "notes/.cursor/rules/queries.mdc#L4-L6", first(result), "its scope and kind are those that are wanted")
	for name, o := range map[string]core.RetrieveOptions{
		"another scope": {Scope: core.ScopeGlobal}, "another kind": {Kind: source.KindConversation}, "another time": {Until: time.Now().AddDate(-1, 0, 0)},
	} {
		result, err = m.RetrieveRelevant(t.Context(), "please make db/orders/list.sql faster", o)
		require.NoError(t, err)
		require.Empty(t, result.Hits, name)
	}
}

// A stage of work named by number gets titles that begin with it, of two documents. A prompt to go
// on gets nothing.
func TestStagesByNumber(t *testing.T) {
	mem := newMemory(t)
	mem.write("roadmap.md", "# Roadmap\n\n## Phase 4 — Sails (needs phase 5 of the hull)\n\nThe sails are cut from the patterns of the old boat, and sewn in the loft above the shed where it is dry.\n\n"+
		"## Phase 5 — Rigging\n\nThe shrouds are spliced by hand, and the mast is stepped once the hull has been in the water for a week.\n\n"+
		"## Phase 12 — Paint\n\nTwo coats of primer below the waterline, and a day between them, whatever the weather forecast says about it.\n")
	mem.write("idea.md", "# Phase 5: rigging\n\nWhoever sails her should be able to set everything alone and from the cockpit, also in the dark and the rain.\n")
	m := mem.open()
	index(t, m)
	for _, tt := range []struct {
		prompt string
		want   []string
	}{
		{"Implement phase 12", []string{"notes/roadmap.md#L11-L13"}},
		{"ok let's implement the phase 5", []string{"notes/idea.md#L1-L3", "notes/roadmap.md#L7-L9"}},
		{"Proceed with phase 5", nil},
		{"implement phase 5 in hull.go", nil},
		{"implement phase 7", nil},
	} {
		t.Run(tt.prompt, func(t *testing.T) {
			result, err := m.RetrieveRelevant(t.Context(), tt.prompt, core.RetrieveOptions{Explain: true})
			require.NoError(t, err)
			var got []string
			for _, hit := range result.Hits {
				got = append(got, hit.Source)
			}
			require.ElementsMatch(t, tt.want, got)
		})
	}
}
