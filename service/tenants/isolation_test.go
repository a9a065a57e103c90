package tenants

import (
	"archive/tar"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/service"
	"github.com/memcore/memcore/service/oidc/oidctest"
	"github.com/memcore/memcore/service/postgres"
)

// isolationVariable is the number of requests of a run.
const isolationVariable = "MEMCORE_ISOLATION_REQUESTS"

// A world is a service of two nodes, in a place that has memories of the operator.
type world struct {
	t        *testing.T
	base     string // of all folders of the nodes and the operator
	alias    string // another name of base, for attackers to use: an echo of it tells nothing
	database database
	nodes    []*httptest.Server
	inside   []*Node
	client   *http.Client
	model    *fakeModel

	issuer  *oidctest.Provider // nil for none
	secrets []secret
	people  []*person
	log     logged
	audit   logged
}

// A logged keeps what nodes log.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// A secret is a random word, and who may see it.
type secret struct {
	word         string
	tenant, user string // user is "" for all users of a tenant; tenant is "" for the operator's
	team         string // of which the user has to be; "" for any
}

type person struct {
	tenant, user string
	teams        []string
	read, write  service.Key
	admin        service.Key // only of ann
	expired      service.Key
	revoked      service.Key
	session      string // of MCP, at the first node, by the key read

	token        string            // of the issuer, with the right read
	tokenSession string            // of MCP, at the first node, by the token
	forged       map[string]string // tokens that look like it, by what is wrong
}

func (p *person) String() string { return p.tenant + "/" + p.user }

func word() string {
	letters := []byte("zq")
	for range 14 {
		letters = append(letters, "bcdfghjklmnpqrstvwxz"[rand.N(20)])
	}
	return string(letters)
}

// secretOf makes a word that only some may see.
func (w *world) secretOf(tenant, user string) string {
	return w.secretFor(secret{tenant: tenant, user: user})
}

func (w *world) secretFor(s secret) string {
	s.word = word()
	w.secrets = append(w.secrets, s)
	return s.word
}

// maySee reports whether a secret is for somebody; nil is nobody.
func (p *person) maySee(s secret) bool {
	return p != nil && s.tenant == p.tenant && (s.user == "" || s.user == p.user) && (s.team == "" || slices.Contains(p.teams, s.team))
}

// mustNotSee returns what an answer to somebody has and must not have; nil is nobody.
func (w *world) mustNotSee(p *person, answer string) string {
	for _, s := range w.secrets {
		if !p.maySee(s) && strings.Contains(answer, s.word) {
			return fmt.Sprintf("a secret of %q/%q%q", s.tenant, s.user, s.team)
		}
	}
	if strings.Contains(answer, w.base) {
		return "a folder of the node"
	}
	return ""
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOf(t, nil, func(*Options) {})
}

// newWorldOf makes a world whose nodes have changed options. The tokens of an issuer count unless
// it is nil.
func newWorldOf(t *testing.T, issuer *oidctest.Provider, change func(*Options)) *world {
	t.Helper()
	outer, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	w := &world{t: t, issuer: issuer, base: filepath.Join(outer, "base"), alias: filepath.Join(outer, "alias"),
		client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	t.Cleanup(w.client.CloseIdleConnections)
	w.database = newDatabase(t) // before nodes get another temporary folder
	home := filepath.Join(w.base, "home")
	require.NoError(t, os.MkdirAll(filepath.Join(w.base, ".git"), 0o700))
	require.NoError(t, os.Symlink(w.base, w.alias))
	for name, text := range map[string]string{"BEANS.md": "- The operator says %s.", "notes/operator.md": "# Staging\n\nThe operator's staging database is %s.",
		"home/.beans/BEANS.md": "- I, the operator, say %s.", "home/.beans/memories/facts/x.md": "# Staging\n\nThe operator's staging database %s.",
		"nodes/BEANS.md": "- In the folder of nodes: %s.", "home/.beans/sessions/x.md": "%s"} {
		file := filepath.Join(w.base, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, text, w.secretOf("", "")), 0o600))
	}
	for name, value := range map[string]string{"HOME": home, "XDG_CACHE_HOME": home + "/cache", "XDG_STATE_HOME": home + "/state", "MEMCORE_EMBEDDER": "none", "TMPDIR": filepath.Join(w.base, "nodes")} {
		t.Setenv(name, value)
	}
	t.Chdir(w.base)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the nodes log:\n%s", w.log.text.String())
		}
	})
	w.model = newModel(t)
	w.secrets = append(w.secrets, secret{word: w.model.key})
	for range 2 {
		log := slog.New(slog.NewTextHandler(&w.log, nil))
		audit := service.NewAuditLog(&w.audit, func(err error) { t.Error(err) })
		o := Options{DB: w.database.open(t), Workspace: &app.Workspace{Config: &config.Config{Log: log}, Version: "test", Note: func(string, ...any) {}},
			Audit: audit, Logger: log}
		change(&o)
		node, err := NewNode(o)
		require.NoError(t, err)
		server := httptest.NewServer(service.New(service.Options{Keys: NewKeys(o.DB, w.verifier(log), log), Tenants: node.Tenants(), Node: node, Issuer: w.issuerURL(), Scopes: []string{"openid"}, OperatorKey: operatorKey, Version: "test", AtOnce: 64, Upstreams: w.model.upstreams(t, log), Audit: audit, Traces: o.Traces, Logger: log}))
		w.nodes, w.inside = append(w.nodes, server), append(w.inside, node)
		t.Cleanup(func() {
			server.CloseClientConnections()
			server.Close()
			require.NoError(t, node.Close())
		})
	}
	return w
}

