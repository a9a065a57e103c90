package tenants

import (
	"context"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/service"
	"github.com/memcore/memcore/service/oidc/oidctest"
)

func newWorldWithTokens(t *testing.T) *world {
	t.Helper()
	w := newWorldOf(t, oidctest.Start(t), func(*Options) {})
	w.createTenant("acme")
	return w
}

// tokenMember is somebody with a token.
func (w *world) tokenMember(user string, teams []string, more map[string]any) member {
	p := &person{tenant: "acme", user: user}
	return member{w, service.Key{Tenant: "acme", User: user, Secret: w.tokenOf(p, teams, more)}}
}

// A token is as good as a key: the user that it names has the same memory as by a key.
func TestTokens(t *testing.T) {
	w := newWorldWithTokens(t)
	write := map[string]any{"right": "write"}
	ann, byKey := w.tokenMember("ann", []string{"ops"}, write), w.member("ann", service.Read, "ops")
	who := ann.send("GET", "/whoami", "")
	require.Contains(t, who.text, `"tenant":"acme","user":"ann","teams":["ops"],"rights":["read","write"],"expires":"`)
	ann.put("~/.beans/memories/facts/tea.md", "# Tea\n\nThe favourite tea of ann is called annword.\n")
	ann.put("@ops/pager.md", "# Pager\n\nThe pager of the night shift is opsword.\n")
	for _, m := range []member{ann, byKey} {
		require.Eventually(t, func() bool {
			return strings.Contains(m.send("POST", "/retrieve", `{"query": "what is the favourite tea of ann called?"}`).text, "annword") &&
				strings.Contains(m.send("POST", "/retrieve", `{"query": "what is the pager of the night shift?"}`).text, "opsword")
		}, 5*time.Second, 50*time.Millisecond)
	}
	require.Contains(t, byKey.send("GET", "/history?path=@ops/pager.md", "").text, `"by":"ann/oidc"`)
	require.Equal(t, 403, ann.send("PUT", "/documents/BEANS.md", "x").status)
	require.Equal(t, 403, ann.send("GET", "/keys", "").status)
	require.Equal(t, 403, w.tokenMember("bob", nil, nil).send("PUT", "/documents/a.md", "x").status, "the right is read by default here")
	require.Equal(t, 200, w.tokenMember("boss", nil, map[string]any{"right": "admin"}).send("GET", "/keys", "").status)

	for subject, want := range map[string]string{"ann": "ann", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6": "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "Ann": "id-", "auth0|5f7c": "id-", "ann@example.com": "id-", "../bob": "id-", "id-x": "id-", " ann": "id-", strings.Repeat("a", 64): "id-"} {
		text := w.tokenMember(subject, nil, nil).send("GET", "/whoami", "").text
		require.Contains(t, text, `"user":"`+want, subject)
	}
	many := strings.Fields(manyTeams(maxTeams + 1))
	a := w.tokenMember("ann", many, nil).send("GET", "/whoami", "")
	require.Equal(t, 403, a.status)
	require.Contains(t, a.text, "--oidc-team-prefix")
	require.Contains(t, w.tokenMember("ann", []string{"Ops", "a b", "../users/bob", "", "@ops", "web"}, nil).send("GET", "/whoami", "").text, `"teams":["web"]`)

	for _, tt := range []struct {
		tenant string
		claim  any
		want   int
	}{{"acme", "acme", 200}, {"globex", "acme", 403}, {"acme", "globex", 403}, {"globex", "globex", 401}, {"ACME", "ACME", 401}, {"acme", "acme ", 403}, {"acme", []string{"acme", "globex"}, 403}} {
		m := w.tokenMember("ann", nil, map[string]any{"tenant": tt.claim})
		a := w.do(call{method: "GET", tenant: tt.tenant, path: "/whoami", key: bearer(m.key)})
		require.Equal(t, tt.want, a.status, "%v: %s", tt, a.text)
	}
}

// Names of users are never the same for two subjects.
func TestUserOf(t *testing.T) {
	seen := map[string]string{}
	first := userOf("Ann")
	for _, subject := range []string{"ann", "Ann", "ANN", "ann ", "a/nn", "id-ann", "id-", first, userOf(first), "ü", "", strings.Repeat("a", 63), strings.Repeat("a", 64)} {
		name := userOf(subject)
		require.NoError(t, checkName("user", name), "%q", subject)
		other, twice := seen[name]
		require.False(t, twice, "%q and %q are both %s", subject, other, name)
		seen[name] = subject
	}
	require.Equal(t, "ann", userOf("ann"))
}

// A stream ends with its token. An issuer that is away stops no key.
func TestTokensEnd(t *testing.T) {
	w := newWorldWithTokens(t)
	byKey := w.member("ann", service.Read)
	w.issuer.Do(t, oidctest.Control{Lifetime: "5s"})
	ann := w.tokenMember("ann", nil, nil)
	p := ann.session()
	ended := make(chan time.Time, 1)
	go func() {
		w.do(call{node: 0, method: "GET", tenant: "acme", path: "/mcp", key: bearer(ann.key), header: map[string]string{"Mcp-Session-Id": p.session, "Accept": "text/event-stream"}})
		ended <- time.Now()
	}()
	begun := time.Now()
	require.Equal(t, 200, ann.send("GET", "/whoami", "").status)
	select {
	case at := <-ended:
		require.Greater(t, at.Sub(begun), 2*time.Second, "not at once")
	case <-time.After(15 * time.Second):
		t.Error("the stream of an expired token goes on")
	}
	a := ann.send("GET", "/whoami", "")
	require.Equal(t, 401, a.status)
	require.Contains(t, a.text, "expired")
	require.Contains(t, a.header.Get("WWW-Authenticate"), `error="invalid_token"`)

	w.issuer.Do(t, oidctest.Control{Lifetime: "1h", Rotate: true})
	unknown := w.tokenMember("ann", nil, nil)
	w.issuer.Stop()
	require.Equal(t, 200, byKey.send("GET", "/whoami", "").status)
	require.Contains(t, []int{401, 503}, unknown.send("GET", "/whoami", "").status)
}

