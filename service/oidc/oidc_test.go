package oidc_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service"
	"github.com/memcore/memcore/service/oidc"
	"github.com/memcore/memcore/service/oidc/oidctest"
)

func newVerifier(t *testing.T, issuer string, change func(*oidc.Options)) *oidc.Verifier {
	t.Helper()
	o := oidc.Options{Issuer: issuer, Audiences: []string{oidctest.Audience}, TenantClaim: "tenant", Pause: 10 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&o)
	}
	v, err := oidc.New(o)
	require.NoError(t, err)
	return v
}

type claims = map[string]any

// What a token says depends on its claims and the settings.
func TestClaims(t *testing.T) {
	p := oidctest.Start(t)
	for _, tt := range []struct {
		name   string
		change func(*oidc.Options)
		claims claims
		want   oidc.Identity // without Expires
	}{
		{"as it comes", nil, claims{"tenant": "acme"}, oidc.Identity{Tenant: "acme", User: "ann", Right: service.Write}},
		{"groups", nil, claims{"tenant": "acme", "groups": []string{"ops", "web"}}, oidc.Identity{Tenant: "acme", User: "ann", Teams: []string{"ops", "web"}, Right: service.Write}},
		{"one group as a text", nil, claims{"tenant": "acme", "groups": "ops"}, oidc.Identity{Tenant: "acme", User: "ann", Teams: []string{"ops"}, Right: service.Write}},
		{"groups that are no texts", nil, claims{"tenant": "acme", "groups": []any{1, nil, claims{"x": "ops"}, "web"}}, oidc.Identity{Tenant: "acme", User: "ann", Teams: []string{"web"}, Right: service.Write}},
		{"groups with a prefix", func(o *oidc.Options) { o.TeamPrefix = "mem-" }, claims{"tenant": "acme", "groups": []string{"mem-ops", "ops", "mem"}}, oidc.Identity{Tenant: "acme", User: "ann", Teams: []string{"ops"}, Right: service.Write}},
		{"claims within a claim", func(o *oidc.Options) { o.GroupsClaim = "realm_access.roles" }, claims{"tenant": "acme", "realm_access": claims{"roles": []string{"ops"}}}, oidc.Identity{Tenant: "acme", User: "ann", Teams: []string{"ops"}, Right: service.Write}},
		{"a claim with dots in its name", func(o *oidc.Options) { o.TenantClaim = "https://acme.example/tenant" }, claims{"https://acme.example/tenant": "acme"}, oidc.Identity{Tenant: "acme", User: "ann", Right: service.Write}},
		{"one tenant for all", func(o *oidc.Options) { o.Tenant, o.TenantClaim = "acme", "" }, claims{"tenant": "globex"}, oidc.Identity{Tenant: "acme", User: "ann", Right: service.Write}},
		{"a list with one tenant", nil, claims{"tenant": []string{"acme"}}, oidc.Identity{Tenant: "acme", User: "ann", Right: service.Write}},
		{"another claim of the user", func(o *oidc.Options) { o.UserClaim = "preferred_username" }, claims{"tenant": "acme", "preferred_username": "Ann"}, oidc.Identity{Tenant: "acme", User: "Ann", Right: service.Write}},
		{"a right", func(o *oidc.Options) { o.RightClaim = "memcore" }, claims{"tenant": "acme", "memcore": "read"}, oidc.Identity{Tenant: "acme", User: "ann", Right: service.Read}},
		{"the highest right", func(o *oidc.Options) { o.RightClaim, o.Right = "roles", service.Read }, claims{"tenant": "acme", "roles": []string{"admin", "read", "Root"}}, oidc.Identity{Tenant: "acme", User: "ann", Right: service.Admin}},
		{"no right in the claim", func(o *oidc.Options) { o.RightClaim, o.Right = "roles", service.Read }, claims{"tenant": "acme", "roles": []string{"ADMIN", "administrator"}}, oidc.Identity{Tenant: "acme", User: "ann", Right: service.Read}},
		{"a right that is not asked for", nil, claims{"tenant": "acme", "right": "admin", "roles": "admin"}, oidc.Identity{Tenant: "acme", User: "ann", Right: service.Write}},
		{"a group of admins", func(o *oidc.Options) { o.AdminGroups, o.TeamPrefix = []string{"boss"}, "team-" }, claims{"tenant": "acme", "groups": []string{"boss", "team-ops"}}, oidc.Identity{Tenant: "acme", User: "ann", Teams: []string{"ops"}, Right: service.Admin}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := newVerifier(t, p.URL, tt.change).Verify(t.Context(), p.TokenWith(t, "ann", tt.claims))
			require.NoError(t, err)
			require.WithinDuration(t, time.Now().Add(5*time.Minute), got.Expires, time.Minute)
			got.Expires = time.Time{}
			require.Equal(t, tt.want, got)
		})
	}
	for name, wrong := range map[string]claims{"no tenant": {}, "two tenants": {"tenant": []string{"acme", "globex"}}, "an empty tenant": {"tenant": ""}, "a number": {"tenant": 7}, "null": {"tenant": nil}} {
		_, err := newVerifier(t, p.URL, nil).Verify(t.Context(), p.TokenWith(t, "ann", wrong))
		require.Equal(t, kind.Forbidden, kind.Of(err), "%s: %v", name, err)
	}
}