// A call is a request.
type call struct {
	node         int
	method       string
	tenant, path string // in the URL, as they are
	key          string // all of the header's value, "" for none
	body         string
	header       map[string]string
}

// An answer of a node.
type answer struct {
	status int
	text   string // body and headers
	header http.Header
}

func bearer(k service.Key) string { return "Bearer " + k.Secret }

func (w *world) do(c call) answer {
	target, err := url.Parse(w.nodes[c.node].URL + "/v1/tenants/" + c.tenant + c.path)
	if err != nil { // no client can send it
		return answer{status: 400}
	}
	r, err := http.NewRequestWithContext(w.t.Context(), c.method, "http://x", strings.NewReader(c.body))
	if err != nil {
		w.t.Error(err)
		return answer{}
	}
	r.URL, r.Host = target, target.Host
	if c.key != "" {
		r.Header.Set("Authorization", c.key)
	}
	for name, value := range c.header {
		r.Header.Set(name, value)
	}
	response, err := w.client.Do(r)
	if err != nil {
		w.t.Errorf("%+v: %v", c, err)
		return answer{}
	}
	defer response.Body.Close()
	var text bytes.Buffer
	_, err = io.Copy(&text, response.Body)
	if err != nil {
		w.t.Errorf("%+v: %v", c, err)
	}
	_ = response.Header.Write(&text)
	return answer{response.StatusCode, text.String(), response.Header}
}

// must does what has to succeed.
func (w *world) must(c call) answer {
	w.t.Helper()
	a := w.do(c)
	require.Equal(w.t, http.StatusOK, a.status, "%+v: %s", c, a.text)
	return a
}

func (w *world) fill(tenantNames, users []string) {
	for _, tenant := range tenantNames {
		w.createTenant(tenant)
		for _, user := range users {
			p := &person{tenant: tenant, user: user, teams: []string{"team-of-" + user}}
			for key, right := range map[*service.Key]service.Right{&p.read: service.Read, &p.write: service.Write, &p.revoked: service.Write, &p.admin: service.Admin} {
				*key = w.createKey(tenant, service.Key{User: user, Teams: p.teams, Right: right})
			}
			p.expired = w.createKey(tenant, service.Key{User: user, Teams: p.teams, Right: service.Admin, Expires: time.Now().Add(time.Second)})
			w.must(call{method: "DELETE", tenant: tenant, path: "/keys/" + p.revoked.ID, key: "Bearer " + operatorKey})
			w.people = append(w.people, p)
		}
	}
	for i, p := range w.people {
		put := func(path, format, tenant, user string) {
			w.must(call{node: i % 2, method: "PUT", tenant: p.tenant, path: "/documents/" + path, key: bearer(p.admin), body: fmt.Sprintf(format, w.secretOf(tenant, user))})
		}
		if p.user == users[0] {
			put("notes/deploy.md", "# Deploy\n\nThe staging database of the shop is %s.\n", p.tenant, "")
			put("BEANS.md", "- Call the shop %s.\n", p.tenant, "")
			put(".beans/rules/go.md", "---\nglobs: '*.go'\n---\nRun the linter %s.\n", p.tenant, "")
			put("conversations/first.json", `{"messages": [{"role": "user", "content": "Which port has the warehouse?"}, {"role": "assistant", "content": "The warehouse listens on %s."}]}`, p.tenant, "")
		}
		for _, team := range p.teams {
			for path, format := range map[string]string{"runbooks/pager.md": "# Pager\n\nThe pager of the night shift is %s.\n", "BEANS.md": "- Our team says %s.\n", ".beans/rules/go.md": "---\nglobs: '*.go'\n---\nOur team tests with %s.\n"} {
				w.must(call{node: i % 2, method: "PUT", tenant: p.tenant, path: "/documents/@" + team + "/" + path, key: bearer(p.admin), body: fmt.Sprintf(format, w.secretFor(secret{tenant: p.tenant, team: team}))})
			}
		}
		put("~/.beans/memories/facts/tea.md", "# Tea\n\nThe favourite tea is called %s.\n", p.tenant, p.user)
		put("~/.beans/BEANS.md", "- My name is %s.\n", p.tenant, p.user)
		w.must(call{node: i % 2, method: "POST", tenant: p.tenant, path: "/save", key: bearer(p.write),
			body: fmt.Sprintf(`{"arguments": {"content": "The locker number is %s", "target": "global"}}`, w.secretOf(p.tenant, p.user))})
		p.session = w.initialize(p, 0)
		w.giveTokens(p)
	}
}

// mcp returns a call of a method of the Model Context Protocol.
func mcpCall(p *person, node int, session, method, params string) call {
	c := call{node: node, method: "POST", tenant: p.tenant, path: "/mcp", key: bearer(p.read), body: fmt.Sprintf(`{"jsonrpc": "2.0", "id": 1, "method": %q, "params": %s}`, method, params),
		header: map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}}
	if session != "" {
		c.header["Mcp-Session-Id"] = session
	}
	return c
}

func (w *world) initialize(p *person, node int) string {
	a := w.must(mcpCall(p, node, "", "initialize", `{"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}`))
	session := a.header.Get("Mcp-Session-Id")
	require.NotEmpty(w.t, session)
	c := mcpCall(p, node, session, "notifications/initialized", "{}")
	c.body = `{"jsonrpc": "2.0", "method": "notifications/initialized"}`
	w.do(c)
	return session
}

// A probe is a request that shows secrets to who may see them: some of all users of a tenant, some
// of one user.
type probe struct {
	name        string
	shared, own bool // secrets of all users, and of the user
	call        func(p *person) call
	team        bool // secrets of the user's team
}

