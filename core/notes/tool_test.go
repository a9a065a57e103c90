package notes

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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

func (d *desk) allTools() []Tool {
	recall := RecallTool(func(context.Context) ([]*Session, error) { return []*Session{d.session()}, nil }, RecallOptions{})
	return append([]Tool{recall}, Tools(d.saver(), d.data())...)
}

func (d *desk) tools() map[string]Tool {
	all := map[string]Tool{}
	for _, tool := range d.allTools() {
		all[tool.Name] = tool
	}
	return all
}

// The schemas are made of Go types; models have seen them as they are.
func TestSchemas(t *testing.T) {
	d := newDesk(t)
	var definitions []any
	for _, tool := range d.allTools() {
		definitions = append(definitions, tool.Definition())
	}
	data, err := json.MarshalIndent(definitions, "", "  ")
	require.NoError(t, err)
	golden(t, "schemas.json", string(data)+"\n")
	require.Len(t, Tools(nil, d.data()), 5)
	require.Len(t, Tools(d.saver(), nil), 1)
}

// A conversation with the tools, as a model has it.
func TestToolAnswers(t *testing.T) {
	d := newDesk(t)
	d.say("user", "User asked about the authentication flow, discussed OAuth2 vs JWT")
	d.detail("auth-design.md", "# Authentication Design\n\n<!--\nMETA:\n- created: 2024-01-15T10:30:00Z\n- keywords: [\"authentication\", \"jwt\"]\n-->\n\nDecided to use JWT tokens with refresh rotation.\n")
	tools := d.tools()
	var b strings.Builder
	for _, call := range []struct{ name, arguments string }{
		{"memory_list", ""},
		{"memory_write", `{"path": "facts/user.md", "content": "# User Facts\n\n- Name: Zhang San\n"}`},
		{"memory_patch", `{"path": "facts/user.md", "patches": [{"oldText": "Zhang San", "newText": "Li Si"}, {"oldText": "nowhere", "newText": "x"}]}`},
		{"memory_append", `{"entry": "## Logger fix\n- Summary: pino leak → custom transport"}`},
		{"memory_append", `{"path": "episodes/2026-01.md", "entry": "## X\n\nthe password is c0rrect-horse", "summary": "mine"}`},
		{"memory_list", "{}"},
		{"memory_read", `{"path": "facts/user.md"}`},
		{"save_memory", `{"fact": "The port is 5432", "scope": "project"}`},
		{"save_memory", `{"content": "the port is 5432"}`},
		{"save_memory", `{"content": ""}`},
		{"memory_read", `{"path": "../secret.md"}`},
		{"memory_read", `{"path": "facts/none.md"}`},
		{"memory_read", `{"file": "facts/user.md"}`},
		{"memory_read", `["facts/user.md"]`},
		{"memory_patch", `{"path": 5}`},
		{"recall_memory", `{"query": "authentication"}`},
		{"recall_memory", `{"query": "zebra", "scope": "detail", "limit": 1}`},
		{"recall_memory", `{"query": "x", "scope": "galaxy"}`},
	} {
		answer, err := tools[call.name].Call(t.Context(), []byte(call.arguments))
		b.WriteString("> " + call.name + " " + call.arguments + "\n")
		if err != nil {
			b.WriteString("error: " + err.Error() + "\n\n")
			continue
		}
		if saved, ok := answer.Data.(toldSaved); ok { // its path is this machine's
			saved.File = ""
			answer.Data = saved
		}
		if found, ok := answer.Data.(Recollection); ok {
			for i := range found.Results {
				found.Results[i].File, found.Results[i].Score = "", 0
			}
		}
		data, err := json.Marshal(answer.Data)
		require.NoError(t, err)
		b.WriteString(answer.Text + "\n" + string(data) + "\n\n")
	}
	golden(t, "answers.txt", b.String())
}
