package session

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

var update = flag.Bool("update", false, "write the golden file")

// The definition of recall_memory and its answers stay as models know them.
func TestRecallTool(t *testing.T) {
	d := newFixture(t)
	d.say("user", "User asked about the authentication flow, discussed OAuth2 vs JWT")
	d.detail("auth-design.md", "# Authentication Design\n\n<!--\nMETA:\n- created: 2024-01-15T10:30:00Z\n- keywords: [\"authentication\", \"jwt\"]\n-->\n\nDecided to use JWT tokens with refresh rotation.\n")
	tool := RecallTool(func(context.Context) ([]*Session, error) { return []*Session{d.session()}, nil }, RecallOptions{})
	definition, err := json.MarshalIndent(tool.Definition(), "", "  ")
	require.NoError(t, err)
	var b strings.Builder
	b.WriteString(string(definition) + "\n\n")
	for _, arguments := range []string{`{"query": "authentication"}`, `{"query": "zebra", "scope": "detail", "limit": 1}`, `{"query": "x", "scope": "galaxy"}`} {
		b.WriteString("> recall_memory " + arguments + "\n")
		answer, err := tool.Call(t.Context(), []byte(arguments))
		if err != nil {
			b.WriteString("error: " + err.Error() + "\n\n")
			continue
		}
		found := answer.Data.(RecallResult)
		for i := range found.Results {
			found.Results[i].File, found.Results[i].Score = "", 0
		}
		data, err := json.Marshal(found)
		require.NoError(t, err)
		b.WriteString(answer.Text + "\n" + string(data) + "\n\n")
	}
	file := filepath.Join("testdata", "recall_memory.txt")
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
}