func post(path, body string) func(*person) call {
	return func(p *person) call {
		return call{method: "POST", tenant: p.tenant, path: path, key: bearer(p.read), body: body}
	}
}

func get(path string) func(*person) call {
	return func(p *person) call { return call{method: "GET", tenant: p.tenant, path: path, key: bearer(p.read)} }
}

var probes = []probe{
	{name: "a document", shared: true, call: get("/documents/notes/deploy.md")},
	{name: "curated memory as a document", shared: true, call: get("/documents/BEANS.md")},
	{name: "a rule", shared: true, call: get("/documents/.beans/rules/go.md")},
	{name: "a conversation", shared: true, call: get("/documents/conversations/first.json")},
	{name: "an own document", own: true, call: get("/documents/~/.beans/memories/facts/tea.md")},
	{name: "own curated memory", own: true, call: get("/documents/~/.beans/BEANS.md")},
	{name: "an export", team: true, shared: true, own: true, call: get("/export")},
	{name: "curated memory", team: true, shared: true, own: true, call: post("/context", `{}`)},
	{name: "a rule of a file", team: true, shared: true, call: post("/context", `{"paths": ["a.go"]}`)},
	{name: "retrieval", shared: true, call: post("/retrieve", `{"query": "what is the staging database of the shop?"}`)},
	{name: "retrieval of a conversation", shared: true, call: post("/retrieve", `{"query": "Which port has the warehouse?"}`)},
	{name: "retrieval of what is the user's", own: true, call: post("/retrieve", `{"query": "what is the favourite tea called?", "scope": "global"}`)},
	{name: "explanation", shared: true, call: post("/retrieve", `{"explain": true, "query": "what is the staging database of the shop?"}`)},
	{name: "search", shared: true, call: post("/search", `{"query": "staging database shop"}`)},
	{name: "a search of a scope", own: true, call: post("/search", `{"query": "favourite tea", "scope": "global"}`)},
	{name: "a turn", shared: true, call: post("/turn", `{"model": "x", "messages": [{"role": "user", "content": "what is the staging database of the shop?"}]}`)},
	{name: "a chat that passes to a model", shared: true, own: true, call: post("/proxy/model/v1/chat/completions", `{"model": "x", "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "what is the staging database of the shop?"}]}`)},
	{name: "the tool search_memory", shared: true, call: post("/tools/search_memory", `{"arguments": {"query": "what is the staging database of the shop?"}}`)},
	{name: "MCP: search_memory", shared: true, call: func(p *person) call {
		return mcpCall(p, 0, p.session, "tools/call", `{"name": "search_memory", "arguments": {"query": "what is the staging database of the shop?"}}`)
	}},
	{name: "MCP: curated memory", team: true, shared: true, own: true, call: func(p *person) call { return mcpCall(p, 0, p.session, "prompts/get", `{"name": "memory_context"}`) }},
	{name: "MCP: a resource", shared: true, call: func(p *person) call {
		return mcpCall(p, 0, p.session, "resources/read", `{"uri": "memcore:///BEANS.md"}`)
	}},
	{name: "a document of a team", team: true, call: ofTeam("GET", "/documents/@%s/runbooks/pager.md", "")},
	{name: "curated memory of a team", team: true, call: ofTeam("GET", "/documents/@%s/BEANS.md", "")},
	{name: "history of a team, which has no texts", call: ofTeam("GET", "/history?path=@%s/BEANS.md", "")},
	{name: "retrieval in a team", team: true, call: ofTeam("POST", "/retrieve", `{"query": "what is the pager of the night shift?", "path": "@%s/"}`)},
	{name: "search in a team", team: true, call: ofTeam("POST", "/search", `{"query": "pager night shift", "path": "@%s"}`)},
	{name: "a turn in a team", team: true, call: ofTeam("POST", "/turn?path=@%s/", `{"model": "x", "messages": [{"role": "user", "content": "what is the pager of the night shift?"}]}`)},
	{name: "MCP: a resource of a team", team: true, call: func(p *person) call {
		return mcpCall(p, 0, p.session, "resources/read", `{"uri": "memcore:///@`+p.teams[0]+`/BEANS.md"}`)
	}},
	{name: "MCP: search_memory in a team", team: true, call: func(p *person) call {
		return mcpCall(p, 0, p.session, "tools/call", `{"name": "search_memory", "arguments": {"query": "pager night shift", "path": "@`+p.teams[0]+`/"}}`)
	}},
}

// ofTeam is a request about the first team of a person, whose name replaces %s.
func ofTeam(method, path, body string) func(*person) call {
	return func(p *person) call {
		named := func(text string) string { return strings.ReplaceAll(text, "%s", p.teams[0]) }
		return call{method: method, tenant: p.tenant, path: named(path), key: bearer(p.read), body: named(body)}
	}
}

// control requires that the right key gets its secrets.
func (w *world) control(pr probe, p *person, node int) bool { return w.shows(pr, pr.call(p), p, node) }

// shows requires that a call of a probe shows the secrets of a person.
func (w *world) shows(pr probe, c call, p *person, node int) bool {
	if !strings.HasPrefix(pr.name, "MCP") {
		c.node = node
	}
	var a answer
	for begun := time.Now(); time.Since(begun) < 5*time.Second; time.Sleep(50 * time.Millisecond) {
		a = w.do(c)
		if bad := w.mustNotSee(p, a.text); bad != "" {
			w.t.Errorf("control %s by %s shows %s: %s", pr.name, p, bad, a.text)
			return false
		}
		shared, own, team := !pr.shared, !pr.own, !pr.team
		for _, s := range w.secrets {
			if s.tenant == p.tenant && strings.Contains(a.text, s.word) {
				shared, own, team = shared || s.user+s.team == "", own || s.user == p.user, team || s.team != ""
			}
		}
		if a.status == http.StatusOK && shared && own && team {
			return true
		}
	}
	w.t.Errorf("control %s by %s does not show its secrets: %d %s", pr.name, p, a.status, a.text)
	return false
}

