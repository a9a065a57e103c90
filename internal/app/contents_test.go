package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Names in an untrusted folder cannot control the terminal or imitate the dialog.
func TestContentsAreShownSafely(t *testing.T) {
	c := Contents{MemoryFiles: []string{"a\x1b[2Jb\r\n[t] Trusted already.md"}, MCPServers: []string{"x\u202ey"}, Warnings: []string{"w\x07\nfake"}}
	text := c.String()
	require.NotContains(t, text, "\x1b")
	require.NotContains(t, text, "\u202e")
	require.Contains(t, text, "Memory files: 1 (ab [t] Trusted already.md)")
	require.Contains(t, text, "! Warning: w fake\n")
	many := Contents{MemoryFiles: strings.Split(strings.Repeat("x,", 20), ","), Warnings: strings.Split(strings.Repeat("w,", 20), ",")}
	require.Contains(t, many.String(), "Memory files: 21 (x, x")
	require.Contains(t, many.String(), "! and 13 more")
	require.Contains(t, Contents{}.String(), "none that memcore knows of")
}

// Files of several folders do not load together, so no limit for a session's start concerns them.
func TestContentsHaveNoLimit(t *testing.T) {
	w := withSettings(t, "")
	for _, name := range []string{"a", "b", "c"} {
		require.NoError(t, os.MkdirAll(filepath.Join(w.Project, name), 0o755))
		text := ""
		for i := range 150 {
			text += fmt.Sprintf("Statement %d about %s.\n", i, name)
		}
		require.NoError(t, os.WriteFile(filepath.Join(w.Project, name, "BEANS.md"), []byte(text), 0o644))
	}
	inside, err := w.Curated().Contents(t.Context(), w.Project)
	require.NoError(t, err)
	require.Subset(t, inside.MemoryFiles, []string{"a/BEANS.md", "b/BEANS.md", "c/BEANS.md"})
	require.Empty(t, inside.Warnings)
	require.Greater(t, inside.Tokens, 450*4)
}

func TestWhatotherAgentsWouldDo(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for name, text := range map[string]string{
		".mcp.json": `{"mcpServers": {"b": {}}}`, ".gemini/settings.json": `{"mcpServers": {"a": {}}, "autoAccept": true}`, ".claude/settings.json": `{"permissions": {"allow": ["Bash(git:*)"], "defaultMode": "bypassPermissions"}}`,
		".claude/settings.local.json": `{"permissions": {"allow": ["Bash(git status)"]}}`, ".cursor/mcp.json": `not JSON`,
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	var c Contents
	c.otherAgents(root)
	require.Equal(t, []string{"a", "b"}, c.MCPServers)
	require.ElementsMatch(t, []string{"auto-approve is enabled for shell commands (.gemini/settings.json)", "auto-approve is enabled for shell commands (.claude/settings.json)"}, c.Warnings)
}
