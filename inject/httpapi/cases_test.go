package httpapi

import (
	"context"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func (f *fakeWorkspace) Cases(_ context.Context, r CasesRequest) (Cases, error) {
	return Cases{File: f.folder, Cases: []Case{{Query: r.Query}}}, nil
}

func (f *fakeWorkspace) ChangeCase(_ context.Context, r CaseRequest) (Cases, error) {
	return Cases{File: f.folder, Cases: []Case{{Query: r.Query, ExpectNothing: r.Wish == "nothing"}}}, nil
}

// Only the person at this machine says what an answer must have.
func TestCasesArePersonal(t *testing.T) {
	h := newServer(t, Options{})
	status, body := ask(t, h.Handler(), "POST", "/v1/case", `{"workspace":"/a","query":"x","wish":"nothing"}`)
	require.Equal(t, 200, status, body)
	require.Contains(t, body, `"expectNothing":true`)
	for path, want := range map[string]int{"/v1/cases": 200, "/v1/case": 403} {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "http://127.0.0.1"+path, strings.NewReader(`{"workspace":"/a","query":"x","wish":"come"}`))
		if path == "/v1/cases" {
			r.Body = io.NopCloser(strings.NewReader(`{"workspace":"/a","query":"x"}`))
		}
		r.Header.Set("Authorization", "Bearer secret")
		w := httptest.NewRecorder()
		h.Remote("secret").ServeHTTP(w, r)
		require.Equal(t, want, w.Code, "%s: %s", path, w.Body)
	}
}