// An attack is a request that must not show secrets to who sends it, nil for nobody.
type attack struct {
	name   string
	by     *person
	call   call
	status []int // wanted; nil for any below 500
}

var refused = []int{401, 403}

// withKeys sends a probe of a victim with keys that are not the victim's.
func (w *world) withKeys(victim, other *person, pr probe) attack {
	c := pr.call(victim)
	name := ""
	one := func(names string, key string) (string, string) { return names, key }
	kinds := []func() (string, string){
		func() (string, string) { return one("no key", "") },
		func() (string, string) { return one("an empty key", "Bearer ") },
		func() (string, string) { return one("a random key", "Bearer mck_"+word()[:12]+"_"+word()) },
		func() (string, string) { return one("an expired key", bearer(victim.expired)) },
		func() (string, string) { return one("a revoked key", bearer(victim.revoked)) },
		func() (string, string) { return one("no scheme", victim.read.Secret) },
		func() (string, string) { return one("another scheme", "Basic "+victim.read.Secret) },
		func() (string, string) {
			return one("the victim's ID with another's secret", "Bearer mck_"+victim.read.ID+"_"+strings.Split(other.read.Secret, "_")[2])
		},
		func() (string, string) {
			return one("another's ID with the victim's secret", "Bearer mck_"+other.read.ID+"_"+strings.Split(victim.read.Secret, "_")[2])
		},
		func() (string, string) { return one("a cut secret", bearer(victim.read)[:len(bearer(victim.read))-1]) },
		func() (string, string) { return one("the key twice", bearer(victim.read)+", "+bearer(victim.read)) },
		func() (string, string) { return one("two keys", bearer(other.read)+" "+bearer(victim.read)) },
		func() (string, string) {
			return one("the hash", "Bearer mck_"+victim.read.ID+"_"+hex.EncodeToString(hashOf(strings.Split(victim.read.Secret, "_")[2])))
		},
		func() (string, string) { return one("an admin's key of another tenant", bearer(other.admin)) },
	}
	name, c.key = kinds[rand.N(len(kinds))]()
	if header := []string{"Authorization", "X-Api-Key", service.KeyHeader}[rand.N(3)]; strings.HasPrefix(c.path, "/proxy/") && name != "no scheme" && header != "Authorization" {
		c.header, c.key = map[string]string{header: strings.TrimPrefix(c.key, "Bearer ")}, ""
	}
	by := (*person)(nil)
	if other.tenant == victim.tenant { // then its key is valid here, and shows what is the other's
		if strings.HasPrefix(name, "an admin's key") {
			return w.withKeys(victim, other, pr)
		}
	}
	return attack{name + " for " + pr.name, by, c, refused}
}

// tenantNames are odd ways to name a victim's tenant with another's key.
func (w *world) inOddTenant(victim, other *person, pr probe) attack {
	c := pr.call(other)
	v, o := victim.tenant, other.tenant
	names := []string{o + "/../" + v, o + "/%2e%2e/" + v, o + "%2f..%2f" + v, o + "%2F%2e%2e%2F" + v, "..", "%2e%2e", ".", "%2e", "", "/", "//" + v, v + "%00", v + "%20", strings.ToUpper(v), v + "%0a", v + ".", o + "," + v, "*", "%",
		o + ";" + v, v + "%23", o + "?tenant=" + v, "%c0%ae%c0%ae", "\uff0e\uff0e", strings.Repeat("a", 5000), "system", "registry", "registry%2f" + v, "..%2fregistry%2f" + v, v + ".json", "..%2fsystem", "null", "0", v, v + "/documents/../../" + v, o + "\\..\\" + v,
		"аcme", v + "%u0000", "%25%32%65%25%32%65"}
	c.tenant = names[rand.N(len(names))]
	if rand.N(3) == 0 {
		c.path = "/../" + v + c.path
	}
	return attack{"tenant " + c.tenant + " for " + pr.name, other, c, nil}
}

// guessed asks for tenants that may exist, with a key of another one or one that looks like a key.
func (w *world) guessed(victim, other *person, pr probe) attack {
	c := pr.call(other)
	v := victim.tenant
	names := []string{v + "-2", v + "2", v[:len(v)-1], v + ".json", word(), "a", "admin", "system", "registry", "removals", strings.Repeat("a", 63)}
	if c.tenant = names[rand.N(len(names))]; rand.N(2) == 0 {
		c.key = "Bearer mck_" + victim.read.ID + "_" + strings.Repeat("a", 26)
	}
	if c.tenant == other.tenant && c.key == bearer(other.read) { // acme-2 by its own key
		return attack{"its own tenant for " + pr.name, other, c, nil}
	}
	return attack{"guessed tenant " + c.tenant + " for " + pr.name, nil, c, []int{401, 503}}
}

