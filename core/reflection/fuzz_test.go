package reflection

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// answering is a server that always gives the same answer.
type answering struct {
	status int
	text   string
}

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(a.text)), Request: r}, nil
}

// Any answer becomes a Reply, or an error without the key.
func FuzzAnswer(f *testing.F) {
	const key = "sk-0123456789abcdef0123"
	for _, seed := range []string{
		`{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"done"}}],"usage":{"total_tokens":7}}`,
		`{"choices":[{"finish_reason":"tool_calls","message":{"tool_calls":[{"id":"1","function":{"name":"memory_read","arguments":"{\"path\":"}}]}}]}`,
		`{"choices":[]}`, `{"error":{"message":"no model; key ` + key + `"}}`, `{"error":{"message":"no model; key` + key[:13] + "\x7f" + key[13:] + `"}}`, `{"message":{"role":"assistant","content":"hi"},"done":true}`,
		`{"message":{"tool_calls":[{"function":{"name":"x","arguments":{"a":[1,{}]}}}]},"done":true,"eval_count":-3}` + "\n", `{"done":true,"done_reason":"length"}`, "data: {}\n\n", "null", "", "\xff\x00",
	} {
		f.Add(200, seed)
		f.Add(500, seed)
	}
	f.Fuzz(func(t *testing.T, status int, text string) {
		if status < 200 || status > 599 {
			return // net/http gives no such answers
		}
		o := ServerOptions{BaseURL: "http://model.test/v1", Model: "m", Key: key, Transport: answering{status, text}}
		model, err := NewOpenAI(o)
		require.NoError(t, err)
		reply, err := model.Chat(t.Context(), []Message{{Role: "user", Content: "x"}}, nil)
		if err != nil {
			require.ErrorContains(t, err, `chat model "m" at model.test`)
			require.NotContains(t, err.Error(), key)
			require.Zero(t, reply)
			return
		}
		// A reply and its results can be sent back to the server.
		answered := []Message{{Role: "user", Content: "x"}, {Role: "assistant", Content: reply.Text, Calls: reply.Calls}}
		if _, err = model.Chat(t.Context(), answered, nil); err != nil && !errors.Is(err, ErrAnswer) {
			t.Fatalf("after %+v: %v", reply, err)
		}
	})
}
