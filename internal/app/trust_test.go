package app

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// Who is asked about a change of a folder that nobody trusts is told so, and may trust it with the
// same answer.
func TestTrustWithAnAnswer(t *testing.T) {
	s := newTestService(t)
	require.NoError(t, os.WriteFile(filepath.Join(s.Project, "BEANS.md"), []byte("Use tabs.\n"), 0o600))
	trusts := false
	var asked []*sdk.ElicitParams
	server := httptest.NewServer(mcpOf(t, s).Handler(""))
	defer server.Close()
	client := sdk.NewClient(&sdk.Implementation{Name: "test"}, &sdk.ClientOptions{ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		asked = append(asked, r.Params)
		return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"offer": trusts}}, nil
	}})
	at, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: server.URL}, nil)
	require.NoError(t, err)
	defer at.Close()
	save := func(text string) string {
		result, err := at.CallTool(t.Context(), &sdk.CallToolParams{Name: "save_memory", Arguments: map[string]any{"content": text}})
		require.NoError(t, err)
		return result.Content[0].(*sdk.TextContent).Text
	}
	for _, tt := range []struct {
		name, save       string
		trusts           bool
		asked, box, says string
	}{
		{"not trusted", "The port is 5432", false, "Its folder is not trusted, so agents only find it as reference", "Trust the folder", "only find BEANS.md as reference"},
		{"trusted now", "The cache is on 6379", true, "Memory files: 1 (BEANS.md)", "Trust the folder", "Saved to BEANS.md, line 6."},
		{"trusted before", "The queue is on 4222", false, "which agents are given as instructions", "", "Saved to BEANS.md, line 7."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked, trusts = nil, tt.trusts
			said := save(tt.save)
			require.Len(t, asked, 1)
			require.Contains(t, asked[0].Message, tt.asked)
			form, err := json.Marshal(asked[0].RequestedSchema)
			require.NoError(t, err)
			require.Equal(t, tt.box != "", strings.Contains(string(form), "Trust the folder"), string(form))
			require.Contains(t, said, tt.says)
			require.Equal(t, tt.name == "not trusted", strings.Contains(said, "reference"), said)
		})
	}
}
