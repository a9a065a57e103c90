package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/tools"
)

// A keeper's only tool changes what the user allows.
type keeper struct{ fakeMemory }

func (k *keeper) Tools() []tools.Tool {
	return []tools.Tool{tools.New("keep", "Keep.", func(ctx context.Context, p params) (tools.Answer, error) {
		q := Question{Subject: p.Query, Text: "Keep " + p.Query + "?"}
		if p.Query == "jam" {
			q.Offer = "Open it, too"
		}
		yes, also, err := Ask(ctx, q)
		if errors.Is(err, notes.ErrUnasked) {
			return tools.Answer{Text: "waits"}, nil
		}
		if also {
			return tools.Answer{Text: "both"}, err
		}
		return tools.Answer{Text: fmt.Sprint("allowed: ", yes)}, err
	})}
}

// Clients of all versions ask the user, over both transports.
func TestAsk(t *testing.T) {
	yes := func(content map[string]any) *mcp.ElicitResult {
		return &mcp.ElicitResult{Action: "accept", Content: content}
	}
	for name, tt := range map[string]struct {
		answers []*mcp.ElicitResult // to each question; nil is an error
		calls   []string            // subjects, one after another
		want    []string
		asked   []string
	}{
		"accept":  {[]*mcp.ElicitResult{yes(nil), yes(map[string]any{"always": false})}, []string{"a", "a"}, []string{"allowed: true", "allowed: true"}, []string{"Keep a?", "Keep a?"}},
		"offer":   {[]*mcp.ElicitResult{yes(map[string]any{"offer": true})}, []string{"jam", "a"}, []string{"both", "allowed: true"}, []string{"Keep jam?", "Keep a?"}},
		"decline": {[]*mcp.ElicitResult{{Action: "decline"}, yes(nil)}, []string{"a", "a"}, []string{"allowed: false", "allowed: true"}, []string{"Keep a?", "Keep a?"}},
		"cancel":  {[]*mcp.ElicitResult{{Action: "cancel"}}, []string{"a"}, []string{"waits"}, []string{"Keep a?"}},
		"always":  {[]*mcp.ElicitResult{yes(map[string]any{"always": true}), yes(nil)}, []string{"a", "a", "b", "a"}, []string{"allowed: true", "allowed: true", "allowed: true", "allowed: true"}, []string{"Keep a?", "Keep b?"}},
	} {
		for transport, connect := range transports {
			t.Run(name+" over "+transport, func(t *testing.T) {
				server := New(&keeper{}, Options{Poll: -1, Logger: slog.New(slog.DiscardHandler)})
				var asked []string
				session := connect(t, server, mcp.NewClient(&mcp.Implementation{Name: "test"}, &mcp.ClientOptions{
					ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						asked = append(asked, r.Params.Message)
						return tt.answers[min(len(asked), len(tt.answers))-1], nil
					}}))
				for i, subject := range tt.calls {
					result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "keep", Arguments: map[string]any{"query": subject}})
					require.NoError(t, err)
					require.Equal(t, tt.want[i], result.Content[0].(*mcp.TextContent).Text)
				}
				if name == "always" && transport == "HTTP" { // which has no sessions in this version: it is not offered
					require.Len(t, asked, len(tt.calls))
					return
				}
				require.Equal(t, tt.asked, asked)
			})
		}
	}
}

// Older clients ask the user during the call.
func TestAskOlderClients(t *testing.T) {
	for answer, want := range map[string]string{
		`"result":{"action":"accept","content":{"always":true}}`: "allowed: true",
		`"result":{"action":"decline"}`:                          "allowed: false",
		`"result":{"action":"cancel"}`:                           "waits",
		`"error":{"code":-32603,"message":"no window"}`:          "waits",
	} {
		t.Run(answer, func(t *testing.T) {
			server := New(&keeper{}, Options{Poll: -1, Logger: slog.New(slog.DiscardHandler)})
			in, input := io.Pipe()
			output, out := io.Pipe()
			served := make(chan error, 1)
			go func() { served <- server.ServeStdio(t.Context(), in, out) }()
			said := bufio.NewScanner(output)
			asked := 0
			ask := func(line string) string {
				_, err := io.WriteString(input, line+"\n")
				require.NoError(t, err)
				for said.Scan() {
					var m struct {
						ID     any
						Method string
					}
					require.NoError(t, json.Unmarshal(said.Bytes(), &m))
					if m.Method == "elicitation/create" {
						asked++
						require.Contains(t, said.Text(), `"Always allow in this session"`)
						id, err := json.Marshal(m.ID)
						require.NoError(t, err)
						_, err = fmt.Fprintf(input, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", id, answer)
						require.NoError(t, err)
					} else if m.Method == "" {
						return said.Text()
					}
				}
				return ""
			}
			ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"x","version":"1"}}}`)
			_, err := io.WriteString(input, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
			require.NoError(t, err)
			for id := range 2 {
				require.Contains(t, ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"keep","arguments":{"query":"a"}}}`, id+2)), want)
			}
			if strings.Contains(answer, "always") {
				require.Equal(t, 1, asked)
			} else {
				require.Equal(t, 2, asked)
			}
			go io.Copy(io.Discard, output)
			require.NoError(t, input.Close())
			require.NoError(t, <-served)
			require.NoError(t, out.Close())
		})
	}
}

// An answer to another question does not count.
func TestAnswerToAnotherQuestion(t *testing.T) {
	server := New(&keeper{}, Options{Poll: -1, Logger: slog.New(slog.DiscardHandler)})
	asked := 0
	client := mcp.NewClient(&mcp.Implementation{Name: "test"}, &mcp.ClientOptions{MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { asked++; return nil, nil }})
	session := transports["stdio"](t, server, client)
	keep := func(subject, state string) *mcp.CallToolResult {
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "keep", Arguments: map[string]any{"query": subject}, RequestState: state,
			InputResponses: mcp.InputResponseMap{confirmation: &mcp.ElicitResult{Action: "accept"}}})
		require.NoError(t, err)
		return result
	}
	first := keep("a", "")
	require.True(t, first.NeedsInput())
	require.True(t, keep("b", first.RequestState).NeedsInput(), "what was asked about was a")
	require.Equal(t, "allowed: true", keep("a", first.RequestState).Content[0].(*mcp.TextContent).Text)
	require.Zero(t, asked)
}

func TestAskNobody(t *testing.T) {
	_, _, err := Ask(t.Context(), Question{Subject: "a", Text: "Keep a?"})
	require.ErrorIs(t, err, notes.ErrUnasked)
	for transport, connect := range transports {
		t.Run(transport, func(t *testing.T) {
			server := New(&keeper{}, Options{Poll: -1, Logger: slog.New(slog.DiscardHandler)})
			session := connect(t, server, mcp.NewClient(&mcp.Implementation{Name: "test"}, nil))
			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "keep", Arguments: map[string]any{"query": "a"}})
			require.NoError(t, err)
			require.Equal(t, "waits", result.Content[0].(*mcp.TextContent).Text)
		})
	}
}
