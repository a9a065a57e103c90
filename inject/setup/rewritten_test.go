package setup_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/inject/setup"
)

// Agents rewrite their own files. What is taken out then is the same as if memcore's entries had
// never been in, and the file goes if memcore made it.
func TestTakingOutOfARewrittenFile(t *testing.T) {
	indented := func(t *testing.T, text []byte) []byte {
		var b bytes.Buffer
		require.NoError(t, json.Indent(&b, text, "", "    "))
		return b.Bytes()
	}
	compact := func(t *testing.T, text []byte) []byte {
		var b bytes.Buffer
		require.NoError(t, json.Compact(&b, text))
		return b.Bytes()
	}
	encoded := func(t *testing.T, text []byte) []byte {
		var values map[string]any
		require.NoError(t, toml.Unmarshal(text, &values))
		data, err := toml.Marshal(values)
		require.NoError(t, err)
		return data
	}
	for _, tt := range []struct {
		name, agent, file, text string // "" if there was no file
		rewrite                 func(*testing.T, []byte) []byte
	}{
		{"no file, indented", "claude-code", ".claude/settings.json", "", indented},
		{"no file, in one line", "cursor", ".cursor/hooks.json", "", compact},
		{"no file of servers", "claude-code", ".claude.json", "", compact},
		{"no TOML", "codex", ".codex/config.toml", "", encoded},
		{"others, indented", "gemini-cli", ".gemini/settings.json", `{"theme":"dark","hooks":{"BeforeAgent":[{"hooks":[{"type":"command","command":"date"}]}]}}`, indented},
		{"others, in one line", "gemini-cli", ".gemini/settings.json", "{\n  \"theme\": \"dark\"\n}\n", compact},
		{"nothing in them, in one line", "claude-code", ".claude/settings.json", "{\n  \"hooks\": {\n    \"Stop\": []\n  }\n}\n", compact},
		{"nothing in them, indented", "claude-code", ".claude.json", `{"mcpServers":{},"projects":{"/src":{}}}`, indented},
		{"nothing in it", "cursor", ".cursor/mcp.json", "{}", indented},
		{"other tables", "codex", ".codex/config.toml", "model = 'x'\n\n[mcp_servers.other]\ncommand = 'y'\n", encoded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home := resolved(t, t.TempDir())
			file := filepath.Join(home, filepath.FromSlash(tt.file))
			if tt.text != "" {
				put(t, home, tt.file, tt.text)
			}
			write(t, home, planned(t, home, tt.agent))
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Contains(t, string(text), binary)
			require.NoError(t, os.WriteFile(file, tt.rewrite(t, text), 0o600))

			changes, notes, err := find(t, home, tt.agent).Removal(setup.User, binary)
			require.NoError(t, err)
			require.Empty(t, notes)
			write(t, home, changes)
			if tt.text == "" {
				require.NoFileExists(t, file)
				return
			}
			left, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(tt.rewrite(t, []byte(tt.text))), string(tt.rewrite(t, left)))
		})
	}
}

// Without records, such as after the state folder was deleted, memcore's entries are found as well.
func TestTakingOutWithoutRecords(t *testing.T) {
	home := resolved(t, t.TempDir())
	put(t, home, ".gemini/settings.json", "{\n  \"theme\": \"dark\"\n}\n")
	before := files(t, home)
	for _, agent := range []string{"claude-code", "gemini-cli", "codex", "cursor"} {
		write(t, home, planned(t, home, agent))
	}
	require.NoError(t, os.Remove(options(home).Records))
	for _, agent := range []string{"claude-code", "gemini-cli", "codex", "cursor"} {
		changes, _, err := find(t, home, agent).Removal(setup.User, binary)
		require.NoError(t, err)
		write(t, home, changes)
	}
	require.Equal(t, before, files(t, home))
}