// places are names of a victim's files, as other users could write them.
func (w *world) places(victim, other *person) []string {
	node := filepath.Join(w.alias, "nodes", "memcore-service-1", "1")
	var all []string
	for _, file := range []string{"users/" + victim.user + "/.beans/memories/facts/tea.md", "users/" + victim.user + "/.beans/BEANS.md", "shared/notes/deploy.md", "shared/BEANS.md", "teams/" + victim.teams[0] + "/runbooks/pager.md", "teams/" + victim.teams[0] + "/BEANS.md"} {
		if victim.tenant == other.tenant && victim.user == other.user {
			continue
		}
		if victim.tenant == other.tenant && strings.HasPrefix(file, "shared/") {
			continue
		}
		base := []string{filepath.Join(node, file), "../../../2/" + file, "../../../../memcore-service-1/2/" + file, "~/../../2/" + file}
		if victim.tenant == other.tenant {
			base = append(base, "../"+file, "~/../../"+file, "~/../"+strings.TrimPrefix(file, "users/"), "~"+strings.TrimPrefix(file, "users/"), "@"+strings.TrimPrefix(file, "teams/"), "@"+other.teams[0]+"/../../"+file, "@"+other.teams[0]+"/../"+strings.TrimPrefix(file, "teams/"), file, "./../"+file, ".beans/../../"+file, "~/.beans/../../../"+file)
		}
		all = append(all, base...)
	}
	return append(all, filepath.Join(w.alias, "BEANS.md"), filepath.Join(w.alias, "home/.beans/BEANS.md"), filepath.Join(w.alias, "notes/operator.md"), "../../../../../../BEANS.md", "/etc/passwd", "/proc/self/environ")
}

func quote(text string) string {
	data, _ := json.Marshal(text)
	return string(data)
}

// atPlace names a victim's file with another's own key.
func (w *world) atPlace(victim, other *person) attack {
	all := w.places(victim, other)
	place := all[rand.N(len(all))]
	escaped := []string{url.PathEscape(place), strings.ReplaceAll(url.PathEscape(place), ".", "%2e"), (&url.URL{Path: place}).EscapedPath(), "/" + place, "~/.beans/" + place}[rand.N(5)]
	folder := filepath.Dir(place)
	q := quote
	made := []call{
		get("/documents/" + escaped)(other),
		get("/history?path=" + url.QueryEscape(place))(other),
		post("/search", `{"query": "favourite tea staging database", "path": `+q(place)+`}`)(other),
		post("/search", `{"query": "favourite tea staging database", "path": `+q(folder)+`}`)(other),
		post("/search", `{"query": "favourite tea staging database", "scope": "global", "path": `+q(folder)+`}`)(other),
		post("/retrieve", `{"query": "what is the favourite tea called?", "path": `+q(folder)+`}`)(other),
		post("/context", `{"paths": [`+q(place)+`, `+q(folder+"/x.go")+`]}`)(other),
		post("/context", `{"request": "go", "paths": [`+q(place)+`]}`)(other),
		post("/context", `{"session": `+q(place)+`}`)(other),
		post("/tools/memory_read", `{"arguments": {"path": `+q(place)+`}}`)(other),
		post("/tools/search_memory", `{"arguments": {"query": "favourite tea staging database", "path": `+q(folder)+`}}`)(other),
		post("/tools/recall_memory", `{"arguments": {"query": "warehouse port", "session": `+q(place)+`}}`)(other),
		post("/tools/"+escaped, `{"arguments": {}}`)(other),
		post("/tools/..%2findex", `{}`)(other),
		mcpCall(other, 0, other.session, "resources/read", `{"uri": `+q("memcore:///"+place)+`}`),
		mcpCall(other, 0, other.session, "resources/read", `{"uri": `+q("file://"+place)+`}`),
		mcpCall(other, 0, other.session, "tools/call", `{"name": "memory_read", "arguments": {"path": `+q(place)+`}}`),
		mcpCall(other, 0, other.session, "tools/call", `{"name": "forget", "arguments": {"text": `+q(place+"#L1")+`}}`),
		mcpCall(other, 0, other.session, "resources/list", `{}`),
		mcpCall(other, 0, other.session, "prompts/get", `{"name": "memory_search", "arguments": {"query": "favourite tea"}}`),
	}
	for _, body := range []string{`{"arguments": {"text": ` + q(place+"#L3") + `}}`, `{"arguments": {"text": ` + q(place) + `}}`} {
		c := post("/forget", body)(other)
		c.key = bearer(other.write)
		made = append(made, c)
	}
	for tool, arguments := range map[string]string{
		"save_memory": `{"content": "x", "path": ` + q(place) + `}`, "memory_patch": `{"path": ` + q(place) + `, "patches": [{"oldText": "tea", "newText": "coffee"}], "old_text": "tea", "new_text": "coffee"}`,
		"forget": `{"text": ` + q(place+"#L3-L4") + `}`, "memory_write": `{"path": ` + q(place) + `, "content": "x"}`, "memory_append": `{"path": ` + q(place) + `, "entry": "x"}`,
	} {
		c := post("/tools/"+tool, `{"arguments": `+arguments+`}`)(other)
		c.key = bearer(other.write)
		made = append(made, c)
	}
	c := post("/save", `{"arguments": {"content": "x`+word()[:4]+`", "target": "global", "supersedes": `+q(place+"#L3")+`}}`)(other)
	c.key = bearer(other.write)
	made = append(made, c)
	c = made[rand.N(len(made))]
	if !strings.HasSuffix(c.path, "/mcp") {
		c.node = rand.N(2)
	}
	return attack{"place " + place, other, c, nil}
}