// Only tokens of the issuer, for this service, that are valid now count.
func TestTokensThatAreRefused(t *testing.T) {
	p, other := oidctest.Start(t), oidctest.Start(t)
	v := newVerifier(t, p.URL, nil)
	acme := claims{"tenant": "acme"}
	valid := p.TokenWith(t, "ann", acme)
	mustBe := func(token string) {
		t.Helper()
		got, err := v.Verify(t.Context(), token)
		require.NoError(t, err)
		require.Equal(t, "ann", got.User)
	}
	mustBe(valid)
	refused := func(name, token, why string) {
		t.Helper()
		_, err := v.Verify(t.Context(), token)
		require.ErrorIs(t, err, service.ErrKey, name)
		require.ErrorContains(t, err, why, name)
	}
	for name, token := range p.Forged(t, valid, claims{"tenant": "globex"}) {
		refused(name, token, "token")
	}
	for name, token := range p.Forged(t, valid, nil) {
		refused(name, token, "token")
	}
	refused("another issuer", other.TokenWith(t, "ann", acme), "token")
	for name, token := range other.Forged(t, other.Token(t, "ann"), claims{"iss": p.URL}) {
		refused("another issuer, "+name, token, "token")
	}
	p.Do(t, oidctest.Control{Audience: []string{"mail"}})
	refused("another audience", p.Token(t, "ann"), "not for this service")
	p.Do(t, oidctest.Control{Audience: []string{"mail", oidctest.Audience}})
	mustBe(p.Token(t, "ann"))
	p.Do(t, oidctest.Control{Lifetime: "-31s"})
	refused("expired", p.Token(t, "ann"), "expired")
	p.Do(t, oidctest.Control{Lifetime: "-20s"})
	mustBe(p.Token(t, "ann")) // clocks differ
	mustBe(valid)
}

// New keys count at once, withdrawn ones no longer.
func TestRotation(t *testing.T) {
	p := oidctest.Start(t)
	v := newVerifier(t, p.URL, nil)
	first := p.TokenWith(t, "ann", claims{"tenant": "acme"})
	_, err := v.Verify(t.Context(), first)
	require.NoError(t, err)
	p.Do(t, oidctest.Control{Rotate: true})
	second := p.Token(t, "ann")
	time.Sleep(20 * time.Millisecond)
	for _, token := range []string{second, first} {
		_, err = v.Verify(t.Context(), token)
		require.NoError(t, err)
	}
	p.Do(t, oidctest.Control{Withdraw: true})
	time.Sleep(20 * time.Millisecond)
	_, err = newVerifier(t, p.URL, nil).Verify(t.Context(), first) // as after oidc.renewed
	require.ErrorIs(t, err, service.ErrKey)
	_, err = v.Verify(t.Context(), second)
	require.NoError(t, err)
}

