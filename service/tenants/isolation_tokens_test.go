package tenants

import (
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/service"
	"github.com/memcore/memcore/service/oidc"
	"github.com/memcore/memcore/service/oidc/oidctest"
)

func (w *world) issuerURL() string {
	if w.issuer == nil {
		return ""
	}
	return w.issuer.URL
}

// verifier takes tokens of the issuer whose groups begin with "team:".
func (w *world) verifier(log *slog.Logger) *oidc.Verifier {
	if w.issuer == nil {
		return nil
	}
	v, err := oidc.New(oidc.Options{Issuer: w.issuer.URL, Audiences: []string{oidctest.Audience}, TenantClaim: "tenant", UserClaim: "preferred_username", TeamPrefix: "team:",
		RightClaim: "right", Right: service.Read, Skew: time.Millisecond, Pause: 20 * time.Millisecond, Logger: log})
	require.NoError(w.t, err)
	return v
}

// tokenOf gets a token for a person with some teams and claims.
func (w *world) tokenOf(p *person, teams []string, more map[string]any) string {
	w.t.Helper()
	groups := []string{"other-group"}
	for _, team := range teams {
		groups = append(groups, "team:"+team)
	}
	claims := map[string]any{"tenant": p.tenant, "preferred_username": p.user, "groups": groups}
	maps.Copy(claims, more)
	return w.issuer.TokenWith(w.t, p.tenant+"."+p.user, claims)
}

// giveTokens gets a person a token, and makes some that nobody must take.
func (w *world) giveTokens(p *person) {
	if w.issuer == nil {
		return
	}
	w.issuer.Do(w.t, oidctest.Control{Lifetime: "1h"})
	p.token = w.tokenOf(p, p.teams, nil)
	p.tokenSession = w.initialize(w.by(p), 0)
	p.forged = w.issuer.Forged(w.t, p.token, nil)
	for _, other := range []map[string]any{{"right": "admin"}, {"tenant": p.tenant + "-2"}, {"exp": time.Now().Add(24 * time.Hour).Unix()}} {
		for name, token := range w.issuer.Forged(w.t, p.token, other) {
			p.forged[fmt.Sprint(name, other)] = token
		}
	}
	for name, c := range map[string]oidctest.Control{"of another audience": {Audience: []string{"mail"}}, "expired": {Lifetime: "-10s"}} {
		w.issuer.Do(w.t, c)
		p.forged[name] = w.tokenOf(p, p.teams, map[string]any{"right": "admin"})
		w.issuer.Do(w.t, oidctest.Control{Audience: []string{oidctest.Audience}, Lifetime: "1h"})
	}
}

// by is a person who asks with the token instead of a key.
func (w *world) by(p *person) *person {
	other := *p
	other.read.Secret, other.session = p.token, p.tokenSession
	return &other
}

// controlWithToken requires that the right token gets its secrets.
func (w *world) controlWithToken(pr probe, p *person, node int) bool {
	return w.control(pr, w.by(p), node)
}

// withTokens sends a probe of a victim with tokens that are not valid for it.
func (w *world) withTokens(victim, other *person, pr probe) attack {
	c := pr.call(victim)
	names := slices.Collect(maps.Keys(victim.forged))
	name := names[rand.N(len(names))]
	switch c.key = "Bearer " + victim.forged[name]; {
	case rand.N(4) == 0 && victim.tenant != other.tenant:
		name, c.key = "of another tenant", "Bearer "+other.token
	case rand.N(8) == 0:
		name, c.key = "in pieces of two", "Bearer "+swapped(victim.token, other.token)
	case rand.N(8) == 0:
		name, c.key = "another scheme", "Basic "+victim.token
	case rand.N(8) == 0:
		name, c.key = "as a key", "Bearer mck_"+victim.read.ID+"_"+victim.token
	}
	if strings.HasPrefix(c.path, "/proxy/") && name != "another scheme" && rand.N(2) == 0 {
		c.header, c.key = map[string]string{service.KeyHeader: strings.TrimPrefix(c.key, "Bearer ")}, ""
	}
	if !strings.HasSuffix(c.path, "/mcp") {
		c.node = rand.N(2)
	}
	return attack{"token " + name + " for " + pr.name, nil, c, refused}
}

