package httpapi

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
)

func (f *fakeWorkspace) Documents(_ context.Context, r DocumentsRequest) (Documents, error) {
	return Documents{Documents: []core.DocumentInfo{{Path: r.Find}}, Found: r.Skip + 1}, nil
}

func (f *fakeWorkspace) DecideTrust(_ context.Context, r TrustRequest) (TrustReply, error) {
	return TrustReply{Folder: r.Folder, Do: r.Do, Decided: r.Shown != ""}, nil
}

func TestOverviewRoutes(t *testing.T) {
	h := newServer(t, Options{})
	for _, tt := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/v1/documents", `{"workspace":"/a","find":"notes"}`, 200, `"path":"notes"`},
		{"/v1/documents", `{"workspace":"/a","skip":7}`, 200, `"found":8`},
		{"/v1/documents", `{"workspace":"/a","limit":-1}`, 400, `limit`},
		{"/v1/documents", `{"workspace":"/a","skip":-1}`, 400, `skip`},
		{"/v1/trust", `{"workspace":"/a","folder":"/a","do":"trust"}`, 200, `"decided":false`},
		{"/v1/trust", `{"workspace":"/a","folder":"/a","do":"distrust","shown":"x"}`, 200, `"decided":true`},
		{"/v1/trust", `{"workspace":"/a","folder":"/a","do":"maybe"}`, 400, `neither trust nor distrust`},
		{"/v1/trust", `{"workspace":"/a","do":"trust"}`, 400, `folder`},
	} {
		status, answer := ask(t, h.Handler(), "POST", tt.path, tt.body)
		require.Equal(t, tt.status, status, "%s: %s", tt.body, answer)
		require.Contains(t, answer, tt.want, tt.body)
	}
	// The token alone decides nothing.
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/trust", strings.NewReader(`{"workspace":"/a","folder":"/a","do":"trust"}`))
	r.Header.Set("Authorization", "Bearer secret")
	r.Host = "127.0.0.1"
	w := httptest.NewRecorder()
	h.Remote("secret").ServeHTTP(w, r)
	require.Equal(t, 403, w.Code, w.Body.String())
	require.Contains(t, w.Body.String(), "person")
}
