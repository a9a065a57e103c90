package core_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/digest"
)

// agentLog makes a log of Claude Code; a text that begins with "$ " is a command with its output.
func agentLog(texts ...string) string {
	var b strings.Builder
	line := func(role, id string, content any) {
		text, err := json.Marshal(map[string]any{"type": role, "sessionId": "s", "timestamp": "2026-01-01T10:00:00Z", "message": map[string]any{"id": id, "role": role, "content": content}})
		if err != nil {
			panic(err)
		}
		b.Write(append(text, '\n'))
	}
	for i, text := range texts {
		id := fmt.Sprintf("m%d", i)
		role, said, _ := strings.Cut(text, ": ")
		if role != "run" {
			line(role, id, []any{map[string]any{"type": "text", "text": said}})
			continue
		}
		command, output, _ := strings.Cut(said, " → ")
		line("assistant", id, []any{map[string]any{"type": "tool_use", "id": id, "name": "Bash", "input": map[string]any{"command": command}}})
		line("user", id, []any{map[string]any{"type": "tool_result", "tool_use_id": id, "content": output, "is_error": strings.HasPrefix(output, "Exit code")}})
	}
	return b.String()
}

var millLog = []string{
	"user: Why does the door of the mill stick? Never oil the hinges, use graphite.",
	"run: mill measure --door → Exit code 2\nmill: unknown flag: --door",
	"run: mill measure door → 3 fingers",
	"assistant: The door sticks because its frame has warped since the roof above it let in rain for a whole winter.",
	"user: no, the roof was repaired in spring",
}

// A digestOfLog is all that a Manager knows of a log in short.
type digestOfLog struct {
	Exchanges []digest.Exchange
	Said      map[string]core.Said
}

func digestIn(t *testing.T, m *core.Manager, path string) digestOfLog {
	t.Helper()
	exchanges, err := m.Exchanges(t.Context(), path)
	require.NoError(t, err)
	said, err := m.Said(t.Context())
	require.NoError(t, err)
	return digestOfLog{exchanges, said}
}

func statements(t *testing.T, m *core.Manager, query string) (texts []string) {
	t.Helper()
	result, err := m.Search(t.Context(), query, core.SearchOptions{Kind: core.KindStatement})
	require.NoError(t, err)
	for _, hit := range result.Hits {
		require.Equal(t, core.KindStatement, hit.Kind)
		texts = append(texts, hit.Text)
	}
	return texts
}

func TestDigestOfALog(t *testing.T) {
	mem := newMemory(t)
	mem.remembering()
	mem.write("chat.jsonl", agentLog(millLog...))
	m := mem.open()
	report := index(t, m)
	require.Zero(t, report.Pending, "statements have vectors, too")

	got := digestIn(t, m, "notes/chat.jsonl")
	require.Len(t, got.Exchanges, 2)
	require.Equal(t, "no, the roof was repaired in spring", got.Exchanges[0].Reply)
	said := got.Said["notes/chat.jsonl"]
	require.Len(t, said.Standing, 1)
	require.Equal(t, "Never oil the hinges, use graphite.", said.Standing[0].Text)
	require.Len(t, said.Failures, 1)
	require.Equal(t, "mill measure door", said.Failures[0].Cure)
	none, err := m.Exchanges(t.Context(), "notes/team.md")
	require.NoError(t, err)
	require.Empty(t, none)
	_, err = m.Exchanges(t.Context(), "notes/absent.jsonl")
	require.ErrorIs(t, err, core.ErrNotIndexed)

	// Only a search for statements finds them.
	require.Equal(t, []string{"Never oil the hinges, use graphite."}, statements(t, m, "graphite hinges")[:1])
	for _, hit := range search(t, m, "never oil the hinges, use graphite").Hits {
		require.NotEqual(t, core.KindStatement, hit.Kind)
	}
	chunks, err := m.Chunks(t.Context(), "notes/chat.jsonl")
	require.NoError(t, err)
	for _, chunk := range chunks {
		require.NotEqual(t, core.KindStatement, chunk.Kind)
	}

	// A log that grows, also past the views that are open.
	longer := append(millLog[:len(millLog):len(millLog)], "assistant: The frame then warped because the summer was dry, so it has to be planed.", "user: From now on ask the miller before you plane anything.")
	mem.write("chat.jsonl", agentLog(longer...))
	index(t, m)
	got = digestIn(t, m, "notes/chat.jsonl")
	require.Len(t, got.Exchanges, 3)
	require.Len(t, got.Said["notes/chat.jsonl"].Standing, 2)
	require.Contains(t, statements(t, m, "ask the miller"), "From now on ask the miller before you plane anything.")

	// What is forgotten or removed.
	hit, err := m.Search(t.Context(), "graphite", core.SearchOptions{Kind: core.KindStatement})
	require.NoError(t, err)
	_, err = m.Forget(t.Context(), "notes/chat.jsonl", hit.Hits[0].ID)
	require.NoError(t, err)
	require.NotContains(t, statements(t, m, "graphite hinges"), "Never oil the hinges, use graphite.")
	require.Len(t, digestIn(t, m, "notes/chat.jsonl").Said["notes/chat.jsonl"].Standing, 1)
	mem.write("chat.jsonl", agentLog(append(longer[:len(longer):len(longer)], "user: a commit, no PR")...))
	index(t, m)
	hit, err = m.Search(t.Context(), "commit", core.SearchOptions{Kind: core.KindStatement})
	require.NoError(t, err)
	require.Equal(t, "a commit, no PR", hit.Hits[0].Text)
	_, err = m.Forget(t.Context(), "notes/chat.jsonl", hit.Hits[0].ID)
	require.NoError(t, err)
	require.NotContains(t, statements(t, m, "commit"), "a commit, no PR", "although its turn makes no chunk")
	require.NoError(t, os.Remove(filepath.Join(mem.notes, "chat.jsonl")))
	index(t, m)
	require.Empty(t, statements(t, m, "ask the miller"))
	all, err := m.Said(t.Context())
	require.NoError(t, err)
	require.Empty(t, all)
	files, err := os.ReadDir(filepath.Join(mem.options.Folder, "1", "digests"))
	require.NoError(t, err)
	require.Empty(t, files)
}

