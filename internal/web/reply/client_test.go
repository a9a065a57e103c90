package reply

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClientReadsNoMoreThanItShould(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, strings.Repeat("x", 1000))
	}))
	defer server.Close()
	for longest, want := range map[int64]int{10: 10, 1000: 1000, 5000: 1000} {
		answer, err := Client(nil, longest).Get(server.URL)
		require.NoError(t, err)
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Len(t, text, want)
	}
}

func TestClientDoesNotFollow(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("asked elsewhere") }))
	defer elsewhere.Close()
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	answer, err := Client(nil, 100).Post(server.URL, "text/plain", strings.NewReader("a conversation"))
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusTemporaryRedirect, answer.StatusCode)
}

func TestErrorsDoNotShowTheAddress(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	_, err := Client(nil, 100).Get(server.URL + "/?access=paSSw0rd")
	require.ErrorContains(t, err, "paSSw0rd", "net/http hides passwords before a host only")
	shown := New(err, "").Error()
	require.Contains(t, shown, "connect")
	require.NotContains(t, shown, "paSSw0rd")
	require.NotContains(t, shown, "http://")
}
