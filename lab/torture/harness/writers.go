package harness

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A Writer is a command that writes files.
type Writer struct {
	Name  string // for the table
	Args  []string
	Stdin string
	Env   []string
	// Prepare, if set, changes the machine first.
	Prepare func(t testing.TB, s *Machine)
	// Hook commands answer agents and always exit with 0.
	Hook bool
	// Reader commands must answer even if they cannot write.
	Reader bool
}

func memcore(args ...string) func(testing.TB, *Machine) {
	return func(t testing.TB, s *Machine) { t.Helper(); s.Must(t, args...) }
}

func all(steps ...func(testing.TB, *Machine)) func(testing.TB, *Machine) {
	return func(t testing.TB, s *Machine) {
		t.Helper()
		for _, step := range steps {
			step(t, s)
		}
	}
}

// session makes a session in which rules find statements.
func session(t testing.TB, s *Machine) {
	t.Helper()
	s.Must(t, "session", "new", "s1")
	for _, said := range [][2]string{{"user", "I prefer tabs over spaces."}, {"user", "We decided to use PostgreSQL for the ledger."}, {"assistant", "Fixed. Solution: The root cause was a stale cache."}} {
		s.Must(t, "session", "append", "--session", "s1", "--role", said[0], said[1])
	}
}

// changed makes the index stale: it changes, adds and removes notes and continues the conversation.
func changed(t testing.TB, s *Machine) {
	t.Helper()
	s.Write(t, "project/notes/auth.md", files["project/notes/auth.md"]+"\n## Keys\n\nSigning keys are kept in the vault named Fafnir.\n")
	s.Write(t, "project/notes/printers.md", "# Printers\n\nThe colour printer is on the third floor.\n")
	s.Write(t, "project/chat.jsonl", files["project/chat.jsonl"]+`{"role":"user","content":"And the cache is Valkey.","timestamp":"2026-01-02T10:01:00Z"}`+"\n")
	s.Remove(t, "project/notes/billing.md")
}

func event(name, more string) string {
	return fmt.Sprintf(`{"session_id":"abc","hook_event_name":%q%s}`, name, more)
}

// Writers are all commands that write. The index is current unless Prepare changes that.
var Writers = []Writer{
	{Name: "index, the first", Args: []string{"index"}, Prepare: func(t testing.TB, s *Machine) {
		s.Remove(t, "index/memcore/index")
		s.Remove(t, "index/memcore/embeddings")
	}},
	{Name: "index, after changes", Args: []string{"index"}, Prepare: changed},
	{Name: "index --rebuild", Args: []string{"index", "--rebuild"}},
	{Name: "index PATH", Args: []string{"index", "notes"}},
	{Name: "retrieve, after changes", Args: []string{"retrieve", "which vault are signing keys kept in"}, Prepare: changed, Reader: true},
	{Name: "search", Args: []string{"search", "where do tokens live"}, Reader: true},
	{Name: "save", Args: []string{"save", "-y", "--shared", "Releases are cut on Mondays."}},
	{Name: "save --target global", Args: []string{"save", "-y", "--target", "global", "Prefers dark themes."}},
	{Name: "save --local", Args: []string{"save", "-y", "--local", "My test account is kim-test."}},
	{Name: "save --supersedes", Args: []string{"save", "-y", "--shared", "--supersedes", "Deploys happen on Fridays.", "Deploys happen on Tuesdays."}},
	{Name: "save --undo", Args: []string{"save", "--undo", "-y"}, Prepare: all(memcore("save", "-y", "--shared", "One that stays."), memcore("save", "-y", "--shared", "One that goes."))},
	{Name: "save --section", Args: []string{"save", "-y", "--shared", "--section", "Style", "Names are short."}},
	{Name: "memory edit --local", Args: []string{"memory", "edit", "--local"}},
	{Name: "forget TEXT", Args: []string{"forget", "--yes", "The linter is strict."}},
	{Name: "forget CITATION", Args: []string{"forget", "--yes", "notes/staging.md#L5-L5"}},
	{Name: "forget --from-index", Args: []string{"forget", "--yes", "--from-index", "chat.jsonl#L2-L2"}},
	{Name: "forget --source", Args: []string{"forget", "--yes", "--source", "notes/billing.md"}},
	{Name: "forget --remember", Args: []string{"forget", "--yes", "--remember", "notes/billing.md"}, Prepare: memcore("forget", "--yes", "--source", "notes/billing.md")},
	{Name: "tool memory_write", Args: []string{"tool", "memory_write", `{"path":"facts/team.md","content":"# Team\n\n- Ada leads.\n"}`}},
	{Name: "tool memory_patch", Args: []string{"tool", "memory_patch", `{"path":"facts/user.md","patches":[{"oldText":"short answers","newText":"very short answers"}]}`}},
	{Name: "tool memory_append", Args: []string{"tool", "memory_append", `{"entry":"## The cache was stale\n\n- Summary: stale cache\n- Date: 2026-11-20\n- Cleared it.\n"}`}},
	{Name: "session new", Args: []string{"session", "new", "s9"}},
	{Name: "session append", Args: []string{"session", "append", "--session", "s1", "--role", "user", "The office is closed in August."}, Prepare: session},
	{Name: "memory pending --accept", Args: []string{"memory", "pending", "--accept", "all"}, Prepare: all(session, memcore("memory", "pending"))},
	{Name: "init", Args: []string{"init", "--yes"}},
	{Name: "uninstall", Args: []string{"uninstall", "--yes"}, Prepare: memcore("init", "--yes")},
	{Name: "trust add", Args: []string{"trust", "add"}},
	{Name: "trust remove", Args: []string{"trust", "remove"}, Prepare: memcore("trust", "add")},
	{Name: "hook, prompt", Args: []string{"hook", "claude-code"}, Stdin: event("UserPromptSubmit", `,"prompt":"where do tokens live"`), Hook: true, Reader: true},
	{Name: "hook, answer", Args: []string{"hook", "claude-code"}, Stdin: event("Stop", `,"last_assistant_message":"They live in the keychain."`), Hook: true},
	{Name: "hook, session start", Args: []string{"hook", "claude-code"}, Stdin: event("SessionStart", `,"source":"startup"`), Hook: true, Prepare: memcore("trust", "add"), Reader: true},
	{Name: "hook, session end", Args: []string{"hook", "claude-code"}, Stdin: event("SessionEnd", `,"reason":"other"`), Hook: true, Prepare: session},
	{Name: "eval run --baseline", Args: []string{"eval", "run", "--data", "eval/cases.yaml", "--baseline", "eval/baseline.json"}},
}

// Sessions returns the folder of sessions.
func (m *Machine) Sessions(t testing.TB) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(m.Home.Home, ".ai", "sessions", "--*--"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	return "home/.ai/sessions/" + filepath.Base(found[0])
}