func TestDigestHasNoSecrets(t *testing.T) {
	mem := newMemory(t)
	key := "AKIA" + "Z7QWERTYUIOPASDF"
	mem.write("chat.jsonl", agentLog("user: why does the upload fail", "run: put "+key+" → Exit code 1\nput: unknown option "+key, "assistant: The upload fails because the key "+key+" was revoked yesterday, so a new one is needed."))
	m := mem.open()
	index(t, m)
	text, err := json.Marshal(digestIn(t, m, "notes/chat.jsonl"))
	require.NoError(t, err)
	require.Contains(t, string(text), "was revoked yesterday")
	require.Contains(t, string(text), "unknown option")
	require.NotContains(t, string(text), key)
}

// A digest that a crash or a person spoilt costs reading its log again.
func TestDigestThatIsLost(t *testing.T) {
	for name, spoil := range map[string]func(file string) error{
		"gone":    os.Remove,
		"damaged": func(file string) error { return os.WriteFile(file, []byte(`{"exchanges":`), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			mem := newMemory(t)
			mem.write("chat.jsonl", agentLog(millLog[:4]...))
			m := mem.open()
			index(t, m)
			folder := filepath.Join(mem.options.Folder, "1")
			files, err := filepath.Glob(filepath.Join(folder, "digests", "*.json"))
			require.NoError(t, err)
			require.Len(t, files, 1)
			require.NoError(t, spoil(files[0]))
			require.NoError(t, spoil(filepath.Join(folder, "said.json")))
			mem.write("chat.jsonl", agentLog(millLog...))
			index(t, m)
			got := digestIn(t, m, "notes/chat.jsonl")
			require.Len(t, got.Exchanges, 2)
			require.Equal(t, "The door sticks because its frame has warped since the roof above it let in rain for a whole winter.", got.Exchanges[0].Outcome)
			require.Len(t, got.Said["notes/chat.jsonl"].Standing, 1)
		})
	}
}

// What is lost of a log that does not change comes back with the next run of indexing.
func TestALostDigestIsMadeAgain(t *testing.T) {
	mem := newMemory(t)
	mem.write("chat.jsonl", agentLog(millLog...))
	m := mem.open()
	index(t, m)
	before := digestIn(t, m, "notes/chat.jsonl")
	require.NotEmpty(t, before.Said)
	files, err := filepath.Glob(filepath.Join(mem.options.Folder, "1", "digests", "*.json"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	for _, spoil := range []func() error{
		func() error { return os.Remove(files[0]) },
		func() error { return os.WriteFile(files[0], []byte("{}"), 0o600) },
	} {
		require.NoError(t, spoil())
		require.NoError(t, os.Remove(filepath.Join(mem.options.Folder, "1", "said.json")))
		require.NoError(t, m.Close())
		m = mem.open()
		index(t, m)
		require.Equal(t, before, digestIn(t, m, "notes/chat.jsonl"))
	}
}

// A crash after the digests and before the manifest leaves digests that are newer.
func TestDigestNewerThanTheManifest(t *testing.T) {
	mem := newMemory(t)
	mem.write("chat.jsonl", agentLog(millLog[:4]...))
	m := mem.open()
	index(t, m)
	manifest := filepath.Join(mem.options.Folder, "1", "manifest.json")
	before, err := os.ReadFile(manifest)
	require.NoError(t, err)
	mem.write("chat.jsonl", agentLog(append(millLog[:5:5], "user: Always knock before you enter, the miller sleeps.")...))
	index(t, m)
	want := digestIn(t, m, "notes/chat.jsonl")
	require.NoError(t, m.Close())
	require.NoError(t, os.WriteFile(manifest, before, 0o600))
	again := mem.open()
	require.Len(t, digestIn(t, again, "notes/chat.jsonl").Said["notes/chat.jsonl"].Standing, 2)
	index(t, again)
	require.Equal(t, want, digestIn(t, again, "notes/chat.jsonl"))
}