// Entries of two runs of init are taken back together, and settings are, too.
func TestTakingBackSeveralRuns(t *testing.T) {
	home := resolved(t, t.TempDir())
	put(t, home, ".gemini/settings.json", `{"theme":"dark"}`)
	config := put(t, home, ".beans/config.yaml", "# mine\nmemory:\n  limit: 3")
	before := files(t, home)
	agent := find(t, home, "gemini-cli")
	for _, want := range []setup.Want{{Hooks: true}, {MCP: true}, {MCP: true, TrustMCP: true}} {
		changes, _, err := agent.Plan(setup.User, binary, want)
		require.NoError(t, err)
		require.Len(t, changes, 1)
		write(t, home, changes)
	}
	for _, s := range [][]setup.Setting{{{Key: "hook.index", Value: "all"}, {Key: "fileNames", Value: "[BEANS.md, CLAUDE.md]"}}, {{Key: "hook.log", Value: "false"}}} {
		var p setup.Proposal
		require.NoError(t, p.AddSettings(options(home), config, s, true))
		write(t, home, p.Changes)
	}
	require.Equal(t, "# mine\nmemory:\n  fileNames: [BEANS.md, CLAUDE.md]\n  hook:\n    log: false\n    index: all\n  limit: 3\n", files(t, home)[".beans/config.yaml"])

	changes, _, err := agent.Removal(setup.User, binary)
	require.NoError(t, err)
	require.Len(t, changes, 1)
	require.Equal(t, "-5 hooks, -MCP server", changes[0].What)
	p := setup.Proposal{Changes: changes}
	require.NoError(t, p.RemoveSettings(options(home), config))
	require.Empty(t, p.Notes)
	write(t, home, p.Changes)
	require.Equal(t, before, files(t, home))

	// What a person has changed since stays, and a note says what to delete.
	p = setup.Proposal{}
	require.NoError(t, p.AddSettings(options(home), config, []setup.Setting{{Key: "hook.index", Value: "all"}}, true))
	write(t, home, p.Changes)
	put(t, home, ".beans/config.yaml", files(t, home)[".beans/config.yaml"]+"  threshold: 0.2\n")
	p = setup.Proposal{}
	require.NoError(t, p.RemoveSettings(options(home), config))
	require.Empty(t, p.Changes)
	require.Len(t, p.Notes, 1)
	require.Contains(t, p.Notes[0].Text, "hook.index: all")

	// What is there already is no change.
	p = setup.Proposal{}
	require.NoError(t, p.AddSettings(options(home), config, []setup.Setting{{Key: "hook.index", Value: "all"}}, true))
	require.Empty(t, p.Changes)

	// Other commands' settings stay.
	p = setup.Proposal{}
	require.NoError(t, p.AddSettings(options(home), config, []setup.Setting{{Key: "embedder", Value: "none"}}, false))
	write(t, home, p.Changes)
	p = setup.Proposal{}
	require.NoError(t, p.RemoveSettings(options(home), config))
	require.Empty(t, p.Changes)
}

// Records hold places, and no text of the files.
func TestRecordsHoldNoText(t *testing.T) {
	home := resolved(t, t.TempDir())
	put(t, home, ".claude.json", `{"token":"sesame","mcpServers":{}}`)
	write(t, home, planned(t, home, "claude-code"))
	kept, err := os.ReadFile(options(home).Records)
	require.NoError(t, err)
	require.Contains(t, string(kept), `"mcpServers"`)
	require.NotContains(t, string(kept), "sesame")
	require.NotContains(t, string(kept), "token")
}

// A skill that memcore wrote is brought up to date and taken out, also without a record; one that
// was changed since stays.
func TestRecallStaysWithItsOwner(t *testing.T) {
	home := resolved(t, t.TempDir())
	file := filepath.Join(home, ".claude", "skills", "recall", "SKILL.md")
	plan := func(path string) []setup.Note {
		changes, noted, err := find(t, home, agents.ClaudeCode).Plan(setup.User, path, setup.Want{Recall: true})
		require.NoError(t, err)
		write(t, home, changes)
		return noted
	}
	remove := func() []setup.Note {
		changes, noted, err := find(t, home, agents.ClaudeCode).Removal(setup.User, binary)
		require.NoError(t, err)
		write(t, home, changes)
		return noted
	}
	plan("/old/memcore")
	require.Empty(t, plan(binary))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), "`"+binary+" read NAME`")
	require.NotContains(t, string(text), "/old/memcore")

	require.NoError(t, os.WriteFile(file, append(text, "And greet me.\n"...), 0o600))
	require.Len(t, plan("/new/memcore"), 1)
	require.Len(t, remove(), 1)
	changed, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(text)+"And greet me.\n", string(changed))

	require.NoError(t, os.WriteFile(file, text, 0o600))
	require.NoError(t, os.Remove(options(home).Records))
	require.Empty(t, remove())
	require.NoDirExists(t, filepath.Dir(file))
	require.DirExists(t, filepath.Dir(filepath.Dir(file)), "other skills stay")
}
