package agenthome

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// clean unsets all variables of the table.
func clean(t *testing.T) {
	t.Helper()
	for _, p := range places {
		if p.variable != "" {
			t.Setenv(p.variable, "")
		}
	}
	for variable := range xdg {
		t.Setenv(variable, "")
	}
}

func TestFoldersOfAgents(t *testing.T) {
	clean(t)
	home := t.TempDir()
	at := func(path string) string { return filepath.Join(home, filepath.FromSlash(path)) }
	require.Equal(t, []string{at(".claude"), at(".config/claude")}, Homes{}.All("claude-code", home))
	require.Equal(t, []string{at(".pi/agent")}, Homes(nil).All("pi", home))
	require.Empty(t, Homes{}.All("openai", home))
	require.Empty(t, Homes{}.All("codex", ""))
	require.Empty(t, Chosen("codex"))
	require.Equal(t, ".codex", Default("codex"))

	t.Setenv("XDG_CONFIG_HOME", at("xdg"))
	require.Equal(t, []string{at(".claude"), at("xdg/claude")}, Homes{}.All("claude-code", home))
	t.Setenv("CLAUDE_CONFIG_DIR", at("work"))
	t.Setenv("CODEX_HOME", at("codex"))
	t.Setenv("GEMINI_CLI_HOME", at("gemini"))
	t.Setenv("PI_CODING_AGENT_DIR", at("pi"))
	require.Equal(t, []string{at("work"), at("private"), at(".claude"), at("xdg/claude")}, Homes{"claude-code": {at("private"), at("work")}}.All("claude-code", home))
	require.Equal(t, []string{at("codex"), at(".codex")}, Homes{}.All("codex", home))
	require.Equal(t, []string{at("gemini/.gemini"), at(".gemini")}, Homes{}.All("gemini-cli", home))
	require.Equal(t, []string{at("pi"), at(".pi/agent")}, Homes{}.All("pi", home))
	t.Setenv("CODEX_HOME", "relative")
	require.True(t, filepath.IsAbs(Chosen("codex")))
}

// Hooks and the daemon may lack the variables.
func TestRemember(t *testing.T) {
	clean(t)
	file := filepath.Join(t.TempDir(), "state", "agents.json")
	require.NoError(t, Remember(t.Context(), file))
	require.NoFileExists(t, file, "there is nothing to remember")
	for _, folder := range []string{"/work", "/private", "/work"} {
		t.Setenv("CLAUDE_CONFIG_DIR", folder)
		require.NoError(t, Remember(t.Context(), file))
	}
	t.Setenv("CLAUDE_CONFIG_DIR", "")
	require.NoError(t, Remember(t.Context(), file))
	known, err := Load(file)
	require.NoError(t, err)
	require.Equal(t, Homes{"claude-code": {"/work", "/private"}}, known)
	require.Contains(t, known.All("claude-code", "/home/ada"), "/private")

	require.NoError(t, os.WriteFile(file, []byte("{"), 0o600))
	_, err = Load(file)
	require.ErrorContains(t, err, file)
	t.Setenv("CODEX_HOME", "/codex")
	require.Error(t, Remember(t.Context(), file))
}