// A node whose issuer does not answer says so, and takes keys.
func TestIssuerIsAway(t *testing.T) {
	provider := oidctest.Start(t)
	w := &world{t: t, issuer: provider}
	token := w.tokenOf(&person{tenant: "acme", user: "ann"}, nil, nil)
	provider.Stop()
	w = newWorldOf(t, provider, func(*Options) {})
	w.createTenant("acme")
	byKey := w.member("ann", service.Read)
	require.Equal(t, 200, byKey.send("GET", "/whoami", "").status)
	a := member{w, service.Key{Secret: token}}.send("GET", "/whoami", "")
	require.Equal(t, 503, a.status)
	require.Contains(t, a.text, "issuer of tokens")
	require.NotContains(t, a.text, "127.0.0.1")
	require.NotEmpty(t, a.header.Get("Retry-After"))
}

// An MCP client that knows nothing but the address finds the issuer, lets its user log in there,
// and uses the memory.
func TestMCPClientFindsTheIssuer(t *testing.T) {
	w := newWorldWithTokens(t)
	w.issuer.Do(t, oidctest.Control{Subject: "ann", Claims: map[string]any{"tenant": "acme", "preferred_username": "ann", "groups": []string{"team:ops"}, "right": "write"}})
	asked := ""
	handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		PreregisteredClient: &oauthex.ClientCredentials{ClientID: oidctest.Audience, ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: oidctest.Secret}},
		RedirectURL:         "http://127.0.0.1/callback",
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			asked = args.URL
			return logIn(ctx, args.URL, "ann")
		},
	})
	require.NoError(t, err)
	address := w.nodes[0].URL + "/v1/tenants/acme/mcp"
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: address, OAuthHandler: handler, DisableStandaloneSSE: true}, nil)
	require.NoError(t, err)
	defer session.Close()
	require.Contains(t, asked, "resource="+url.QueryEscape(address))
	saved, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "save_memory", Arguments: map[string]any{"content": "The pager rings at opsword", "target": "@ops"}})
	require.NoError(t, err)
	require.False(t, saved.IsError, "%v", saved.Content)
	by := w.tokenMember("ben", []string{"ops"}, nil)
	require.Contains(t, by.send("GET", "/documents/@ops/.beans/memories/facts/team.md", "").text, "opsword")
}

// logIn is a browser in which a user logs in at the provider.
func logIn(ctx context.Context, at, user string) (*auth.AuthorizationResult, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	var back *url.URL
	browser := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if r.URL.Path == "/callback" && r.URL.Query().Get("code") != "" {
			back = r.URL
			return http.ErrUseLastResponse
		}
		return nil
	}}
	send := func(r *http.Request, err error) (*http.Response, error) {
		if err != nil {
			return nil, err
		}
		response, err := browser.Do(r)
		if err == nil {
			err = response.Body.Close()
		}
		return response, err
	}
	page, err := send(http.NewRequestWithContext(ctx, http.MethodGet, at, nil))
	if err != nil {
		return nil, err
	}
	form := url.Values{"username": {user}, "password": {oidctest.Secret}, "id": {page.Request.URL.Query().Get("authRequestID")}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, page.Request.URL.String(), strings.NewReader(form.Encode()))
	if err == nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if _, err = send(r, err); err != nil || back == nil {
		return nil, fmt.Errorf("no code at %s: %w", page.Request.URL, err)
	}
	return &auth.AuthorizationResult{Code: back.Query().Get("code"), State: back.Query().Get("state"), Iss: back.Query().Get("iss")}, nil
}

// The metadata names the issuer for what a client asked, and is not there without one.
func TestMetadata(t *testing.T) {
	w := newWorldWithTokens(t)
	for path, resource := range map[string]string{"": "", "/v1/tenants/acme": "/v1/tenants/acme", "/v1/tenants/acme/mcp": "/v1/tenants/acme/mcp", "/v1/tenants/nobody/mcp": "/v1/tenants/nobody/mcp", `/v1/tenants/a%22b/mcp`: "/v1/tenants/a%22b/mcp"} {
		at := w.nodes[0].URL + "/.well-known/oauth-protected-resource" + path
		m, err := oauthex.GetProtectedResourceMetadata(t.Context(), at, w.nodes[0].URL+resource, http.DefaultClient)
		require.NoError(t, err, path)
		require.Equal(t, []string{w.issuer.URL}, m.AuthorizationServers)
	}
	for path, want := range map[string]string{"acme": "acme", `a%22%0d%0ab`: `a%22%0D%0Ab`} {
		a := w.do(call{method: "POST", tenant: path, path: "/mcp"})
		require.Equal(t, 401, a.status)
		require.Equal(t, `Bearer realm="memcore", resource_metadata="`+w.nodes[0].URL+"/.well-known/oauth-protected-resource/v1/tenants/"+want+`/mcp"`, a.header.Get("WWW-Authenticate"))
	}
	without := newWorld(t)
	response, err := http.Get(without.nodes[0].URL + "/.well-known/oauth-protected-resource")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, 404, response.StatusCode)
	a := without.do(call{method: "GET", tenant: "acme", path: "/whoami", key: "Bearer a.b.c"})
	require.Equal(t, 401, a.status)
	require.Equal(t, `Bearer realm="memcore", error="invalid_token"`, a.header.Get("WWW-Authenticate"))
}
