package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/tools"
	"github.com/memcore/memcore/inject/httpapi"
)

// HTTP and tools have the filters of the command line.
func TestFiltersOfService(t *testing.T) {
	s := openTestService(t, map[string]string{
		"notes/ferry.md": "# Ferry\n\nThe ferry to Brandholm is blue.\n",
		"chat.jsonl": `{"role":"user","content":"The ferry to Brandholm is green.","timestamp":"2026-11-11T09:00:00Z"}` + "\n" +
			`{"role":"user","content":"The ferry to Brandholm is yellow.","timestamp":"2026-11-17T09:00:00Z"}` + "\n",
	})
	project := s.Project
	_, err := s.Reindex(t.Context(), httpapi.IndexRequest{})
	require.NoError(t, err)
	server := httpapi.New(httpapi.Options{
		Open:        func(context.Context, string) (httpapi.Workspace, error) { return kept{s}, nil },
		WorkspaceOf: func(folder string) (string, error) { return folder, nil },
		Logger:      s.Log,
	}, func() {})
	defer server.Close()

	for _, road := range []string{"/v1/retrieve", "/v1/search", "search_memory"} {
		ask := func(filter string) (status int, answer string) {
			body := `{"query": "which colour has the ferry to Brandholm?"` + filter + `}`
			if strings.HasPrefix(road, "/") {
				w := httptest.NewRecorder()
				body = fmt.Sprintf(`{"workspace": %q, %s`, project, body[1:])
				server.Handler().ServeHTTP(w, httptest.NewRequest("POST", road, strings.NewReader(body)))
				return w.Code, w.Body.String()
			}
			tool := s.Tools()[slices.IndexFunc(s.Tools(), func(tool tools.Tool) bool { return tool.Name == road })]
			said, err := tool.Call(t.Context(), []byte(body))
			if err != nil {
				require.ErrorIs(t, err, tools.ErrArguments)
				return 400, err.Error()
			}
			return 200, said.Text
		}
		for filter, want := range map[string]string{
			``:                       "blue green yellow",
			`, "kind": "markdown"`:   "blue",
			`, "kind": "document"`:   "",
			`, "path": "chat.jsonl"`: "green yellow",
			`, "path": "notes"`:      "blue",
			`, "path": "nowhere"`:    "",
			`, "kind": "conversation", "since": "2026-11-17"`:                                  "yellow",
			`, "kind": "conversation", "until": "2026-11-11"`:                                  "green",
			`, "kind": "conversation", "since": "2026-11-11T08:00:00Z", "until": "2026-11-12"`: "green",
		} {
			status, answer := ask(filter)
			require.Equal(t, 200, status, "%s%s: %s", road, filter, answer)
			found := 0
			for _, colour := range []string{"blue", "green", "yellow"} {
				if strings.Contains(answer, "is "+colour) {
					found++
					require.Contains(t, want, colour, "%s%s", road, filter)
				}
			}
			require.Equal(t, want != "", found > 0, "%s%s: %s", road, filter, answer)
		}
		for filter, want := range map[string]string{
			`, "since": "soon"`:                              `names no time`,
			`, "until": "05/07/2023"`:                        `can be read in two ways`,
			`, "since": "2026-11-12", "until": "2026-11-10"`: `is not before until`,
			`, "kind": "mail"`:                               `mail`,
		} {
			status, answer := ask(filter)
			require.Equal(t, 400, status, "%s%s: %s", road, filter, answer)
			require.Contains(t, answer, want, "%s%s", road, filter)
		}
		if road == "/v1/retrieve" { // what a client was given is not given again
			_, answer := ask(`, "kind": "markdown"`)
			var first httpapi.Retrieved
			require.NoError(t, json.Unmarshal([]byte(answer), &first))
			_, answer = ask(fmt.Sprintf(`, "kind": "markdown", "given": [%q]`, first.Hits[0].ID))
			require.NotContains(t, answer, "is blue")
		}
		if strings.HasPrefix(road, "/") {
			status, answer := ask(`, "now": "2026-11-18T12:00:00Z", "kind": "conversation", "since": "last week", "until": "last week"`)
			require.Equal(t, 200, status)
			require.Contains(t, answer, "is green")
			require.NotContains(t, answer, "is yellow")
			status, answer = ask(`, "now": "soon"`)
			require.Equal(t, 400, status)
			require.Contains(t, answer, "now: ")
		}
	}
}

// A kept service stays open when the server closes it.
type kept struct{ *Service }

func (kept) Close() error { return nil }
