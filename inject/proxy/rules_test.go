package proxy_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/inject/proxy"
)

// ruled has rules and no hits.
type ruled struct {
	knows
	layer *curated.Layer
}

func (r *ruled) RulesFor(ctx context.Context, request string) (curated.Memory, error) {
	return r.layer.Now(ctx, curated.Moment{Request: request})
}

// Each request that a rule applies to gets it, and the answer says so.
func TestRulesOfRequests(t *testing.T) {
	home := t.TempDir()
	rules := filepath.Join(home, ".beans", "rules")
	require.NoError(t, os.MkdirAll(rules, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(rules, "deploy, ship.md"), []byte("---\ntriggers: deploy\n---\nAsk Ada."), 0o644))
	u := newUpstream(t, nil)
	at := start(t, u.URL, &ruled{layer: curated.New(curated.Options{Dir: t.TempDir(), Home: home})}, proxy.Options{})
	for range 2 {
		got := send(t, post(t, at+"/v1/messages", `{"messages":[{"role":"user","content":"deploy it"}]}`))
		require.Equal(t, http.StatusOK, got.status)
		require.Equal(t, "0", got.header.Get("X-Memcore-Injected"))
		require.Equal(t, "~/.beans/rules/deploy%2C%20ship.md", got.header.Get("X-Memcore-Rules"))
		require.NotEmpty(t, got.header.Get("X-Memcore-Tokens"))
		require.Empty(t, got.header.Get("X-Memcore-Reason"))
	}
	got := send(t, post(t, at+"/v1/messages", `{"messages":[{"role":"user","content":"hello"}]}`))
	require.Empty(t, got.header.Get("X-Memcore-Rules"))
	require.Equal(t, "nothing relevant is known", got.header.Get("X-Memcore-Reason"))
	u.mu.Lock()
	defer u.mu.Unlock()
	require.Len(t, u.requests, 3)
	require.Contains(t, string(u.requests[0].body), `Rules That Apply Now\n\nAsk Ada.`)
	require.Equal(t, u.requests[0].body, u.requests[1].body)
	require.Equal(t, `{"messages":[{"role":"user","content":"hello"}]}`, string(u.requests[2].body))
}
