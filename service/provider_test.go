package service

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A collector that echoes a key or redirects gets no further than its errors.
func TestCollectorIsNotTrusted(t *testing.T) {
	const key = "planted-key-4242"
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("asked elsewhere") }))
	defer elsewhere.Close()
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"echoes": {func(w http.ResponseWriter, r *http.Request) { http.Error(w, r.Header.Get("X-Api-Key"), 400) }, "400 Bad Request"},
		"echoes as its head": {func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				fmt.Fprintf(conn, "%s\r\n\r\n", r.Header.Get("X-Api-Key"))
				conn.Close()
			}
		}, "malformed HTTP response"},
		"redirects": {http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect).ServeHTTP, "redirects are not followed"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := false
			collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = r.Header.Get("X-Api-Key") == key
				tt.answer(w, r)
			}))
			defer collector.Close()
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
			t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-api-key="+key)
			var said []string
			traces, end, err := Traces(t.Context(), "v1.2.3", func(err error) { said = append(said, err.Error()) })
			require.NoError(t, err)
			_, span := traces.Tracer("test").Start(t.Context(), "request")
			span.End()
			if err := end(t.Context()); err != nil {
				said = append(said, err.Error())
			}
			collector.CloseClientConnections()
			require.True(t, asked)
			require.Contains(t, strings.Join(said, "\n"), tt.want)
			require.NotContains(t, strings.Join(said, "\n"), key)
		})
	}
}
