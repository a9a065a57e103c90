package remotetest

import (
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/embed"
)

// Answering is a server with one answer.
type Answering struct {
	Status int
	Text   string
}

// RoundTrip implements http.RoundTripper.
func (a Answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.Status, Status: http.StatusText(a.Status), Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(a.Text)), Request: r}, nil
}

// CheckAnswer checks that any answer gives one finite vector of the embedder's dimension for each
// text, or an error without the secret.
func CheckAnswer(t *testing.T, status int, text, secret string, open func(server Answering) embed.Embedder) {
	t.Helper()
	if status < 200 || status > 599 {
		return // net/http never returns these
	}
	e := open(Answering{status, text})
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
