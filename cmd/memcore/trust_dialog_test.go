package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Names in a folder that is not trusted cannot draw on the terminal, nor imitate the dialog.
func TestContentsAreShownSafely(t *testing.T) {
	c := contents{MemoryFiles: []string{"a\x1b[2Jb\r\n[t] Trusted already.md"}, MCPServers: []string{"x\u202ey"}, Warnings: []string{"w\x07\nfake"}}
	text := c.String()
	require.NotContains(t, text, "\x1b")
	require.NotContains(t, text, "\u202e")
	require.Contains(t, text, "Memory files: 1 (ab [t] Trusted already.md)")
	require.Contains(t, text, "! Warning: w fake\n")
	many := contents{MemoryFiles: strings.Split(strings.Repeat("x,", 20), ","), Warnings: strings.Split(strings.Repeat("w,", 20), ",")}
	require.Contains(t, many.String(), "Memory files: 21 (x, x")
	require.Contains(t, many.String(), "! and 13 more")
	require.Contains(t, contents{}.String(), "none that memcore knows of")
}

func TestWhatOtherAgentsWouldDo(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for name, text := range map[string]string{
		".mcp.json": `{"mcpServers": {"b": {}}}`, ".gemini/settings.json": `{"mcpServers": {"a": {}}, "autoAccept": true}`, ".claude/settings.json": `{"permissions": {"allow": ["Bash(git:*)"], "defaultMode": "bypassPermissions"}}`,
		".claude/settings.local.json": `{"permissions": {"allow": ["Bash(git status)"]}}`, ".cursor/mcp.json": `not JSON`,
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	var c contents
	c.otherAgents(root)
	require.Equal(t, []string{"a", "b"}, c.MCPServers)
	require.ElementsMatch(t, []string{"auto-approve is enabled for shell commands (.gemini/settings.json)", "auto-approve is enabled for shell commands (.claude/settings.json)"}, c.Warnings)
}