// withBody names a victim's workspace in bodies.
func (w *world) withBody(victim, other *person) attack {
	folder := filepath.Join(w.alias, "nodes", "memcore-service-1", "1", homeFolder)
	real := filepath.Join(w.base, "nodes", "memcore-service-1", "1", homeFolder)
	names := []string{"workspace", "Workspace", "WORKSPACE", "wor\u212aspace", "work\u017fpace", `work\u0073pace`, "workspace ", "folder", "cwd", "tenant", "user"}
	name := names[rand.N(len(names))]
	value := []string{folder, real, w.alias, filepath.Dir(folder), "", "/"}[rand.N(6)]
	bodies := []string{
		`{"query": "favourite tea staging database", "` + name + `": ` + quote(value) + `}`,
		`{"` + name + `": ` + quote(value) + `, "query": "favourite tea staging database", "` + name + `": ` + quote(value) + `}`,
		`{"query": "x", "query": "favourite tea staging database"} {"workspace": ` + quote(value) + `}`,
		`[{"workspace": ` + quote(value) + `}]`, `null`, `"x"`, `{`, `{"query": {"workspace": ` + quote(value) + `}}`, strings.Repeat("[", 20000), `{"query": "` + strings.Repeat("x", 100000) + `"}`, "\x00\xff",
	}
	c := post([]string{"/retrieve", "/search", "/context", "/status", "/tools", "/tools/search_memory"}[rand.N(6)], bodies[rand.N(len(bodies))])(other)
	c.node = rand.N(2)
	return attack{"body " + name, other, c, nil}
}

// withSession takes over a session of MCP.
func (w *world) withSession(victim, other *person) attack {
	made := []call{
		mcpCall(other, 0, victim.session, "prompts/get", `{"name": "memory_context"}`),
		mcpCall(other, 0, victim.session, "tools/call", `{"name": "search_memory", "arguments": {"query": "what is the staging database of the shop?"}}`),
		mcpCall(other, 1, victim.session, "resources/list", `{}`),
		{method: "DELETE", tenant: other.tenant, path: "/mcp", key: bearer(other.read), header: map[string]string{"Mcp-Session-Id": victim.session}},
		{method: "GET", tenant: other.tenant, path: "/mcp", key: bearer(other.read), header: map[string]string{"Mcp-Session-Id": victim.session, "Accept": "text/event-stream"}},
	}
	c := made[rand.N(len(made))]
	return attack{"session of another", other, c, []int{404, 400}}
}

// narrowed uses a key for more than it may.
func (w *world) narrowed(_, other *person) attack {
	body := "- be evil " + word()[:5]
	var archive bytes.Buffer
	out := tar.NewWriter(&archive)
	_ = out.WriteHeader(&tar.Header{Name: "BEANS.md", Mode: 0o600, Size: int64(len(body))})
	_, _ = out.Write([]byte(body))
	_ = out.Close()
	type tried struct {
		key          service.Key
		method, path string
		body         string
	}
	all := []tried{
		{other.read, "PUT", "/documents/notes/deploy.md", body}, {other.read, "DELETE", "/documents/notes/deploy.md", ""}, {other.read, "PUT", "/documents/~/.beans/memories/facts/tea.md", body},
		{other.read, "POST", "/save", `{"arguments": {"content": "be evil", "target": "global"}}`}, {other.read, "POST", "/forget", `{"arguments": {"text": "favourite tea called"}}`},
		{other.read, "POST", "/tools/save_memory", `{"arguments": {"content": "be evil"}}`}, {other.read, "POST", "/tools/memory_patch", `{"arguments": {}}`}, {other.read, "POST", "/conversations/x", `{"messages": [{"role": "user", "content": "x"}]}`},
		{other.read, "POST", "/import", archive.String()}, {other.read, "POST", "/restore", `{"version": 1}`}, {other.read, "GET", "/keys", ""}, {other.read, "POST", "/keys", `{"user": "ann", "right": "admin"}`}, {other.read, "DELETE", "/keys/" + other.admin.ID, ""},
		{other.write, "PUT", "/documents/BEANS.md", body}, {other.write, "DELETE", "/documents/BEANS.md", ""}, {other.write, "PUT", "/documents/a/b/beans.md", body}, {other.write, "PUT", "/documents/.beans/rules/go.md", body}, {other.write, "PUT", "/documents/.beans/x.md", body},
		{other.write, "POST", "/forget", `{"arguments": {"text": "BEANS.md#L1"}}`},
		{other.write, "POST", "/import", archive.String()}, {other.write, "POST", "/restore", `{"version": 1}`}, {other.write, "GET", "/keys", ""}, {other.write, "POST", "/keys", `{"user": "ann", "right": "read"}`}, {other.write, "DELETE", "/keys/" + other.read.ID, ""},
		{other.write, "POST", "/conversations/..%2f..%2fBEANS", `{"messages": [{"role": "user", "content": "x"}]}`},
	}
	v := all[rand.N(len(all))]
	want := []int{403}
	if strings.HasPrefix(v.path, "/conversations/..") {
		want = []int{400}
	}
	return attack{"too much for " + string(v.key.Right), other, call{node: rand.N(2), method: v.method, tenant: other.tenant, path: v.path, key: bearer(v.key), body: v.body}, want}
}

// withKeysOf changes keys of another tenant.
func (w *world) withKeysOf(victim, other *person) attack {
	made := []struct {
		method, path, body string
		want               []int
	}{
		{"DELETE", "/keys/" + victim.read.ID, "", []int{404}}, {"POST", "/keys", `{"user": "ann", "right": "admin", "tenant": ` + quote(victim.tenant) + `}`, []int{403}},
		{"POST", "/keys", `{"user": "../` + victim.user + `", "right": "admin"}`, []int{400}}, {"POST", "/keys", `{"user": "ann", "right": "root"}`, []int{400}}, {"POST", "/keys", `{"User": "ann", "TenantID": "x"}`, []int{400}},
		{"GET", "/keys", "", []int{200}}, {"GET", "/keys?tenant=" + victim.tenant, "", []int{200}},
	}
	v := made[rand.N(len(made))]
	if victim.tenant == other.tenant && v.method != "GET" {
		v = made[3]
	}
	return attack{"keys of another tenant", other, call{node: rand.N(2), method: v.method, tenant: other.tenant, path: v.path, key: bearer(other.admin), body: v.body}, v.want}
}

