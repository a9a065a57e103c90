package setup_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/inject/setup"
)

var everything = setup.Want{Hooks: true, MCP: true}

// put writes a file below a home folder.
func put(t *testing.T, home, name, text string) string {
	t.Helper()
	file := filepath.Join(home, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// Without a home folder, the error says what to do.
func TestNoHomeFolder(t *testing.T) {
	o := setup.Options{Project: resolved(t, t.TempDir())}
	for _, a := range setup.Find(o) {
		require.False(t, a.Installed(), a.Name)
		_, _, err := a.Plan(setup.User, binary, everything)
		require.EqualError(t, err, "there is no home folder: set HOME, or use --project", a.Name)
		changes, notes, err := a.Removal(setup.User, binary)
		require.NoError(t, err, a.Name)
		require.Empty(t, changes, a.Name)
		require.Empty(t, notes, a.Name)
		changes, _, err = a.Plan(setup.Project, binary, everything)
		require.NoError(t, err, a.Name)
		require.NotEmpty(t, changes, a.Name)
		for _, c := range changes {
			require.True(t, strings.HasPrefix(c.File, o.Project), c.File)
		}
	}
}

// Large files are refused and stay.
func TestLargeFiles(t *testing.T) {
	for _, tt := range []struct{ agent, file, text, want string }{
		{agents.Codex, ".codex/config.toml", strings.Repeat("# memcore\n", 30_000), "~/.codex/config.toml: it is larger than 256 KiB, which memcore does not change"},
		{agents.GeminiCLI, ".gemini/settings.json", `{"memcore": "` + strings.Repeat("x", 8<<20) + `"}`, "~/.gemini/settings.json: it is larger than 8 MB, which memcore does not change"},
	} {
		home := resolved(t, t.TempDir())
		put(t, home, tt.file, tt.text)
		before := files(t, home)
		_, _, err := find(t, home, tt.agent).Plan(setup.User, binary, everything)
		require.EqualError(t, err, tt.want)
		require.Equal(t, before, files(t, home))
	}
}

// Diffs show files that are created or removed.
func TestDiffsOfWholeFiles(t *testing.T) {
	home := resolved(t, t.TempDir())
	agent := find(t, home, agents.ClaudeCode)
	changes, _, err := agent.Plan(setup.User, binary, setup.Want{MCP: true})
	require.NoError(t, err)
	require.Len(t, changes, 1)
	require.Contains(t, changes[0].Diff(), "--- /dev/null\n+++ b/~/.claude.json\n")
	write(t, home, changes)
	changes, _, err = agent.Removal(setup.User, binary)
	require.NoError(t, err)
	require.Len(t, changes, 1)
	require.Contains(t, changes[0].Diff(), "--- a/~/.claude.json\n+++ /dev/null\n")
}

// The error names a broken file, and no file is changed.
func TestTakingOutOfABrokenFile(t *testing.T) {
	home := resolved(t, t.TempDir())
	write(t, home, planned(t, home, agents.GeminiCLI))
	put(t, home, ".codex/config.toml", "[mcp_servers.memcore\n")
	before := files(t, home)
	_, err := setup.ProposeRemoval([]setup.Agent{find(t, home, agents.GeminiCLI), find(t, home, agents.Codex)}, []setup.Scope{setup.User}, binary)
	require.ErrorContains(t, err, "Codex: ~/.codex/config.toml: it is not valid TOML: line 1")
	require.Equal(t, before, files(t, home))
}

func planned(t *testing.T, home, agent string) []setup.Change {
	t.Helper()
	changes, _, err := find(t, home, agent).Plan(setup.User, binary, everything)
	require.NoError(t, err)
	return changes
}

// A broken file of the other scope stops nothing.
func TestABrokenFileOfTheOtherScope(t *testing.T) {
	home := resolved(t, t.TempDir())
	put(t, home, ".claude/settings.json", `{"memcore": `)
	require.NoError(t, os.Mkdir(filepath.Join(home, "project"), 0o755))
	p, err := setup.Propose([]setup.Agent{find(t, home, agents.ClaudeCode)}, setup.Project, binary, everything)
	require.NoError(t, err)
	require.Len(t, p.Changes, 2)
	for _, n := range p.Notes {
		require.NotContains(t, n.Text, "run twice")
	}
}

// Files that lead out of the folder are not read; an error or a note says so.
func TestFilesThatLeadElsewhere(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	outside := put(t, resolved(t, t.TempDir()), "elsewhere", "memcore")
	for name, agent := range map[string]string{".codex/config.toml": agents.Codex, ".claude/settings.json": agents.ClaudeCode} {
		home := resolved(t, t.TempDir())
		link := filepath.Join(home, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(link), 0o755))
		require.NoError(t, os.Symlink(outside, link))
		_, _, err := find(t, home, agent).Plan(setup.User, binary, everything)
		require.ErrorContains(t, err, "~/"+name+" leads to "+outside)
		changes, notes, err := find(t, home, agent).Removal(setup.User, binary)
		require.NoError(t, err)
		require.Empty(t, changes)
		require.NotEmpty(t, notes)
		require.Contains(t, notes[0].Text, "not looked at: ~/"+name+" leads to "+outside)
	}
}

// A missing folder has no memory files.
func TestFoldersThatAreNotThere(t *testing.T) {
	got, err := setup.Look(t.Context(), filepath.Join(t.TempDir(), "absent"), nil, nil)
	require.NoError(t, err)
	require.Empty(t, got.MemoryFiles)
}