// An issuer that is away is no wrong token; one that comes is asked again; known keys go on counting.
func TestIssuerIsAway(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	v := newVerifier(t, "http://"+address, nil)
	require.Equal(t, kind.Unavailable, kind.Of(v.Check(t.Context())))
	_, err = v.Verify(t.Context(), "a.b.c")
	require.Equal(t, kind.Unavailable, kind.Of(err))
	require.NotErrorIs(t, err, service.ErrKey)

	p := oidctest.StartAt(t, address)
	token := p.TokenWith(t, "ann", claims{"tenant": "acme"})
	require.Eventually(t, func() bool { _, err := v.Verify(t.Context(), token); return err == nil }, 5*time.Second, 10*time.Millisecond)
	p.Do(t, oidctest.Control{Rotate: true})
	unknown := p.Token(t, "ann")
	p.Stop()
	time.Sleep(20 * time.Millisecond)
	_, err = v.Verify(t.Context(), token)
	require.NoError(t, err)
	_, err = v.Verify(t.Context(), unknown)
	require.Error(t, err)
	again, stop := context.WithCancel(t.Context())
	stop()
	_, err = v.Verify(again, unknown)
	require.Error(t, err)
}

// Who sends unknown keys does not make the issuer asked each time, and an answer that is wrong or
// endless harms nothing.
func TestIssuerIsSpared(t *testing.T) {
	var asked atomic.Int64
	p := oidctest.Start(t)
	answer := func(w http.ResponseWriter, r *http.Request) bool { return false }
	var at *httptest.Server
	at = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if answer(w, r) {
			return
		}
		_ = json.NewEncoder(w).Encode(claims{"issuer": at.URL, "jwks_uri": p.URL + "/keys"})
	}))
	t.Cleanup(at.Close)
	v := newVerifier(t, at.URL, func(o *oidc.Options) { o.Pause = time.Hour })
	forged := p.Forged(t, p.TokenWith(t, "ann", claims{"tenant": "acme"}), claims{"iss": at.URL})
	for range 20 {
		_, err := v.Verify(t.Context(), forged["another key of unknown ID"])
		require.ErrorIs(t, err, service.ErrKey)
	}
	require.EqualValues(t, 1, asked.Load())

	for name, wrong := range map[string]func(w http.ResponseWriter, r *http.Request) bool{
		"status": func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(500); return true },
		"another issuer": func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = w.Write([]byte(`{"issuer": "https://evil.example"}`))
			return true
		},
		"no JSON": func(w http.ResponseWriter, _ *http.Request) bool { _, _ = w.Write([]byte("<html>")); return true },
		"a redirect": func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, "https://evil.example/", http.StatusFound)
			return true
		},
		"too much": func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = w.Write([]byte(strings.Repeat(" ", 2<<20)))
			return true
		},
		"nothing": func(w http.ResponseWriter, _ *http.Request) bool { return true },
	} {
		answer = wrong
		_, err := newVerifier(t, at.URL, nil).Verify(t.Context(), forged["another key"])
		require.Equal(t, kind.Unavailable, kind.Of(err), "%s: %v", name, err)
	}
}

func TestSettings(t *testing.T) {
	good := oidc.Options{Issuer: "https://id.example", Audiences: []string{"memcore"}, Tenant: "acme"}
	_, err := oidc.New(good)
	require.NoError(t, err)
	for name, change := range map[string]func(*oidc.Options){
		"no URL": func(o *oidc.Options) { o.Issuer = "id.example" }, "without TLS": func(o *oidc.Options) { o.Issuer = "http://id.example" }, "a password": func(o *oidc.Options) { o.Issuer = "https://a:b@id.example" },
		"no audience": func(o *oidc.Options) { o.Audiences = nil }, "an empty audience": func(o *oidc.Options) { o.Audiences = []string{""} }, "no tenant": func(o *oidc.Options) { o.Tenant = "" },
		"both tenants": func(o *oidc.Options) { o.TenantClaim = "tenant" }, "a right": func(o *oidc.Options) { o.Right = "root" },
	} {
		o := good
		change(&o)
		_, err := oidc.New(o)
		require.Equal(t, kind.BadInput, kind.Of(err), "%s: %v", name, err)
	}
}