func TestIsolation(t *testing.T) {
	requests := 3000
	if text := os.Getenv(isolationVariable); text != "" {
		var err error
		requests, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	testIsolation(t, requests)
}

// attacksPerSession are sent in less time than a session of MCP lasts.
const attacksPerSession = 10_000

// A tally counts requests.
type tally struct {
	controls atomic.Int64
	statuses sync.Map
}

func (c *tally) String() string {
	var counted []string
	c.statuses.Range(func(status, n any) bool {
		counted = append(counted, fmt.Sprintf("%v: %d", status, n.(*atomic.Int64).Load()))
		return true
	})
	slices.Sort(counted)
	return strings.Join(counted, ", ")
}

// attack sends attacks at once, and controls between them.
func (w *world) attack(requests int, counts *tally) {
	var done atomic.Int64
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for done.Add(1) <= int64(requests) && !w.t.Failed() {
				victim, other, pr := w.people[rand.N(len(w.people))], w.people[rand.N(len(w.people))], probes[rand.N(len(probes))]
				switch {
				case victim != other:
					w.attackOnce(victim, other, pr, counts)
				case rand.N(6) == 0:
					counts.controls.Add(1)
					w.control(pr, victim, rand.N(2))
				case rand.N(5) == 0:
					counts.controls.Add(1)
					w.controlWithToken(pr, victim, rand.N(2))
				}
			}
		})
	}
	workers.Wait()
}

// attackOnce sends an attack on a victim and requires that it shows nothing.
func (w *world) attackOnce(victim, other *person, pr probe, counts *tally) {
	var a attack
	switch rand.N(11) {
	case 0, 1:
		a = w.withKeys(victim, other, pr)
	case 2:
		a = []func(_, _ *person, _ probe) attack{w.inOddTenant, w.guessed}[rand.N(2)](victim, other, pr)
	case 3, 4:
		a = w.atPlace(victim, other)
	case 5:
		a = w.withBody(victim, other)
	case 6:
		a = w.narrowed(victim, other)
	case 7, 8:
		a = w.withTokens(victim, other, pr)
	case 9:
		a = w.inTeam(victim, other)
	default:
		a = []func(_, _ *person) attack{w.withSession, w.withKeysOf}[rand.N(2)](victim, other)
	}
	got := w.do(a.call)
	count, _ := counts.statuses.LoadOrStore(got.status, &atomic.Int64{})
	count.(*atomic.Int64).Add(1)
	bad := w.mustNotSee(a.by, strings.ReplaceAll(got.text, "\\/", "/"))
	if bad != "" && strings.Contains(a.call.body, w.base) && !strings.Contains(bad, "secret") {
		bad = "" // the attacker said it
	}
	switch {
	case bad != "":
		w.t.Errorf("%s by %s for %s shows %s: %+v: %d %s", a.name, a.by, victim, bad, a.call, got.status, got.text)
	case got.status >= 500 && got.status != http.StatusServiceUnavailable:
		w.t.Errorf("%s by %s: %+v: %d %s", a.name, a.by, a.call, got.status, got.text)
	case a.status != nil && !slices.Contains(a.status, got.status):
		w.t.Errorf("%s by %s: %+v: %d %s, want %v", a.name, a.by, a.call, got.status, got.text, a.status)
	}
}

func testIsolation(t *testing.T, requests int) {
	w := newWorldOf(t, oidctest.Start(t), func(*Options) {})
	w.fill([]string{"acme", "globex", "acme-2"}, []string{"ann", "bob"})
	for _, p := range w.people {
		for _, pr := range probes {
			for node := range w.nodes {
				if !w.control(pr, p, node) || !w.controlWithToken(pr, p, node) {
					return
				}
			}
		}
	}
	for _, p := range w.people {
		for _, path := range []string{"/status", "/tools"} {
			a := w.must(post(path, `{}`)(p))
			require.Empty(t, w.mustNotSee(p, strings.ReplaceAll(a.text, "-", "/")), path)
		}
	}
	time.Sleep(time.Until(w.people[len(w.people)-1].expired.Expires))

	var counts tally
	for left := requests; left > 0 && !t.Failed(); left -= attacksPerSession {
		if left < requests { // the servers of MCP end sessions whose clients answer no pings
			for _, p := range w.people {
				p.session = w.initialize(p, 0)
				w.giveTokens(p)
			}
		}
		w.attack(min(left, attacksPerSession), &counts)
	}
	t.Logf("isolation: %d requests, of which %d are controls; statuses %s", requests, counts.controls.Load(), &counts)
	w.testUnchanged()
	w.model.testKeys(t)
	require.NotContains(t, w.log.text.String(), "mck_")
	require.NotContains(t, w.log.text.String(), "eyJ", "a token")
	require.NotContains(t, w.log.text.String(), w.model.key)
	require.Empty(t, w.mustNotSee(nil, w.audit.text.String()), "in the audit log")
	w.testImports()
	w.testTeamsThatAreLeft()
	w.testRevocation()
	w.testRemoval()
}

