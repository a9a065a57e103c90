package hook

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/journal"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/inject/agents"
)

// sender sends events to a memory as an agent does.
func sender(t *testing.T, m *fakeMemory, o Options) func(name string, change ...string) (string, journal.Entry) {
	return func(name string, change ...string) (string, journal.Entry) {
		t.Helper()
		e, err := Parse(events[name].agent, []byte(strings.NewReplacer(change...).Replace(events[name].event)))
		require.NoError(t, err)
		reply, entry, _ := Handle(t.Context(), e, m, o)
		return string(reply), entry
	}
}

func TestRulesOnce(t *testing.T) {
	m := &fakeMemory{rules: map[string]string{"/p/.beans/rules/r.md": "Ask Ada."}, curated: "# Curated"}
	o := Options{Journal: testJournal(t)}
	send := sender(t, m, o)
	send("claude start")
	first, entry := send("claude prompt", "what colour?", "deploy web/a.ts and /p/b.go")
	require.Contains(t, first, `"additionalContext":"Ask Ada."`)
	require.Equal(t, []journal.Rule{{Path: "/p/.beans/rules/r.md", Given: true, Why: "applies"}}, entry.Rules)
	at := m.moments[0]
	require.Equal(t, "deploy web/a.ts and /p/b.go", at.Request)
	require.Equal(t, []string{filepath.FromSlash("/p/web/a.ts"), filepath.FromSlash("/p/p/b.go"), filepath.FromSlash("/p/b.go")}, at.Named)
	require.Equal(t, len("# Curated"), at.Spent)
	require.Equal(t, []string{"/p"}, m.began, "the folder it began in, wherever it works later")

	again, entry := send("claude prompt")
	require.Empty(t, again)
	require.Equal(t, []journal.Rule{{Path: "/p/.beans/rules/r.md", Why: "has"}}, entry.Rules)
	require.Equal(t, len("# Curated")+len("Ask Ada."), m.moments[1].Spent)
	require.Contains(t, m.left, "/p/.beans/rules/r.md", "what it has is not retrieved either")

	m.rules["/p/.beans/rules/r.md"] = "Ask Bob."
	changed, _ := send("claude prompt")
	require.Contains(t, changed, "Ask Bob.")

	m.rules["/p/web/BEANS.md"] = "Use tabs."
	tool, _ := send("claude tool")
	require.Contains(t, tool, `"additionalContext":"Use tabs."`)
	agent, _ := agents.Named(agents.ClaudeCode)
	require.Equal(t, agent.OwnFiles, m.moments[len(m.moments)-1].Own)
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
	o := Options{Journal: testJournal(t)}
	send := sender(t, m, o)
	reply, entry := send("gemini prompt")
	require.Contains(t, reply, `# Curated\n\nAsk Ada.\n\n## Relevant Memory`)
	require.Empty(t, entry.Reason)

	m.rules, m.hits = map[string]string{"r.md": strings.Repeat("é", shareOfRules)}, nil
	for range 100 {
		m.hits = append(m.hits, hits(strings.Repeat("x", 200)+string(rune('A'+len(m.hits))))...)
	}
	reply, entry = send("claude prompt")
	require.LessOrEqual(t, entry.Added, maxContext)
	require.Contains(t, textOf(t, []byte(reply)), "é\n\n## Relevant Memory")
	require.Equal(t, ReasonLong, entry.Reason)

	m.rules = map[string]string{"r.md": strings.Repeat("é", maxContext+1)}
	reply, _ = send("claude tool")
	require.Empty(t, reply)
}

// Rules count as given even if curated memory had no room.
func TestRulesBeforeTheBeginning(t *testing.T) {
	m := &fakeMemory{curated: "# Curated", overview: "Overview.", rules: map[string]string{"r.md": "Ask Ada."}}
	least, _ := formatter.Block(hits("a"))
	m.hits = hits(strings.Repeat("a", 1+roomBeside("Ask Ada.")-len(least)))
	m.hits[0].Source = "a.md#L1"
	o := Options{Journal: testJournal(t)}
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
	reply, entry, _ := Handle(t.Context(), e, m, Options{Journal: journal.In(filepath.Join(inTheWay, "journal.jsonl"))})
	require.Empty(t, reply)
	require.NotEmpty(t, entry.Problems)
	e.Session = ""
	reply, entry, _ = Handle(t.Context(), e, m, Options{Journal: testJournal(t)})
	require.Empty(t, reply)
	require.Empty(t, entry.Problems)
	m.err = errors.New("the disk is full")
	e.Session = "s"
	_, entry, _ = Handle(t.Context(), e, m, Options{Journal: testJournal(t)})
	require.Equal(t, []string{"the disk is full"}, entry.Problems)
}
