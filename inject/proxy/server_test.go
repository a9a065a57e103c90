//go:build servers

package proxy_test

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/inject/proxy"
)

// real is the base URL of an Ollama server with the model all-minilm; .ci/test-servers starts it.
func real(t *testing.T) string {
	t.Helper()
	address := os.Getenv("MEMCORE_TEST_OLLAMA")
	if address == "" {
		t.Fatal("MEMCORE_TEST_OLLAMA is not set: run .ci/test-servers")
	}
	return "http://" + address
}

// identifier is what a server makes up for each answer.
var identifier = regexp.MustCompile(`"(request_)?id":"[^"]*",?`)

// A real server answers through the proxy as it does without. Its model makes vectors only, so to a chat it answers with an error, which
// names the model: the request arrived.
func TestServer(t *testing.T) {
	for _, tt := range []struct{ name, method, path, body, injected, says string }{
		{"version", "GET", "/api/version", "", "", `"version"`},
		{"models", "GET", "/v1/models", "", "", `"owned_by":"library"`},
		{"embeddings", "POST", "/v1/embeddings", `{"model":"all-minilm","input":"which port?"}`, "", `"embedding":[`},
		{"a chat", "POST", "/api/chat", strings.Replace(chat, `"m"`, `"all-minilm"`, 1), "2", `\"all-minilm\" does not support chat`},
		{"a chat in OpenAI's way", "POST", "/v1/chat/completions", strings.Replace(chat, `"m"`, `"all-minilm"`, 1), "2", `\"all-minilm\" does not support chat`},
		{"Responses", "POST", "/v1/responses", strings.Replace(responses, `"m"`, `"all-minilm"`, 1), "2", `\"all-minilm\" does not support chat`},
		{"Anthropic", "POST", "/v1/messages", strings.Replace(messages, `"m"`, `"all-minilm"`, 1), "2", `\"all-minilm\" does not support chat`},
		{"a model that is not there", "POST", "/api/chat", chat, "2", `not found`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ask := func(url string) answer {
				r := post(t, url+tt.path, tt.body)
				r.Method = tt.method
				got := send(t, r)
				got.header.Del("Date")
				if strings.Contains(got.header.Get("Content-Type"), "json") { // an identifier in the answer is a new one each time
					got.body = identifier.ReplaceAll(got.body, nil)
					got.header.Del("Content-Length")
				}
				return got
			}
			direct := ask(real(t))
			through := ask(start(t, real(t), &knows{hits: port}, proxy.Options{}))
			if got := through.header.Get("X-Memcore-Injected"); got != tt.injected {
				t.Errorf("injected %q, want %q", got, tt.injected)
			}
			for name := range through.header {
				if strings.HasPrefix(name, http.CanonicalHeaderKey("X-Memcore-")) {
					through.header.Del(name)
				}
			}
			require.Equal(t, direct, through)
			require.Contains(t, string(through.body), tt.says)
		})
	}
}
