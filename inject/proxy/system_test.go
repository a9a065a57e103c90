package proxy_test

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	openai "github.com/sashabaranov/go-openai"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/inject/proxy"
	"github.com/memcore/memcore/inject/turn"
)

const memoryText = "## Memory Core: Project Context\n\nWe test on Fridays."

func withCurated() proxy.Options {
	return proxy.Options{Turn: turn.Options{System: func(context.Context) (turn.System, error) { return turn.System{Curated: memoryText}, nil }}}
}

// Each chat request gets curated memory in its system message, even without hits. The answer and
// the log say so.
func TestSystem(t *testing.T) {
	for _, tt := range []struct{ path, body, want string }{
		{"/v1/chat/completions", chat, `{"model": "m","messages":[{"role":"system","content":"SYS"},{"role":"user","content":"which port?"}], "temperature":1.0}`},
		{"/v1/responses", responses, `{"instructions":"SYS","model":"m", "input":"which port?"}`},
		{"/v1/messages", messages, `{"system":"SYS","model":"m","max_tokens":9, "messages":[{"role":"user","content":"which port?"}]}`},
		{"/api/chat", chat, `{"model": "m","messages":[{"role":"system","content":"SYS"},{"role":"user","content":"which port?"}], "temperature":1.0}`},
	} {
		t.Run(tt.path, func(t *testing.T) {
			var log logBuffer
			options := withCurated()
			options.Logger = slog.New(slog.NewTextHandler(&log, nil))
			u := newUpstream(t, nil)
			got := send(t, post(t, start(t, u.URL, &knows{}, options)+tt.path, tt.body))
			require.Equal(t, strings.ReplaceAll(tt.want, "SYS", strings.ReplaceAll(memoryText, "\n", `\n`)), string(u.only(t).body))
			require.Equal(t, strconv.Itoa(len(memoryText)), got.header.Get("X-Memcore-System"))
			require.Equal(t, "0", got.header.Get("X-Memcore-Injected"))
			require.Eventually(t, func() bool { return strings.Contains(log.String(), " system="+strconv.Itoa(len(memoryText))) }, time.Minute, time.Millisecond)
			require.NotContains(t, log.String(), "Fridays")
		})
	}
}

// All requests of a conversation begin with the same bytes, up to the last user message, so that
// prompt caches hold.
func TestSystemKeepsPromptCaches(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"choices":[{"message":{"role":"assistant","content":"5433"}}]}`))
	})
	config := openai.DefaultConfig("key")
	config.BaseURL = start(t, u.URL, &knows{hits: port}, withCurated()) + "/v1"
	config.HTTPClient = &http.Client{Transport: client}
	chat := openai.NewClientWithConfig(config)
	history := []openai.ChatCompletionMessage{{Role: "system", Content: "Be brief."}}
	for _, question := range []string{"which port?", "and production?", "and the cache?"} {
		history = append(history, openai.ChatCompletionMessage{Role: "user", Content: question})
		answer, err := chat.CreateChatCompletion(t.Context(), openai.ChatCompletionRequest{Model: "m", Messages: history})
		require.NoError(t, err)
		history = append(history, answer.Choices[0].Message)
	}
	require.Len(t, u.requests, 3)
	_, system, _ := strings.Cut(string(u.requests[0].body), `"messages":`)
	system, _, _ = strings.Cut(system, `{"role":"user"`)
	require.Equal(t, `[{"role":"system","content":"Be brief.\n\n`+strings.ReplaceAll(memoryText, "\n", `\n`)+`"},`, system)
	for _, r := range u.requests[1:] {
		require.Contains(t, string(r.body), system+`{"role":"user","content":"which port?"},{"role":"assistant","content":"5433"}`)
	}
}
