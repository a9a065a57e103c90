package hook

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/inject/agents"
)

// sender sends events to a memory as an agent does, and adds receipts.
func sender(t *testing.T, m *fakeMemory, o Options) func(name string, change ...string) (string, Trace) {
	return func(name string, change ...string) (string, Trace) {
		t.Helper()
		e, err := Parse(events[name].agent, []byte(strings.NewReplacer(change...).Replace(events[name].event)))
		require.NoError(t, err)
		reply, receipt, trace := Handle(t.Context(), e, m, o)
		require.NoError(t, o.Records.Add(t.Context(), receipt))
		return string(reply), trace
	}
}

func TestRulesOnce(t *testing.T) {
	m := &fakeMemory{rules: map[string]string{"/p/.beans/rules/r.md": "Ask Ada."}, curated: "# Curated"}
	o := Options{Records: Records{Dir: t.TempDir()}}
	send := sender(t, m, o)
	send("claude start")
	first, trace := send("claude prompt", "what colour?", "deploy web/a.ts and /p/b.go")
	require.Contains(t, first, `"additionalContext":"Ask Ada."`)
	require.Equal(t, []Rule{{Path: "/p/.beans/rules/r.md", Given: true, Why: "applies"}}, trace.Rules)
	at := m.moments[0]
	require.Equal(t, "deploy web/a.ts and /p/b.go", at.Request)
	require.Equal(t, []string{filepath.FromSlash("/p/web/a.ts"), filepath.FromSlash("/p/p/b.go"), filepath.FromSlash("/p/b.go")}, at.Named)
	require.Equal(t, len("# Curated"), at.Spent)
	require.Equal(t, []string{"/p"}, m.began, "the folder it began in, wherever it works later")

	again, trace := send("claude prompt")
	require.Empty(t, again)
	require.Equal(t, []Rule{{Path: "/p/.beans/rules/r.md", Why: "has"}}, trace.Rules)
	require.Equal(t, len("# Curated")+len("Ask Ada."), m.moments[1].Spent)
	require.Contains(t, m.left, "/p/.beans/rules/r.md", "what it has is not retrieved either")

	m.rules["/p/.beans/rules/r.md"] = "Ask Bob."
	changed, _ := send("claude prompt")
	require.Contains(t, changed, "Ask Bob.")

	m.rules["/p/web/BEANS.md"] = "Use tabs."
	tool, _ := send("claude tool")
	require.Contains(t, tool, `"additionalContext":"Use tabs."`)
	require.Equal(t, agents.OwnFiles(agents.ClaudeCode), m.moments[len(m.moments)-1].Own)
	tool, _ = send("claude tool")
	require.Empty(t, tool)
	sub, _ := send("claude subagent")
	require.Contains(t, sub, "Use tabs.", "it has a history of its own")
	require.Equal(t, "/p", m.began[len(m.began)-1])
	sub, _ = send("claude subagent")
	require.Empty(t, sub)
	other, _ := send("claude tool", `"s"`, `"another"`)
	require.Contains(t, other, "Use tabs.")

	send("claude compact")
	after, _ := send("claude tool")
	require.Contains(t, after, `Ask Bob.\n\nUse tabs.`)
	send("claude start")
	after, _ = send("claude tool")
	require.Contains(t, after, "Use tabs.")

	m.curated = ""
	send("codex start")
	send("codex tool", "/p", "/p/web")
	require.Equal(t, "/p", m.began[len(m.began)-1], "also if it was given nothing")
	require.Empty(t, m.moments[len(m.moments)-1].Own, "Codex reads no AGENTS.md below the folder it was started in")
}

// Rules come before the block. The agent would cut neither.
func TestRulesAndHits(t *testing.T) {
	m := &fakeMemory{hits: hits("ferry"), curated: "# Curated", rules: map[string]string{"r.md": "Ask Ada."}}
	o := Options{Records: Records{Dir: t.TempDir()}}
	send := sender(t, m, o)
	reply, trace := send("gemini prompt")
	require.Contains(t, reply, `# Curated\n\nAsk Ada.\n\n## Relevant Memory`)
	require.Empty(t, trace.Reason)

	m.rules, m.hits = map[string]string{"r.md": strings.Repeat("é", shareOfRules)}, nil
	for range 100 {
		m.hits = append(m.hits, hits(strings.Repeat("x", 200)+string(rune('A'+len(m.hits))))...)
	}
	_, trace = send("claude prompt")
	require.LessOrEqual(t, utf8.RuneCountInString(trace.Added), longestContext)
	require.Contains(t, trace.Added, "é\n\n## Relevant Memory")
	require.Equal(t, ReasonLong, trace.Reason)

	m.rules = map[string]string{"r.md": strings.Repeat("é", longestContext+1)}
	reply, _ = send("claude tool")
	require.Empty(t, reply)
}

// Rules count as given even if curated memory had no room.
func TestRulesBeforeTheBeginning(t *testing.T) {
	m := &fakeMemory{curated: "# Curated", overview: "Overview.", rules: map[string]string{"r.md": "Ask Ada."}}
	least, _ := formatter.Block(hits("a"))
	m.hits = hits(strings.Repeat("a", 1+roomBeside("Ask Ada.")-len(least)))
	m.hits[0].Source = "a.md#L1"
	o := Options{Records: Records{Dir: t.TempDir()}}
	send := sender(t, m, o)
	reply, _ := send("gemini prompt")
	require.Contains(t, reply, "Ask Ada.")
	require.NotContains(t, reply, "Overview.")
	m.hits = nil
	reply, _ = send("gemini prompt")
	require.Contains(t, reply, "# Curated")
	require.Contains(t, m.left, "r.md")
	send("gemini prompt")
	require.Contains(t, m.left, "r.md")
	require.Equal(t, len("# Curated")+len("Ask Ada."), m.moments[2].Spent, "and nothing but curated memory counts")
}

// Without a session to record, tool calls get no rules.
func TestRulesWithoutASession(t *testing.T) {
	m := &fakeMemory{rules: map[string]string{"r.md": "Ask Ada."}}
	inTheWay := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(inTheWay, nil, 0o600))
	e, err := Parse(agents.ClaudeCode, []byte(events["claude tool"].event))
	require.NoError(t, err)
	reply, _, trace := Handle(t.Context(), e, m, Options{Records: Records{Dir: inTheWay}})
	require.Empty(t, reply)
	require.NotEmpty(t, trace.Problems)
	e.Session = ""
	reply, _, trace = Handle(t.Context(), e, m, Options{Records: Records{Dir: t.TempDir()}})
	require.Empty(t, reply)
	require.Empty(t, trace.Problems)
	m.err = errors.New("the disk is full")
	e.Session = "s"
	_, _, trace = Handle(t.Context(), e, m, Options{Records: Records{Dir: t.TempDir()}})
	require.Equal(t, []string{"the disk is full"}, trace.Problems)
}
