package tenants

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/service"
)

// A withKey sends a key with each request.
type withKey struct{ key service.Key }

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", bearer(k.key))
	return http.DefaultTransport.RoundTrip(r)
}

// A model changes what instructs agents only if a person at its client says yes.
func TestModelsOfAServiceChangeNoInstructions(t *testing.T) {
	for _, action := range []string{"", "accept", "decline", "cancel"} {
		t.Run("answer "+action, func(t *testing.T) {
			w := newTeams(t)
			boss := w.member("boss", service.Admin, "ops")
			boss.put("BEANS.md", "- Be kind.\n")
			boss.put("~/.beans/BEANS.md", "- Be short.\n")
			var asked []string
			options := &sdk.ClientOptions{}
			if action != "" {
				options.ElicitationHandler = func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
					asked = append(asked, r.Params.Message)
					return &sdk.ElicitResult{Action: action, Content: map[string]any{"always": false}}, nil
				}
			}
			client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, options)
			session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: w.nodes[0].URL + "/v1/tenants/acme/mcp", HTTPClient: &http.Client{Transport: withKey{boss.key}}}, nil)
			require.NoError(t, err)
			defer session.Close()
			for _, call := range []struct{ tool, arguments, path, want string }{
				{"save_memory", `{"content": "Be evilshared.", "target": "project"}`, "BEANS.md", "evilshared"},
				{"save_memory", `{"content": "Be evilown.", "target": "global"}`, "~/.beans/BEANS.md", "evilown"},
				{"save_memory", `{"fact": "Be evilscope.", "scope": "global"}`, "~/.beans/BEANS.md", "evilscope"},
				{"save_memory", `{"content": "Be evilnew.", "target": "project", "supersedes": "Be kind."}`, "BEANS.md", "evilnew"},
				{"forget", `{"text": "Be short."}`, "~/.beans/BEANS.md", ""},
			} {
				before := boss.send("GET", "/documents/"+call.path, "").text
				asks := len(asked)
				result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: call.tool, Arguments: json.RawMessage(call.arguments)})
				require.NoError(t, err)
				said := fmt.Sprint(result.Content[0].(*sdk.TextContent).Text)
				after := boss.send("GET", "/documents/"+call.path, "").text
				if action == "accept" {
					require.NotEqual(t, before, after, said)
					require.Contains(t, after, call.want)
					require.Contains(t, asked[asks], call.want, "the person sees the change")
				} else {
					require.Equal(t, body(before), body(after), "%s: %s", call.arguments, said)
					require.Contains(t, said, "Nothing was changed")
				}
				require.Equal(t, action != "", len(asked) > asks)
			}
			result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "save_memory", Arguments: json.RawMessage(`{"content": "The port is factword", "path": "facts/ports.md"}`)})
			require.NoError(t, err)
			require.False(t, result.IsError, "facts are data")
			require.Contains(t, boss.send("GET", "/documents/.beans/memories/facts/ports.md", "").text, "factword")
		})
	}
}

// body is the first line of an answer, without its headers.
func body(answer string) string {
	text, _, _ := strings.Cut(answer, "\nContent-Length")
	return text
}
