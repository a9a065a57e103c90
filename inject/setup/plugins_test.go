package setup_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/inject/setup"
)

// The plugins in the folder plugins have the hooks, the MCP server and the skill that init writes.
func TestPlugins(t *testing.T) {
	const again = "make them again: go -C lab run ./plugins -plugins .."
	for _, tt := range []struct {
		agent, servers, recall string
	}{
		{agents.ClaudeCode, ".mcp.json", "skills/recall/SKILL.md"},
		{agents.Codex, ".mcp.json", "skills/recall/SKILL.md"},
		{agents.GeminiCLI, "gemini-extension.json", "agents/recall.md"},
	} {
		t.Run(tt.agent, func(t *testing.T) {
			folder := filepath.Join("..", "..", "plugins", tt.agent)
			hooks, err := os.ReadFile(filepath.Join(folder, "hooks", "hooks.json"))
			require.NoError(t, err)
			require.Equal(t, written(t, tt.agent, setup.Want{Hooks: true}), string(hooks), again)
			recall, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(tt.recall)))
			require.NoError(t, err)
			require.Equal(t, written(t, tt.agent, setup.Want{Recall: true}), string(recall), again)

			text := written(t, tt.agent, setup.Want{MCP: true})
			var want, got struct {
				JSON map[string]any `json:"mcpServers" toml:"-"`
				TOML map[string]any `json:"-" toml:"mcp_servers"`
			}
			if json.Unmarshal([]byte(text), &want) != nil {
				require.NoError(t, toml.Unmarshal([]byte(text), &want))
				want.JSON = want.TOML
			}
			require.Contains(t, want.JSON, "memcore")
			data, err := os.ReadFile(filepath.Join(folder, tt.servers))
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(data, &got))
			require.Equal(t, want.JSON, got.JSON, again)
		})
	}
}

// written returns what is written for an agent without settings. The program is found in PATH.
func written(t *testing.T, agent string, want setup.Want) string {
	t.Helper()
	for _, a := range setup.Find(setup.Options{Home: t.TempDir()}) {
		if a.Name != agent {
			continue
		}
		changes, _, err := a.Plan(setup.User, "memcore", want)
		require.NoError(t, err)
		require.Len(t, changes, 1)
		return changes[0].After
	}
	require.Fail(t, "no agent "+agent)
	return ""
}

// An installed plugin is found, and its hooks are not added twice without a word.
func TestInstalledPlugin(t *testing.T) {
	for _, tt := range []struct {
		agent, file, text string
		want              bool
	}{
		{agents.ClaudeCode, ".claude/settings.json", `{"enabledPlugins": {"memcore@memcore": true}}`, true},
		{agents.ClaudeCode, ".claude/settings.json", `{"enabledPlugins": {"memcore@memcore": false}}`, false},
		{agents.ClaudeCode, ".claude/settings.json", `{"enabledPlugins": {"other@memcore": true}}`, false},
		{agents.Codex, ".codex/config.toml", "[plugins.\"memcore@memcore\"]\nenabled = true\n", true},
		{agents.Codex, ".codex/config.toml", "[plugins.\"memcore@memcore\"]\nenabled = false\n", false},
		{agents.GeminiCLI, ".gemini/extensions/memcore/gemini-extension.json", `{}`, true},
		{agents.GeminiCLI, ".gemini/extensions/other/gemini-extension.json", `{}`, false},
		{agents.Cursor, ".cursor/hooks.json", `{}`, false},
	} {
		home := resolved(t, t.TempDir())
		file := filepath.Join(home, filepath.FromSlash(tt.file))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(tt.text), 0o600))
		agent := find(t, home, tt.agent)
		require.Equal(t, tt.want, agent.Plugin() != "", tt.text)
		p, err := setup.Propose([]setup.Agent{agent}, setup.User, binary, setup.Want{Hooks: true})
		require.NoError(t, err)
		told := slices.ContainsFunc(p.Notes, func(n setup.Note) bool { return strings.Contains(n.Text, "hooks would run twice") })
		require.Equal(t, tt.want, told, tt.text)
	}
}
