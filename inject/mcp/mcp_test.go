package mcp

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/notes"
)

// A shelf is a memory of a few files, whose tools do what tools may do.
type shelf struct {
	mu        sync.Mutex
	files     map[string]string
	cancelled chan struct{}
}

func newShelf() *shelf {
	return &shelf{files: map[string]string{"facts/user.md": "# User\n", "with space.md": "space\n", "empty.md": ""}, cancelled: make(chan struct{}, 1)}
}

type params struct {
	Query string   `json:"query" jsonschema:"what"`
	Tags  []string `json:"tags,omitempty"`
}

func (s *shelf) Tools() []notes.Tool {
	return []notes.Tool{
		notes.NewTool("search_memory", "Search.", func(_ context.Context, p params) (notes.Answer, error) {
			if p.Query == "" {
				return notes.Answer{}, errors.New("the query is empty")
			}
			return notes.Answer{Text: "found " + p.Query, Data: []string{p.Query}}, nil
		}, notes.ReadOnly),
		notes.NewTool("write", "Write.", func(_ context.Context, p params) (notes.Answer, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.files[p.Query] = "new\n"
			return notes.Answer{Text: "written", Data: map[string]bool{"success": true}}, nil
		}, notes.Destructive),
		notes.NewTool("slow", "Wait.", func(ctx context.Context, p params) (notes.Answer, error) {
			for i := range 3 {
				Progress(ctx, i+1, 3, "step")
			}
			if p.Query == "for ever" {
				<-ctx.Done()
				s.cancelled <- struct{}{}
			}
			return notes.Answer{Text: "done"}, ctx.Err()
		}, notes.ReadOnly),
		notes.NewTool("panic", "Panic.", func(context.Context, params) (notes.Answer, error) { panic("oh") }),
	}
}

func (s *shelf) Files(context.Context) ([]File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []File
	for name, text := range s.files {
		all = append(all, File{URI: Scheme + strings.ReplaceAll(name, " ", "%20"), Name: name, Size: int64(len(text))})
	}
	return all, nil
}

func (s *shelf) Read(_ context.Context, uri string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, ok := s.files[strings.ReplaceAll(strings.TrimPrefix(uri, Scheme), "%20", " ")]
	if !ok {
		return "", ErrNoFile
	}
	return text, nil
}

func (s *shelf) Curated(context.Context) (string, error) { return "# Curated", nil }

// roads connect a client to a server in each way there is.
var roads = map[string]func(t *testing.T, s *Server, c *mcp.Client) *mcp.ClientSession{
	"stdio": func(t *testing.T, s *Server, c *mcp.Client) *mcp.ClientSession {
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		served := make(chan error, 1)
		go func() { served <- s.ServeStdio(t.Context(), in, out) }()
		session, err := c.Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
		require.NoError(t, err)
		t.Cleanup(func() {
			require.NoError(t, toServer.Close())
			select {
			case err := <-served:
				require.NoError(t, err)
			case <-time.After(10 * time.Second):
				t.Error("the server does not end with its input")
			}
		})
		return session
	},
	"HTTP": func(t *testing.T, s *Server, c *mcp.Client) *mcp.ClientSession {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		ctx, stop := context.WithCancel(context.Background())
		served := make(chan error, 1)
		go func() { served <- s.ServeHTTP(ctx, listener, "secret") }()
		client := &http.Client{Transport: bearing{"secret"}}
		session, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: "http://" + listener.Addr().String() + "/mcp", HTTPClient: client}, nil)
		require.NoError(t, err)
		t.Cleanup(func() {
			stop()
			select {
			case err := <-served:
				require.NoError(t, err)
			case <-time.After(20 * time.Second):
				t.Error("the server does not end")
			}
		})
		return session
	},
}

type bearing struct{ token string }

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

