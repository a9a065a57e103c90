//go:build servers

package proxy_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/inject/proxy"
)

// real returns the URL of an Ollama server with the model all-minilm, as .ci/servers starts
// it.
func real(t *testing.T) string {
	t.Helper()
	address := os.Getenv("MEMCORE_TEST_OLLAMA")
	if address == "" {
		t.Fatal("MEMCORE_TEST_OLLAMA is not set: run .ci/servers")
	}
	return "http://" + address
}

// identifier matches what a server invents for each answer.
var identifier = regexp.MustCompile(`"(request_)?id":"[^"]*",?`)

// A real server answers the same through the proxy. Its model only embeds, so its error to a chat
// names the model.
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

// A real server reads the memory: its prompt is longer. The model, too, gets there through the
// proxy.
func TestServerChats(t *testing.T) {
	url := start(t, real(t), &knows{hits: port}, proxy.Options{})
	const name = "memcore-says-yes"
	file := tinyModel(t)
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(file))
	require.Contains(t, []int{http.StatusCreated, http.StatusOK}, send(t, post(t, url+"/api/blobs/"+digest, string(file))).status) // 200 if a run that broke off has left it
	made := send(t, post(t, url+"/api/create", `{"model":"`+name+`","files":{"yes.gguf":"`+digest+`"}}`))
	require.Contains(t, string(made.body), `"status":"success"`)
	t.Cleanup(func() {
		r, err := http.NewRequest(http.MethodDelete, real(t)+"/api/delete", strings.NewReader(`{"model":"`+name+`"}`))
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, send(t, r).status)
	})
	for _, tt := range []struct{ name, path, body, says, counted string }{
		{"Ollama, streaming", "/api/chat", `{"model":"NAME","messages":[{"role":"user","content":"which port?"}],"options":{"num_predict":3,"temperature":0}}`,
			`"content":" yes"`, `"prompt_eval_count":(\d+)`},
		{"a chat", "/v1/chat/completions", `{"model":"NAME","messages":[{"role":"user","content":"which port?"}],"max_tokens":3,"temperature":0}`,
			`"content":" yes yes yes"`, `"prompt_tokens":(\d+)`},
		{"a chat, streaming", "/v1/chat/completions", `{"model":"NAME","messages":[{"role":"user","content":"which port?"}],"max_tokens":3,"temperature":0,"stream":true,"stream_options":{"include_usage":true}}`,
			`"content":" yes"`, `"prompt_tokens":(\d+)`},
		{"Responses", "/v1/responses", `{"model":"NAME","input":"which port?","max_output_tokens":3,"temperature":0}`,
			`"text":" yes yes yes"`, `"input_tokens":(\d+)`},
		{"Anthropic", "/v1/messages", `{"model":"NAME","max_tokens":3,"messages":[{"role":"user","content":"which port?"}],"temperature":0}`,
			`"text":" yes yes yes"`, `"input_tokens":(\d+)`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := strings.Replace(tt.body, "NAME", name, 1)
			prompt := func(url string) int {
				got := send(t, post(t, url+tt.path, body))
				require.Equal(t, http.StatusOK, got.status, string(got.body))
				require.Contains(t, string(got.body), tt.says)
				counts := regexp.MustCompile(tt.counted).FindAllSubmatch(got.body, -1)
				require.NotEmpty(t, counts, string(got.body))
				n, err := strconv.Atoi(string(counts[len(counts)-1][1]))
				require.NoError(t, err)
				return n
			}
			direct, through := prompt(real(t)), prompt(url)
			t.Logf("prompt: %d tokens, %d with memory", direct, through)
			if through < direct+200 { // a token is a byte here
				t.Errorf("the prompt has %d tokens, without the proxy %d: the memory did not arrive", through, direct)
			}
		})
	}
}