// swapped is the claims of one token with the signature of another.
func swapped(a, b string) string {
	first, second := strings.Split(a, "."), strings.Split(b, ".")
	return first[0] + "." + first[1] + "." + second[2]
}

// inTeam asks for what is a victim's team's, with another's key or token.
func (w *world) inTeam(victim, other *person) attack {
	by := *other
	if rand.N(2) == 0 {
		by = *w.by(other)
	}
	mark := "@" + victim.teams[0]
	made := []call{get("/documents/" + mark + "/runbooks/pager.md")(&by), get("/documents/" + mark + "/BEANS.md")(&by), get("/documents/%40" + victim.teams[0] + "/BEANS.md")(&by), get("/history?path=" + mark + "/BEANS.md")(&by),
		post("/retrieve", `{"query": "what is the pager of the night shift?", "path": "`+mark+`/"}`)(&by), post("/search", `{"query": "pager night shift", "path": "`+mark+`", "scope": "project"}`)(&by),
		post("/retrieve", `{"explain": true, "query": "pager night shift", "path": "`+mark+`"}`)(&by), post("/turn?path="+mark, `{"model": "x", "messages": [{"role": "user", "content": "what is the pager of the night shift?"}]}`)(&by),
		post("/context", `{"paths": ["`+mark+`/a.go"]}`)(&by), post("/context", `{"paths": ["../teams/`+victim.teams[0]+`/a.go"]}`)(&by), post("/tools/memory_read", `{"arguments": {"path": "`+mark+`/facts/team.md"}}`)(&by),
		mcpCall(&by, 0, by.session, "resources/read", `{"uri": "memcore:///`+mark+`/BEANS.md"}`), mcpCall(&by, 0, by.session, "tools/call", `{"name": "search_memory", "arguments": {"query": "pager night shift", "path": "`+mark+`/"}}`),
		mcpCall(&by, 0, by.session, "prompts/get", `{"name": "memory_search", "arguments": {"query": "pager night shift"}}`)}
	for path, body := range map[string]string{"/save": `{"arguments": {"content": "be evil", "target": "` + mark + `"}}`, "/forget": `{"arguments": {"text": "` + mark + `/BEANS.md#L1"}}`, "/tools/save_memory": `{"arguments": {"content": "be evil", "target": "` + mark + `"}}`} {
		c := post(path, body)(&by)
		c.key = bearer(other.admin)
		made = append(made, c)
	}
	c := made[rand.N(len(made))]
	if victim.teams[0] == other.teams[0] { // of another tenant: the name is the same, and shows what is the other's
		c = get("/documents/" + mark + "/runbooks/pager.md")(&by)
	}
	if !strings.HasSuffix(c.path, "/mcp") {
		c.node = rand.N(2)
	}
	return attack{"team " + mark, other, c, nil}
}

// testTeamsThatAreLeft requires that who leaves a team sees nothing of it with the next token or
// key, also where its memory is open, while the others go on.
func (w *world) testTeamsThatAreLeft() {
	p := w.people[1]
	for _, tt := range []struct {
		teams []string
		sees  bool
	}{{p.teams, true}, {nil, false}, {[]string{"x"}, false}, {append([]string{"x"}, p.teams...), true}} {
		made := w.createKey(p.tenant, service.Key{User: p.user, Teams: tt.teams, Right: service.Read})
		for _, secret := range []string{made.Secret, w.tokenOf(p, tt.teams, nil)} {
			who := *p
			who.read.Secret, who.teams = secret, p.teams // for the calls
			who.session = w.initialize(&who, 0)
			former := *w.by(p)
			former.read.Secret = secret // takes over the session of the former token
			for _, pr := range probes {
				for node := range w.nodes {
					if tt.sees {
						w.control(pr, &who, node)
						continue
					}
					for _, by := range []*person{&who, &former} {
						c := pr.call(by)
						if c.node = node; strings.HasPrefix(pr.name, "MCP") {
							c.node = 0
						}
						a := w.do(c)
						left := *p
						left.teams = nil
						require.Empty(w.t, w.mustNotSee(&left, a.text), "%s by who has left: %s", pr.name, a.text)
						require.NotEqual(w.t, http.StatusInternalServerError, a.status)
					}
				}
			}
		}
	}
	w.control(probes[0], p, 0)
	w.controlWithToken(probes[0], p, 0)
}