func TestServer(t *testing.T) {
	for name, connect := range roads {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			progressed := make(chan string, 10)
			memory := newShelf()
			server := New(memory, Options{Version: "1.2.3", Poll: 10 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
			client := mcp.NewClient(&mcp.Implementation{Name: "test"}, &mcp.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { progressed <- r.Params.Message },
			})
			session := connect(t, server, client)

			tools, err := session.ListTools(ctx, nil)
			require.NoError(t, err)
			require.Len(t, tools.Tools, 4)
			for _, tool := range tools.Tools {
				require.Equal(t, tool.Name == "write", *tool.Annotations.DestructiveHint, tool.Name)
				require.Equal(t, tool.Name == "search_memory" || tool.Name == "slow", tool.Annotations.ReadOnlyHint, tool.Name)
			}
			call := func(name string, arguments any) (*mcp.CallToolResult, error) {
				return session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
			}
			result, err := call("search_memory", map[string]any{"query": "x"})
			require.NoError(t, err)
			require.False(t, result.IsError)
			require.Equal(t, "found x", result.Content[0].(*mcp.TextContent).Text)
			require.Equal(t, map[string]any{"result": []any{"x"}}, result.StructuredContent, "an object, which all clients take")
			for _, bad := range []any{map[string]any{"query": 5}, map[string]any{"zebra": 1}, map[string]any{}, nil} {
				result, err = call("search_memory", bad)
				require.NoError(t, err)
				require.True(t, result.IsError, "%v", bad)
			}
			_, err = call("panic", nil)
			require.Error(t, err)
			result, err = call("search_memory", map[string]any{"query": "alive"})
			require.NoError(t, err, "a panic ends nothing")
			require.False(t, result.IsError)

			_, err = session.CallTool(ctx, &mcp.CallToolParams{Meta: mcp.Meta{"progressToken": "p"}, Name: "slow", Arguments: map[string]any{"query": "x"}})
			require.NoError(t, err)
			require.Equal(t, "step", <-progressed)
			short, stop := context.WithTimeout(ctx, 100*time.Millisecond)
			_, err = session.CallTool(short, &mcp.CallToolParams{Name: "slow", Arguments: map[string]any{"query": "for ever"}})
			stop()
			require.Error(t, err)
			select {
			case <-memory.cancelled:
			case <-time.After(10 * time.Second):
				t.Error("the tool does not know that nobody waits any more")
			}

			read := func(uri string) (string, error) {
				r, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
				if err != nil {
					return "", err
				}
				return r.Contents[0].Text, nil
			}
			for uri, want := range map[string]string{"facts/user.md": "# User\n", "with%20space.md": "space\n", "empty.md": ""} {
				text, err := read(Scheme + uri)
				require.NoError(t, err, uri)
				require.Equal(t, want, text)
			}
			for _, uri := range []string{Scheme + "none.md", Scheme + "../../etc/passwd", "file:///etc/passwd", ""} {
				_, err := read(uri)
				require.Error(t, err, uri)
			}
			_, err = call("write", map[string]any{"query": "more.md"})
			require.NoError(t, err)
			require.Eventually(t, func() bool {
				resources, err := session.ListResources(ctx, nil)
				return err == nil && len(resources.Resources) == 4
			}, 10*time.Second, 10*time.Millisecond)
			memory.mu.Lock()
			delete(memory.files, "more.md")
			memory.mu.Unlock()
			require.Eventually(t, func() bool {
				resources, err := session.ListResources(ctx, nil)
				return err == nil && len(resources.Resources) == 3
			}, 10*time.Second, 10*time.Millisecond)

			prompts, err := session.ListPrompts(ctx, nil)
			require.NoError(t, err)
			require.Len(t, prompts.Prompts, 5)
			for name, want := range map[string]string{"memory_show": "# Curated", "memory_search": "found boats", "memory_add": "\n\nboats", "memory_reflect": "episode", "memory_refresh": "refresh_memory"} {
				got, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: name, Arguments: map[string]string{"text": "boats", "query": "boats"}})
				require.NoError(t, err, name)
				require.Contains(t, got.Messages[0].Content.(*mcp.TextContent).Text, want)
			}
			_, err = session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "memory_add"})
			require.ErrorContains(t, err, "the argument text is missing")
		})
	}
}

// A line that is no message ends nothing, and what was asked before the end of the input is answered.
func TestStdioOfScripts(t *testing.T) {
	server := New(newShelf(), Options{Poll: -1, Logger: slog.New(slog.DiscardHandler)})
	input := strings.Join([]string{
		`garbage`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
		`{"id":7}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"meth`,
		``,
		`{"jsonrpc":"2.0","id":"three","method":"tools/call","params":{"name":"search_memory","arguments":{"query":"boats"}}}`,
	}, "\n")
	var out strings.Builder
	require.NoError(t, server.ServeStdio(t.Context(), strings.NewReader(input), &out))
	said := out.String()
	require.Equal(t, 2, strings.Count(said, `"code":-32700`), said)
	require.Equal(t, 1, strings.Count(said, `"code":-32600`), said)
	require.Contains(t, said, `"serverInfo"`)
	require.Contains(t, said, `found boats`)
	require.Contains(t, said, `"id":"three"`)
}

