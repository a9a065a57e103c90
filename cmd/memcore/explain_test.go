package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/core/journal"
)

// What explain --last and memory show --provenance tell people, --json tells programs.
func TestJSONHoldsWhatTextHolds(t *testing.T) {
	hit := core.MemoryHit{Text: "</memory> Tea at four.", Source: "notes/tea.md#L3", Path: "notes/tea.md", StartLine: 3, TokenEstimate: 17, Score: 0.875,
		Explain: &core.Explanation{BM25: 6.25, Verdict: "kept", Why: "names the hour"}}
	rejected := hit
	rejected.Source, rejected.Explain = "notes/cake.md#L9", &core.Explanation{Verdict: "below threshold"}
	turn := journal.Turn{Entry: journal.Entry{
		Head: journal.Head{Agent: "claude-code"},
		Event: journal.Event{At: time.Date(2026, 11, 23, 12, 30, 0, 0, time.Local), Kind: journal.PromptEvent, Name: "UserPromptSubmit",
			Prompt: "when is tea?", Cut: "the prompt was too long"},
		Answer: journal.Answer{
			Given:    []journal.Given{{Kind: journal.Passage, Source: "notes/tea.md#L3", Opened: true}},
			Reason:   "it was late",
			Rules:    []journal.Rule{{Path: "rules/go.md", Given: true, Why: "it matches *.go"}},
			Problems: []string{"the log is full"}, Notes: []string{"run memcore index"}, Took: "12ms",
		},
		Result: &core.Result{State: core.StateReady, Hits: []core.MemoryHit{hit}, Rejected: []core.MemoryHit{rejected}, Degraded: []string{"no vectors yet"}, Threshold: 0.125, Silence: "a greeting", Stale: &core.Staleness{Files: 7, Reason: "another run has the lock"}},
	}}
	text := turnText(newScreen(io.Discard), turn, "")
	data := asJSON(t, turn)
	// The second of each pair is how JSON has it, if it differs.
	for said, held := range map[string]string{
		"claude-code": "", "UserPromptSubmit": "", "when is tea?": "", "the prompt was too long": "", "it was late": "", "12ms": "", "12:30:00": "T12:30:00",
		"rules/go.md": "", "it matches *.go": "", "the log is full": "", "run memcore index": "",
		"opened: notes/tea.md#L3": `"opened":true`, "a greeting": "", "no vectors yet": "", "0.125": "", "7 changes": `"files":7`, "another run has the lock": "",
		"0.875": "", "6.25": "", "17": `"tokenEstimate":17`, "names the hour": "", "below threshold": "", "notes/cake.md#L9": "",
	} {
		require.Contains(t, text, said)
		if held == "" {
			held = said
		}
		require.Contains(t, data, held)
	}

	segment := curated.Segment{Tier: curated.Project, Path: "docs/style.md", ImportedFrom: "BEANS.md", FirstLine: 3, LastLine: 8, Tokens: 21, Hash: "0123456789abcdef", Text: "Two spaces."}
	text = provenanceText(newCLI(nil, io.Discard, io.Discard), curated.Memory{Segments: []curated.Segment{segment}})
	data = asJSON(t, []curated.Segment{segment})
	for said, held := range map[string]string{
		"project": "", "docs/style.md": "", "#L3-L8": `"firstLine":3,"lastLine":8`, "imported from BEANS.md": `"importedFrom":"BEANS.md"`, "21 tokens": `"tokens":21`, "0123456789abcdef": "", "Two spaces.": "",
	} {
		require.Contains(t, text, said)
		if held == "" {
			held = said
		}
		require.Contains(t, data, held)
	}
}

// A hit that something else than its score decided is not shown below the threshold, and candidates
// are shown with their own texts.
func TestExplainShowsWhatDecided(t *testing.T) {
	hit := func(source, text string, score float64, e *core.Explanation) core.MemoryHit {
		return core.MemoryHit{Source: source, Text: text, Score: score, Explain: e}
	}
	var b strings.Builder
	explainCandidates(&b, newScreen(io.Discard), core.Result{State: core.StateReady, Threshold: 0.111,
		Hits:     []core.MemoryHit{hit("service.md", "Served.", 0.3, nil), hit("named.md", "# Named\n\nThe step.", 0.043, &core.Explanation{Verdict: "kept", Why: "the prompt names it"})},
		Rejected: []core.MemoryHit{hit("weak.md", strings.Repeat("long ", 50), 0.057, &core.Explanation{Verdict: core.VerdictThreshold})}})
	lines := strings.Split(b.String(), "\n")
	require.Regexp(t, `^0.300 +– +– .*not explained +service.md$`, lines[2])
	require.Regexp(t, `^– .*kept: the prompt names it +named.md$`, lines[4])
	require.Equal(t, "The step.", strings.TrimSpace(lines[5]))
	require.Regexp(t, `^0.057 .*below threshold: 0.054 short of 0.111 +weak.md$`, lines[6])
	require.Len(t, []rune(strings.TrimSpace(lines[7])), journal.ExcerptLength)
	for state, said := range map[core.State]bool{core.StateReady: true, core.StateBuilding: false} {
		b.Reset()
		explainCandidates(&b, newScreen(io.Discard), core.Result{State: state})
		require.Equal(t, said, b.Len() > 0, "only a complete index knows that there is nothing")
	}
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	require.NoError(t, encoder.Encode(value))
	return strings.TrimSpace(b.String())
}
