package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// pluginMachine has memcore in PATH, and the plugins of a release in a folder.
func pluginMachine(t *testing.T) (m *machine, plugins string) {
	t.Helper()
	memcore, out := ofProgram(t)
	bin := t.TempDir()
	require.NoError(t, os.Symlink(memcore, filepath.Join(bin, "memcore")))
	return newMachine(t, bin), filepath.Join(out, "plugins")
}

// Claude Code finds no fault with the plugin, installs it, and lists its hooks, server and skill.
func TestClaudeCode(t *testing.T) {
	need(t, "claude")
	m, plugins := pluginMachine(t)
	m.environment = []string{"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1"}
	m.run("claude", "plugin", "validate", "--strict", filepath.Join(plugins, "plugins", "claude-code"))
	m.run("claude", "plugin", "validate", "--strict", plugins)
	m.run("claude", "plugin", "marketplace", "add", plugins)
	m.run("claude", "plugin", "install", "memcore@memcore")
	require.Contains(t, m.run("claude", "plugin", "list"), "enabled")
	details := m.run("claude", "plugin", "details", "memcore")
	require.Contains(t, details, "Hooks (7)")
	require.Contains(t, details, "MCP servers (1)  memcore")
	require.Regexp(t, `Skills \(1\) +recall`, details)
	require.Regexp(t, `memcore mcp.*✔`, m.run("claude", "mcp", "list"))
	m.run("claude", "plugin", "uninstall", "memcore@memcore")
	require.NotContains(t, m.run("claude", "plugin", "list"), "memcore")
}

// Codex installs the plugin, has its server, and tells the model of its skill.
func TestCodex(t *testing.T) {
	need(t, "codex")
	m, plugins := pluginMachine(t)
	m.run("codex", "plugin", "marketplace", "add", plugins)
	m.run("codex", "plugin", "add", "memcore@memcore")
	require.Regexp(t, `memcore@memcore +installed, enabled +1\.2\.3`, m.run("codex", "plugin", "list"))
	require.Regexp(t, `memcore +memcore +mcp .*enabled`, m.run("codex", "mcp", "list"))
	require.Contains(t, m.run("codex", "debug", "prompt-input", "hello"), "memcore:recall: Answers a question from memory")
	m.run("codex", "plugin", "remove", "memcore@memcore")
	require.NotContains(t, m.run("codex", "mcp", "list"), "memcore")
}

// Gemini CLI finds no fault with the extension, installs it from a folder, and links it.
func TestGeminiCLI(t *testing.T) {
	need(t, "gemini")
	m, plugins := pluginMachine(t)
	folder := filepath.Join(plugins, "plugins", "gemini-cli")
	require.Contains(t, m.run("gemini", "extensions", "validate", folder), "successfully validated")
	m.input = "y\n" // whether the folder is trusted
	for _, way := range [][]string{{"install", "--consent"}, {"link", "--consent"}} {
		m.run("gemini", append(append([]string{"extensions"}, way...), folder)...)
		require.Regexp(t, `memcore \(1\.2\.3\)[^✓]*MCP servers:\s+memcore`, m.run("gemini", "extensions", "list"))
		m.run("gemini", "extensions", "uninstall", "memcore")
	}
}
