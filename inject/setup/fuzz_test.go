package setup_test

import (
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/inject/setup"
)

// Removal undoes Plan byte for byte in any file without memcore. Doing either twice changes
// nothing.
func FuzzInstallAndUninstall(f *testing.F) {
	for _, text := range []string{
		"", "\n", "{}", "{ }", "{\n}\n", "\ufeff{}\r\n", `{"hooks":{}}`, `{"hooks":{"Stop":[]},"mcpServers":{ }}`, `{"a":1}`, `{"a":1,}`, "{\"version\": 1}\n",
		"{\n  // one\n  \"a\": 1 // two\n}", "{\"a\":1 /*//*/}", "{\n\t\"a\": [1], /* x */ // y\n}\n", "{\r\n    \"a\": 1\r\n}\r\n",
		`{"hooks":{"sessionStart":[{"command":"other"}],},"version":1}`, `{"hooks":{"Stop":[{"matcher":"","hooks":[{"type":"command","command":"x"}]}]}}`,
		"{\"hooks\": { /* mine */ }, \"hooks\": {\"Stop\": [ ]}}", "a = 1", "a = 1\n# end", "[mcp_servers.other]\ncommand = \"x\"\n\n# note\n", "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = \"x\"\n",
		`{"hooks":{"Stop":[{"hooks":[{"command":"memcore hook x"},{"command":"memcore hook"}]},{"hooks":[{"command":"memcore hook y"}]}],"x":[{"command":"/a/memcore hook"}]}}`,
		`{"mcpServers":{"memcore":{"command":"/a/memcore","args":["mcp"]}},"hooks":{"x":[{"hooks":[{"command":"memcore hook x"}]}]}}`,
		"[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = \"memcore hook x\"\n[[hooks.Stop.hooks]]\ncommand = 'memcore hook y'\n[mcp_servers.memcore]\ncommand = 'memcore'\nargs = [\"mcp\"]\n",
		"[hooks.state.x]\ny = 1\r\n", "hooks = {}\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		home := t.TempDir()
		o := options(home)
		for i, name := range []string{".claude/settings.json", ".gemini/settings.json", ".cursor/hooks.json", ".cursor/mcp.json", ".codex/hooks.json", ".codex/config.toml"} {
			agent := setup.Find(o)[[]int{0, 1, 3, 3, 2, 2}[i]]
			file := filepath.Join(home, filepath.FromSlash(name))
			require.NoError(t, os.RemoveAll(filepath.Dir(file)))
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			there, _, err := agent.Removal(setup.User, binary)
			if err != nil {
				continue // the file is broken
			}
			changes, _, err := agent.Plan(setup.User, binary, setup.Want{Hooks: true, MCP: true})
			if err != nil {
				continue
			}
			write(t, home, changes)
			again, _, err := agent.Plan(setup.User, binary, setup.Want{Hooks: true, MCP: true})
			require.NoError(t, err)
			require.Empty(t, again, "%s: the second time", name)
			changes, _, err = agent.Removal(setup.User, binary)
			require.NoError(t, err, name)
			write(t, home, changes)
			changes, _, err = agent.Removal(setup.User, binary)
			require.NoError(t, err, name)
			require.Empty(t, changes, "%s: taken out the second time", name)
			if len(there) > 0 {
				continue // it was there before it was entered
			}
			got, err := os.ReadFile(file)
			require.NoError(t, err, name)
			require.Equal(t, text, string(got), name)
		}
	})
}

const binary = "/opt/memcore/bin/memcore"

// write applies changes.
func write(t *testing.T, home string, changes []setup.Change) {
	t.Helper()
	require.NoError(t, options(home).Apply(t.Context(), notes.OpenJournal(t.TempDir()), changes))
}
