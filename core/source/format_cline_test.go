package source

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A task's session, time, working directory and what the user said while tools ran stand in files
// beside its log.
func TestClineTask(t *testing.T) {
	log, err := os.ReadFile(filepath.Join("testdata", "cline.json"))
	require.NoError(t, err)
	view := `[{"ts":1787220000000,"say":"text","conversationHistoryIndex":-1},
		{"ts":1787220005000,"say":"text","conversationHistoryIndex":0},
		{"ts":1787220060000,"say":"user_feedback","text":"Use pnpm here, never npm.","conversationHistoryIndex":3}]`
	home := tree(t, nil)
	t.Setenv("XDG_CONFIG_HOME", "")
	shop := filepath.Join(home, "shop")
	write(t, filepath.Join(shop, "README.md"), "")
	tasks := filepath.Join(settingsFolder(home), "Code", "User", "globalStorage", "rooveterinaryinc.roo-cline", "tasks")
	write(t, filepath.Join(tasks, "1787219999000", clineTask), string(log))
	write(t, filepath.Join(tasks, "1787219999000", clineUI), view)
	write(t, filepath.Join(tasks, "1787219999000", "history_item.json"), fmt.Sprintf(`{"id":"x","ts":1,"workspace":%q}`, shop))
	write(t, filepath.Join(tasks, "of-another-project", clineTask), string(log))
	write(t, filepath.Join(tasks, "1787219999000", "checkpoints", "notes.md"), "# No log")

	var doc Document
	var from Source
	for _, s := range knownOf(shop, home) {
		for _, d := range listOf(t, s).Documents {
			require.Empty(t, doc.Path, "a second document")
			doc, from = d, s
		}
	}
	require.Equal(t, "cline", doc.Format)
	content, err := from.Read(t.Context(), doc, Position{})
	require.NoError(t, err)
	require.Equal(t, "1787219999000", content.Turns[0].Session)
	require.Equal(t, "2026-08-20T10:00:05Z", content.Turns[0].Time.Format("2006-01-02T15:04:05Z"))
	require.Equal(t, "user", content.Turns[3].Role)
	require.Equal(t, "Use pnpm here, never npm.", content.Turns[3].Text)
}

// A file with the name of a task's log is no other log.
func TestClineTaskOfUnknownForm(t *testing.T) {
	dir := tree(t, map[string]string{
		"a/api_conversation_history.json": `{"messages":[{"role":"user","content":"hi"}]}`,
		"b/chat.json":                     `[{"role":"user","content":[{"type":"text","text":"<task>\nhi\n</task>"}]}]`,
		"c/chat.json":                     `[{"role":"user","content":[{"type":"text","text":"hi"}]}]`,
	})
	got := map[string]string{}
	for _, d := range list(t, NewFolder(FolderOptions{Path: dir, Workspace: dir})).Documents {
		got[d.Path] = d.Format
	}
	require.Equal(t, map[string]string{"b/chat.json": "cline", "c/chat.json": "openai"}, got)
}

// A subagent of Cline is asked by the agent.
func TestClineSubagent(t *testing.T) {
	log := `{"version":1,"updated_at":"2026-08-20T10:02:00Z","agent":"subagent","sessionId":"s__a","origin":{},"messages":[{"role":"user","content":"look","ts":1787220000000}]}`
	dir := tree(t, map[string]string{"s/a.messages.json": log})
	f := NewFolder(FolderOptions{Path: dir})
	doc := list(t, f).Documents[0]
	require.Equal(t, "cline-session", doc.Format)
	content, err := f.Read(t.Context(), doc, Position{})
	require.NoError(t, err)
	require.Empty(t, content.Turns)
}

func listOf(t *testing.T, s Source) Listing {
	t.Helper()
	found, err := s.List(t.Context())
	require.NoError(t, err)
	return found
}

// knownOf returns the sources of a project's logs in an ordinary home.
func knownOf(project, home string) []Source {
	return Known(testProject{folders: []string{project}}, KnownOptions{Workspace: project, Home: home, Homes: func(format string) []string {
		return map[string][]string{
			"copilot-cli": {filepath.Join(home, ".copilot")}, "cline-session": {filepath.Join(home, ".cline")}, "qwen-code": {filepath.Join(home, ".qwen")},
		}[format]
	}})
}