// testUnchanged requires that no attack changed what it must not.
func (w *world) testUnchanged() {
	for _, p := range w.people {
		all := ""
		for _, d := range w.database.documents(w.t, p.tenant) {
			all += d.Text
			require.NotEqual(w.t, p.read.ID, strings.TrimPrefix(d.By, p.user+"/"), "written with the right read: %s", d.Path)
			if d.Scope.Kind == postgres.Shared {
				require.NotContains(w.t, d.Text, "be evil", d.Path)
			}
		}
		for _, s := range w.secrets {
			if s.tenant == p.tenant {
				require.Contains(w.t, all, s.word, "what %s had is still there", p)
			}
		}
	}
}

// testImports lets curated memory import files of others, and of the node.
func (w *world) testImports() {
	for i, victim := range w.people {
		other := w.people[(i+1)%len(w.people)] // in turns of the same tenant and of another
		var text strings.Builder
		for _, place := range w.places(victim, other) {
			fmt.Fprintf(&text, "@import %s\n@%s\n- See @%s.\n![x](%s)\n", place, place, place, place)
		}
		hostile := map[string]service.Key{"~/.beans/BEANS.local.md": other.write, "~/.beans/rules/x.md": other.write, "x/BEANS.md": other.admin, "@" + other.teams[0] + "/x/BEANS.md": other.admin, "@" + other.teams[0] + "/.beans/BEANS.md": other.admin}
		for path, key := range hostile {
			w.must(call{node: 0, method: "PUT", tenant: other.tenant, path: "/documents/" + path, key: bearer(key), body: text.String()})
		}
		for _, c := range []call{post("/context", `{}`)(other), post("/context", `{"paths": ["x/a.go"]}`)(other), mcpCall(other, 0, other.session, "prompts/get", `{"name": "memory_context"}`)} {
			a := w.must(c)
			if bad := w.mustNotSee(other, a.text); bad != "" {
				w.t.Errorf("imports of %s from %s show %s: %+v: %s", other, victim, bad, c, a.text)
			}
		}
		for path, key := range hostile { // they leave no room for what the controls look for
			w.must(call{node: 0, method: "DELETE", tenant: other.tenant, path: "/documents/" + path, key: bearer(key)})
		}
	}
	for _, p := range w.people {
		w.control(probes[7], p, 1)
	}
}

// testRevocation requires that no node takes a revoked key, nor goes on with its stream.
func (w *world) testRevocation() {
	t, p := w.t, w.people[0]
	var made service.Key
	a := w.must(call{method: "POST", tenant: p.tenant, path: "/keys", key: bearer(p.admin), body: `{"user": "bob", "right": "admin"}`})
	text, _, _ := strings.Cut(a.text, "\n")
	require.NoError(t, json.Unmarshal([]byte(text), &made))
	who := *w.people[1]
	who.read = made
	for node := range w.nodes {
		w.must(call{node: node, method: "GET", tenant: p.tenant, path: "/whoami", key: bearer(made)})
	}
	session := w.initialize(&who, 1)
	ended := make(chan int, 1)
	go func() {
		ended <- w.do(call{node: 1, method: "GET", tenant: p.tenant, path: "/mcp", key: bearer(made), header: map[string]string{"Mcp-Session-Id": session, "Accept": "text/event-stream"}}).status
	}()
	time.Sleep(100 * time.Millisecond)
	w.must(call{node: 0, method: "DELETE", tenant: p.tenant, path: "/keys/" + made.ID, key: bearer(p.admin)})
	require.Equal(t, 401, w.do(call{node: 0, method: "GET", tenant: p.tenant, path: "/whoami", key: bearer(made)}).status)
	for node := range w.nodes {
		for _, pr := range probes {
			c := pr.call(&who)
			c.node, c.key = node, bearer(made)
			a := w.do(c)
			require.Equal(t, 401, a.status)
			require.Empty(t, w.mustNotSee(nil, a.text))
		}
	}
	select {
	case status := <-ended:
		require.Equal(t, 200, status)
	case <-time.After(20 * time.Second):
		t.Error("the stream of a revoked key goes on")
	}
}

// testRemoval removes a tenant, and makes another one with its name.
func (w *world) testRemoval() {
	t := w.t
	w.operate(call{method: "DELETE", path: "acme"})
	reach := func(keys ...service.Key) {
		for _, pr := range probes {
			for node := range w.nodes {
				c := pr.call(w.people[0])
				for _, k := range keys {
					c.node, c.key = node, bearer(k)
					a := w.do(c)
					require.NotEqual(t, 500, a.status)
					if bad := w.mustNotSee(nil, a.text); bad != "" {
						t.Errorf("%s of a removed tenant shows %s: %+v: %s", pr.name, bad, c, a.text)
					}
				}
			}
		}
	}
	reach(w.people[0].read, w.people[0].write, w.people[0].admin)
	w.createTenant("acme")
	ann := w.createKey("acme", service.Key{User: "ann", Right: service.Admin})
	reach(w.people[0].read, ann)
	for node := range w.nodes {
		a := w.must(call{node: node, method: "GET", tenant: "acme", path: "/documents", key: bearer(ann)})
		require.Contains(t, a.text, `"documents":[]`)
	}
	for _, s := range w.secrets {
		found := w.database.find(t, s.word)
		if s.tenant == "acme" {
			require.Empty(t, found, "in the database")
		} else if s.tenant != "" {
			require.NotEmpty(t, found, "the search of the test finds nothing")
		}
	}
	reach(w.people[0].read, ann)
	w.people = slices.DeleteFunc(w.people, func(p *person) bool { return p.tenant == "acme" })
	for _, p := range w.people {
		w.control(probes[0], p, 1)
	}
}