// Messages at which the SDK would end the session are answered, and the session goes on.
func TestSessionSurvives(t *testing.T) {
	for _, tt := range []struct{ name, version, line, want string }{
		{"a number", "2025-06-18", `17`, `"code":-32600`},
		{"a text", "2025-06-18", `"ping"`, `"code":-32600`},
		{"null", "2025-06-18", `null`, `"code":-32600`},
		{"an id of another kind", "2025-06-18", `{"jsonrpc":"2.0","id":[1],"method":"ping"}`, `"code":-32600`},
		{"neither method nor id", "2025-06-18", `{"jsonrpc":"2.0"}`, `"code":-32600`},
		{"a batch where there are none", "2025-06-18", `[{"jsonrpc":"2.0","id":7,"method":"ping"}]`, `"code":-32600`},
		{"a batch", "2025-03-26", `[{"jsonrpc":"2.0","id":7,"method":"ping"},{"jsonrpc":"2.0","id":8,"method":"ping"}]`, `[{"jsonrpc":"2.0","id":7,"result":{}},{"jsonrpc":"2.0","id":8,"result":{}}]`},
		{"an empty batch", "2025-03-26", `[]`, `"code":-32600`},
		{"a batch with no message", "2025-03-26", `[{"jsonrpc":"2.0","id":7,"method":"ping"},5]`, `"code":-32600`},
		{"a batch with an id twice", "2025-03-26", `[{"jsonrpc":"2.0","id":7,"method":"ping"},{"jsonrpc":"2.0","id":7,"method":"ping"}]`, `"code":-32600`},
		{"a resource with a NUL", "2025-06-18", `{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"memcore:///a\u0000\u001b"}}`, `"id":7,"error"`},
		{"a resource of another scheme with a NUL", "2025-06-18", `{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"file:///\u0000"}}`, `"id":7,"error"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := New(newShelf(), Options{Logger: slog.New(slog.DiscardHandler)})
			in, input := io.Pipe()
			output, out := io.Pipe()
			served := make(chan error, 1)
			go func() { served <- server.ServeStdio(t.Context(), in, out) }()
			said := bufio.NewReader(output)
			ask := func(line string) string {
				_, err := io.WriteString(input, line+"\n")
				require.NoError(t, err)
				for {
					answer, err := said.ReadString('\n')
					require.NoError(t, err)
					if !strings.Contains(answer, `"method":"notifications/`) { // resources may be found meanwhile
						return answer
					}
				}
			}
			require.Contains(t, ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+tt.version+`","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`), `"protocolVersion":"`+tt.version+`"`)
			_, err := io.WriteString(input, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
			require.NoError(t, err)
			require.Contains(t, ask(tt.line), tt.want)
			require.Contains(t, ask(`{"jsonrpc":"2.0","id":9,"method":"ping"}`), `"id":9,"result"`)
			go io.Copy(io.Discard, said)
			require.NoError(t, input.Close())
			require.NoError(t, <-served)
			require.NoError(t, out.Close())
		})
	}
}

func FuzzLines(f *testing.F) {
	f.Add("17\n\"x\"\nnull\n{}\n[]\n{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"x\"}\n")
	f.Add("garbage\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}\n\n[1]\n[{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"x\"}]\n")
	f.Fuzz(func(t *testing.T, input string) {
		var out strings.Builder
		l := newLines(strings.NewReader(input), &out)
		done := make(chan struct{})
		defer close(done)
		go func() { // nobody answers here
			for {
				l.mu.Lock()
				clear(l.pending)
				l.mu.Unlock()
				select {
				case l.settled <- struct{}{}:
				default:
				}
				select {
				case <-done:
					return
				case <-time.After(time.Millisecond):
				}
			}
		}()
		data, err := io.ReadAll(l)
		if err != nil {
			t.Error(err)
		}
		for line := range strings.Lines(string(data)) {
			if _, err := jsonrpc.DecodeMessage([]byte(line)); err != nil { // nothing agreed on batches
				t.Errorf("%q would end the session: %v", line, err)
			}
		}
	})
}

// What is not of the client that was meant is refused before any tool hears of it.
func TestHTTPRefuses(t *testing.T) {
	server := New(newShelf(), Options{Logger: slog.New(slog.DiscardHandler)})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.ServeHTTP(ctx, listener, "secret") }()
	defer func() { stop(); require.NoError(t, <-served) }()
	address := "http://" + listener.Addr().String() + "/mcp"
	for name, tt := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"no token":      {func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		"wrong token":   {func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }, 401},
		"another site":  {func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, 403},
		"null origin":   {func(r *http.Request) { r.Header.Set("Origin", "null") }, 403},
		"rebound name":  {func(r *http.Request) { r.Host = "evil.example" }, 403},
		"no such path":  {func(r *http.Request) { r.URL.Path = "/other" }, 404},
		"what it wants": {func(*http.Request) {}, 200},
	} {
		t.Run(name, func(t *testing.T) {
			body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
			require.NoError(t, err)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			r.Header.Set("Authorization", "Bearer secret")
			tt.change(r)
			response, err := http.DefaultClient.Do(r)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			require.Equal(t, tt.want, response.StatusCode)
		})
	}
}
