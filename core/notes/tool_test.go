package notes

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/tools"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got, name)
}

func (d *fixture) allTools() []tools.Tool {
	return append([]tools.Tool{SaveTool(d.saver(), d.data())}, FileTools(d.data())...)
}

func (d *fixture) tools() map[string]tools.Tool {
	all := map[string]tools.Tool{}
	for _, tool := range d.allTools() {
		all[tool.Name] = tool
	}
	return all
}

// The schemas come from Go types and do not change for models.
func TestSchemas(t *testing.T) {
	d := newFixture(t)
	var definitions []any
	for _, tool := range d.allTools() {
		definitions = append(definitions, tool.Definition())
	}
	data, err := json.MarshalIndent(definitions, "", "  ")
	require.NoError(t, err)
	golden(t, "schemas.json", string(data)+"\n")
}

// A model's conversation with the tools.
func TestToolAnswers(t *testing.T) {
	d := newFixture(t)
	available := d.tools()
	var b strings.Builder
	for _, call := range []struct{ name, arguments string }{
		{"memory_list", ""},
		{"memory_write", `{"path": "facts/user.md", "content": "# User Facts\n\n- Name: Zhang San\n"}`},
		{"memory_patch", `{"path": "facts/user.md", "patches": [{"oldText": "Zhang San", "newText": "Li Si"}, {"oldText": "nowhere", "newText": "x"}]}`},
		{"memory_append", `{"entry": "## Logger fix\n- Summary: pino leak → custom transport"}`},
		{"memory_append", `{"path": "episodes/2026-01.md", "entry": "## X\n\nthe password is c0rrect-horse", "summary": "mine"}`},
		{"memory_list", "{}"},
		{"memory_read", `{"path": "facts/user.md"}`},
		{"memory_read", `{}`},
		{"save_memory", `{"content": "- Likes tea", "path": "facts/user.md"}`},
		{"save_memory", `{"content": "## Cache fix\n- Summary: stale cache", "path": "episodes"}`},
		{"save_memory", `{"content": "x", "path": "facts/user.md", "section": "Code"}`},
		{"save_memory", `{"content": "", "path": "facts/user.md"}`},
		{"save_memory", `{"content": "x", "path": "../x.md"}`},
		{"save_memory", `{"fact": "The port is 5432", "scope": "project"}`},
		{"save_memory", `{"content": "the port is 5432"}`},
		{"save_memory", `{"content": ""}`},
		{"memory_read", `{"path": "../secret.md"}`},
		{"memory_read", `{"path": "facts/none.md"}`},
		{"memory_read", `{"file": "facts/user.md"}`},
		{"memory_read", `["facts/user.md"]`},
		{"memory_patch", `{"path": 5}`},
	} {
		answer, err := available[call.name].Call(t.Context(), []byte(call.arguments))
		b.WriteString("> " + call.name + " " + call.arguments + "\n")
		if err != nil {
			b.WriteString("error: " + err.Error() + "\n\n")
			continue
		}
		if saved, ok := answer.Data.(savedAnswer); ok { // its path is this machine's
			saved.File = ""
			answer.Data = saved
		}
		data, err := json.Marshal(answer.Data)
		require.NoError(t, err)
		b.WriteString(answer.Text + "\n" + string(data) + "\n\n")
	}
	golden(t, "answers.txt", b.String())
}
