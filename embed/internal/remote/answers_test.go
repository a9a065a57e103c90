package remote_test

import (
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/ollama"
	"github.com/memcore/memcore/embed/openai"
)

// answering is a server with one answer.
type answering struct {
	Status int
	Text   string
}

// RoundTrip implements http.RoundTripper.
func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.Status, Status: http.StatusText(a.Status), Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(a.Text)), Request: r}, nil
}

// checkAnswer checks that any answer gives one finite vector of the embedder's dimension for each
// text, or an error without the secret.
func checkAnswer(t *testing.T, status int, text, secret string, open func(server answering) embed.Embedder) {
	t.Helper()
	if status < 200 || status > 599 {
		return // net/http never returns these
	}
	e := open(answering{status, text})
	vectors, err := e.Embed(t.Context(), embed.Query, []string{"one", "two"})
	if err != nil {
		require.NotEmpty(t, err.Error())
		if secret != "" {
			require.NotContains(t, err.Error(), secret)
		}
		return
	}
	require.Len(t, vectors, 2)
	for _, v := range vectors {
		require.NotEmpty(t, v)
		require.Len(t, v, len(vectors[0]))
		for _, x := range v {
			require.False(t, math.IsNaN(float64(x)) || math.IsInf(float64(x), 0), "%v", v)
		}
	}
}

func FuzzOllamaAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"model":"m","embeddings":[[1,2],[0,1]]}`, `{"embeddings":[[1],[1,2]]}`, `{"embeddings":[[],[]]}`, `{"embeddings":[[1e39],[0]]}`, `{"embeddings":[[0,0],[0,0]]}`,
		`{"embeddings":null}`, `{"error":"model not found"}`, `[]`, `null`, ``, "\xff",
	} {
		f.Add(200, seed)
		f.Add(500, seed)
	}
	f.Fuzz(func(t *testing.T, status int, text string) {
		checkAnswer(t, status, text, "", func(server answering) embed.Embedder {
			e, err := ollama.New("m", ollama.Options{Address: "http://model.test", RemoteOptions: embed.RemoteOptions{Tries: 1, Transport: server}})
			if err != nil {
				t.Fatal(err)
			}
			return e
		})
	})
}

func FuzzOpenAIAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"object":"list","data":[{"object":"embedding","index":0,"embedding":[1,2]},{"object":"embedding","index":1,"embedding":[0,1]}],"model":"m"}`,
		`{"data":[{"index":1,"embedding":[1]},{"index":1,"embedding":[1]}]}`, `{"data":[{"index":0,"embedding":[1]},{"index":9,"embedding":[1,2]}]}`,
		`{"data":[{"index":0,"embedding":"AACAPw=="},{"index":1,"embedding":[]}]}`, `{"data":[{"embedding":[1e39]},{"index":1,"embedding":[0]}]}`, `{"error":{"message":"key ` + secret + ` is unknown"}}`, `{"error":{"message":"key ` + secret[:9] + "\x7f" + secret[9:] + ` is unknown"}}`, `[]`, `null`, ``, "\xff",
	} {
		f.Add(200, seed)
		f.Add(500, seed)
	}
	f.Fuzz(func(t *testing.T, status int, text string) {
		checkAnswer(t, status, text, secret, func(server answering) embed.Embedder {
			e, err := openai.New("m", openai.Options{BaseURL: "http://model.test/v1", Key: openai.NewKey(secret), RemoteOptions: embed.RemoteOptions{Tries: 1, Transport: server}})
			if err != nil {
				t.Fatal(err)
			}
			return e
		})
	})
}
