package mcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/tools"
	"github.com/memcore/memcore/internal/web/overload"
)

var errDisk = errors.New("the disk does not answer")

// A brokenMemory has files that cannot be read, and odd tools.
type brokenMemory struct {
	*fakeMemory
	curated error
}

func (s brokenMemory) Tools() []tools.Tool {
	return []tools.Tool{tools.New("odd", "Answer what is no JSON.", func(context.Context, params) (tools.Answer, error) {
		return tools.Answer{Text: "odd", Data: func() {}}, nil
	}, tools.ReadOnly)}
}

func (brokenMemory) Files(context.Context) ([]File, error)        { return nil, errDisk }
func (brokenMemory) Read(context.Context, string) (string, error) { return "", errDisk }
func (s brokenMemory) Curated(context.Context) (string, error)    { return "", s.curated }

// lockedLog is a log for concurrent reading.
type lockedLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lockedLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lockedLog) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), text)
}

// If memory fails, each request fails with a message, and the session goes on.
func TestAMemoryThatFails(t *testing.T) {
	log := &lockedLog{}
	for name, connect := range transports {
		t.Run(name, func(t *testing.T) {
			s := New(brokenMemory{newMemory(), errDisk}, Options{Poll: -1, Logger: slog.New(slog.NewTextHandler(log, nil))})
			session := connect(t, s, mcp.NewClient(&mcp.Implementation{Name: "test"}, nil))
			defer session.Close()
			_, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: Scheme + "facts/user.md"})
			require.ErrorContains(t, err, errDisk.Error())
			_, err = session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "memory_show"})
			require.ErrorContains(t, err, errDisk.Error())
			_, err = session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "memory_search", Arguments: map[string]string{"query": "x"}})
			require.ErrorContains(t, err, "memory has no tool search_memory")
			_, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "odd", Arguments: map[string]any{"query": "x"}})
			require.Error(t, err)
			_, err = session.ListTools(t.Context(), nil)
			require.NoError(t, err, "the session goes on")
			require.Eventually(t, func() bool { return log.has("memory files cannot be listed") }, time.Minute, time.Millisecond)
		})
	}
}

// Without curated memory, the prompt says so.
func TestNoCuratedMemory(t *testing.T) {
	s := New(brokenMemory{newMemory(), nil}, Options{Poll: -1, Logger: slog.New(slog.DiscardHandler)})
	session := transports["stdio"](t, s, mcp.NewClient(&mcp.Implementation{Name: "test"}, nil))
	defer session.Close()
	got, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "memory_show"})
	require.NoError(t, err)
	require.Contains(t, got.Messages[0].Content.(*mcp.TextContent).Text, "There is no curated memory yet.")
}

// A subscribed client is notified of a changed memory file.
func TestSubscriptions(t *testing.T) {
	files := newMemory()
	s := New(files, Options{Poll: time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	updated := make(chan string, 100)
	client := mcp.NewClient(&mcp.Implementation{Name: "test"}, &mcp.ClientOptions{ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
		updated <- r.Params.URI
	}})
	session := transports["HTTP"](t, s, client)
	defer session.Close()
	uri := Scheme + "facts/user.md"
	require.NoError(t, session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}))
	notified := func() bool {
		files.mu.Lock()
		files.files["facts/user.md"] += "- one line more\n" // what changes before the server has looked once is not news
		files.mu.Unlock()
		select {
		case got := <-updated:
			return got == uri
		default:
			return false
		}
	}
	require.Eventually(t, notified, time.Minute, 2*time.Millisecond)
	require.NoError(t, session.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: uri}))
}

// slowBody comes too slowly.
type slowBody struct{}

func (slowBody) Read([]byte) (int, error) { return 0, overload.ErrSlow }

// A slow message is an error of the client.
func TestAMessageThatComesTooSlowly(t *testing.T) {
	s := New(newMemory(), Options{Logger: slog.New(slog.DiscardHandler)})
	defer s.Close()
	w := httptest.NewRecorder()
	s.bounded(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it went on") })).
		ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", slowBody{}))
	require.Equal(t, http.StatusRequestTimeout, w.Code)
}

// A message that is too long is refused, and the next one is read.
func TestAMessageThatIsTooLong(t *testing.T) {
	in := io.MultiReader(bytes.NewReader(bytes.Repeat([]byte("1"), maxLine+1)), strings.NewReader("\n"+`{"jsonrpc":"2.0","method":"notifications/x"}`+"\n"))
	var out bytes.Buffer
	text, err := io.ReadAll(newLines(in, &out))
	require.NoError(t, err)
	require.JSONEq(t, `{"jsonrpc":"2.0","method":"notifications/x"}`, string(text))
	require.Contains(t, out.String(), "this is not JSON")
}

// A server whose listener closes returns the reason.
func TestAListenerThatIsGone(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	s := New(newMemory(), Options{Poll: -1, Logger: slog.New(slog.DiscardHandler)})
	require.ErrorIs(t, s.ServeHTTP(t.Context(), listener, ""), net.ErrClosed)
}

// The SDK's warnings are logged with attributes and groups.
func TestLogOfTheSDK(t *testing.T) {
	log := &lockedLog{}
	sdk := slog.New(atLeast{slog.NewTextHandler(log, nil), slog.LevelWarn}).With("session", "x").WithGroup("request")
	sdk.Info("called", "method", "ping")
	sdk.Warn("refused", "method", "ping")
	require.False(t, log.has("called"))
	require.True(t, log.has("session=x request.method=ping"))
}
