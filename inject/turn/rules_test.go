package turn_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/inject/turn"
)

// ruled is a memory with rules.
type ruled struct {
	*knows
	layer *curated.Layer
	err   error
}

func (r ruled) RulesFor(ctx context.Context, request string) (curated.Memory, error) {
	if r.err != nil {
		return curated.Memory{}, r.err
	}
	return r.layer.Now(ctx, curated.Moment{Request: request})
}

func withRule(t *testing.T, hits []core.MemoryHit) ruled {
	t.Helper()
	home := t.TempDir()
	rules := filepath.Join(home, ".beans", "rules")
	require.NoError(t, os.MkdirAll(rules, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(rules, "deploy.md"), []byte("---\ntriggers: deploy\n---\nAsk Ada before you deploy."), 0o644))
	return ruled{&knows{hits: hits}, curated.New(curated.Options{Dir: t.TempDir(), Home: home}), nil}
}

// Rules come with the block, in each turn that they apply to. Messages before stay the same.
func TestRules(t *testing.T) {
	const rule = "## Memory Core: Rules That Apply Now\n\nAsk Ada before you deploy."
	messages := []turn.Message{user("Hello"), assistant("Hello."), user("How do I deploy to staging?")}
	for _, tt := range []struct {
		name   string
		r      func(*ruled)
		o      turn.Options
		want   string
		report turn.Report
	}{
		{"with hits", nil, turn.Options{}, rule + "\n\n" + block(t), turn.Report{Injected: 1, Tokens: 16, Sources: []string{"notes/staging.md#L3"}, Rules: []string{"~/.beans/rules/deploy.md"}, State: core.StateReady}},
		{"alone", func(r *ruled) { r.hits = nil }, turn.Options{}, rule, turn.Report{Tokens: 7, Rules: []string{"~/.beans/rules/deploy.md"}, State: core.StateReady}},
		{"turned off", nil, turn.Options{NoRules: true}, block(t), turn.Report{Injected: 1, Tokens: 9, Sources: []string{"notes/staging.md#L3"}, State: core.StateReady}},
		{"broken", func(r *ruled) { r.err = os.ErrPermission }, turn.Options{}, block(t), turn.Report{Injected: 1, Tokens: 9, Sources: []string{"notes/staging.md#L3"}, State: core.StateReady}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := withRule(t, port)
			if tt.r != nil {
				tt.r(&r)
			}
			for range 2 {
				got, report := turn.Messages(t.Context(), r, messages, tt.o)
				require.Equal(t, append(append([]turn.Message{}, messages[:2]...), user(tt.want), messages[2]), got)
				tt.report.Findings = report.Findings
				require.Equal(t, tt.report, report)
				require.True(t, formatter.IsBlock(tt.want))
				require.Equal(t, tt.report.Rules, r.not, "what is given as a rule is not retrieved")
				again, report := turn.Messages(t.Context(), r, got, tt.o)
				require.Equal(t, turn.ReasonPresent, report.Reason, "it is not injected twice")
				require.Equal(t, got, again)
			}
		})
	}
	got, report := turn.Messages(t.Context(), withRule(t, nil), []turn.Message{user("How are you?")}, turn.Options{})
	require.Len(t, got, 1)
	require.Equal(t, turn.ReasonNothing, report.Reason)
}

func TestRulesInRequests(t *testing.T) {
	for name, edit := range map[string]func(context.Context, ruled, []byte) ([]byte, turn.Report, error){
		`{"messages":[{"role":"user","content":"deploy it"}]}`: func(ctx context.Context, r ruled, request []byte) ([]byte, turn.Report, error) {
			return turn.JSON(ctx, r, request, turn.Options{})
		},
		`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"deploy it"}]}]}`: func(ctx context.Context, r ruled, request []byte) ([]byte, turn.Report, error) {
			return turn.AnthropicJSON(ctx, r, request, turn.Options{})
		},
		`{"input":"deploy it"}`: func(ctx context.Context, r ruled, request []byte) ([]byte, turn.Report, error) {
			return turn.ResponsesJSON(ctx, r, request, turn.Options{})
		},
	} {
		r := withRule(t, nil)
		got, report, err := edit(t.Context(), r, []byte(name))
		require.NoError(t, err)
		require.True(t, json.Valid(got), string(got))
		require.Contains(t, string(got), "Ask Ada before you deploy.", name)
		require.Empty(t, report.Reason)
		again, report, err := edit(t.Context(), r, got)
		require.NoError(t, err)
		require.Equal(t, turn.ReasonPresent, report.Reason, name)
		require.Equal(t, string(got), string(again))
	}
}
