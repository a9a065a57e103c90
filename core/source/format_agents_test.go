package source

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The logs of each agent are found where it keeps them: those of the project, and no other's.
func TestKnownAgents(t *testing.T) {
	home := tree(t, nil)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("XDG_DATA_HOME", "")
	shop, other := filepath.Join(home, "shop"), filepath.Join(home, "my-shop")
	write(t, filepath.Join(shop, "README.md"), "")
	for name, cwd := range map[string]string{"own": shop, "strange": other} {
		in := func(path, text string) {
			write(t, filepath.Join(home, filepath.FromSlash(path)), fmt.Sprintf(text+"\n", filepath.ToSlash(cwd)))
		}
		in(".qwen/projects/"+claudeFolder(shop)+"/chats/"+name+".jsonl", `{"uuid":"q","sessionId":"s","cwd":%q,"type":"user","message":{"role":"user","parts":[{"text":"hi"}]}}`)
		in(".qwen/projects/"+claudeFolder(shop)+"/memory.md", `# %s`)
		in(".omp/agent/sessions/--"+name+"--/s.jsonl", `{"type":"session","id":"s","version":3,"cwd":%q}`)
		in(".openclaw/agents/main/sessions/"+name+".jsonl", `{"type":"session","id":"s","version":3,"cwd":%q}`)
		in(".cline/data/sessions/"+name+"/"+name+".json", `{"version":1,"session_id":"c","cwd":%q}`)
		in(".cline/data/sessions/"+name+"/"+name+".messages.json", `{"version":1,"updated_at":"u","agent":"lead","sessionId":"c","origin":{"x":%q},"messages":[{"role":"user","content":"hi"}]}`)
	}
	var got []string
	for _, s := range knownOf(shop, home) {
		got = append(got, pathsOf(listOf(t, s))...)
	}
	require.ElementsMatch(t, []string{
		"~/.qwen/projects/" + claudeFolder(shop) + "/chats/own.jsonl",
		"~/.openclaw/agents/main/sessions/own.jsonl", "~/.omp/agent/sessions/--own--/s.jsonl",
		"~/.cline/data/sessions/own/own.messages.json",
	}, got)
}
