package proxy

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The upstream is asked for a path below its base, on its host, that reads back as the same.
func FuzzTarget(f *testing.F) {
	for _, seed := range []string{"/v1/chat/completions", "/", "//x", "/v1/../admin", "/%2e%2e/x", `/..\x`, "/a%2Fb?x=%0d", "/v1/v1", "http://evil/v1", "*", "/a;..", "/..;a/b", "/%", "/é?ü", "/?#%", "/v1?a#%zz"} {
		f.Add(seed, "/tenant/v1")
	}
	f.Add("/", "/? ")
	f.Add("/?#%", "/")
	f.Fuzz(func(t *testing.T, asked, base string) {
		in, err := url.ParseRequestURI(asked)
		if err != nil || strings.Contains(asked, " ") {
			return // net/http refuses it
		}
		p, err := New("http://upstream.example"+base, nil, Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil || p.forwarder.upstream.Host != "upstream.example" || climbs(p.forwarder.upstream.Path) || strings.Contains(p.forwarder.upstream.Path, "//") {
			return // whoever starts a proxy chooses its upstream
		}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL, r.Host = in, "127.0.0.1"
		if check(r) != nil || p.admit(r) != nil {
			return
		}
		out := p.forwarder.target(in)
		if out.Host != "upstream.example" || out.Scheme != "http" || out.User != nil || out.Opaque != "" {
			t.Errorf("%q goes to %q", asked, out)
		}
		// Servers know no fragments: "#" and what follows belongs to the query.
		again, err := url.ParseRequestURI(out.RequestURI())
		require.NoError(t, err)
		if again.Path != out.Path || again.RawQuery != out.RawQuery || again.Fragment != "" {
			t.Errorf("%q goes to %q, which is read as %q and %q", asked, out, again.Path, again.RawQuery)
		}
		if !strings.HasSuffix(out.Path, in.Path) || !strings.HasSuffix(out.RawQuery, in.RawQuery) {
			t.Errorf("%q goes to %q, which is something else", asked, out)
		}
		// Servers differ in how they resolve dots, so paths have no dots.
		below := strings.TrimRight(p.forwarder.upstream.Path, "/")
		if out.Path != below && !strings.HasPrefix(out.Path, below+"/") || climbs(out.Path) {
			t.Errorf("%q goes to %q, which is not below %q", asked, out.Path, below)
		}
		if strings.ContainsAny(out.RequestURI(), "\r\n \x00") {
			t.Errorf("%q goes to %q", asked, out.RequestURI())
		}
	})
}
