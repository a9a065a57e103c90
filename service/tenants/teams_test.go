package tenants

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/service"
)

// A member is somebody with a key.
type member struct {
	*world
	key service.Key
}

func (w *world) member(user string, right service.Right, teams ...string) member {
	w.t.Helper()
	return member{w, w.createKey("acme", service.Key{User: user, Right: right, Teams: teams})}
}

func (m member) send(method, path, body string) answer {
	return m.do(call{method: method, tenant: "acme", path: path, key: bearer(m.key), body: body})
}

func (m member) put(path, text string) {
	m.t.Helper()
	a := m.send("PUT", "/documents/"+path, text)
	require.Equal(m.t, http.StatusOK, a.status, "%s: %s", path, a.text)
}

func (m member) session() *person {
	p := &person{tenant: "acme", user: m.key.User, read: m.key}
	p.session = m.initialize(p, 0)
	return p
}

// tool calls a tool over MCP.
func (m member) tool(p *person, name, arguments string) string {
	return m.do(mcpCall(p, 0, p.session, "tools/call", fmt.Sprintf(`{"name": %q, "arguments": %s}`, name, arguments))).text
}

func newTeams(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.createTenant("acme")
	return w
}

// A memory has what all share, what the teams of its user have, and the user's own. Whoever asks
// can narrow that.
func TestTeams(t *testing.T) {
	w := newTeams(t)
	boss := w.member("boss", service.Admin, "ops", "web")
	ann, bob, cyd := w.member("ann", service.Write, "ops"), w.member("bob", service.Write, "web"), w.member("cyd", service.Read)
	boss.put("notes/deploy.md", "# Deploy\n\nThe staging database of the shop is called sharedword.\n")
	boss.put("@ops/runbooks/deploy.md", "# Deploy\n\nThe staging database of the shop is restarted with opsword.\n")
	boss.put("@web/runbooks/deploy.md", "# Deploy\n\nThe staging database of the shop is drawn with webword.\n")
	boss.put("BEANS.md", "- Be sharedcurated.\n")
	boss.put("@ops/BEANS.md", "- Be opscurated.\n@style.md\n")
	boss.put("@ops/.beans/rules/go.md", "---\nglobs: '*.go'\n---\nRun opsrule.\n")
	boss.put("@web/BEANS.md", "- Be webcurated.\n")
	ann.put("~/.beans/memories/facts/db.md", "# Database\n\nThe staging database of the shop is feared by annword.\n")
	words := []string{"sharedword", "opsword", "webword", "annword", "sharedcurated", "opscurated", "webcurated", "opsrule"}
	question := `"query": "what is the staging database of the shop?", "minSimilarity": -1, "limit": 20, "tokenBudget": -1`
	annMCP, bobMCP := ann.session(), bob.session()

	const ofAnn, ofBob, ofBoss = "sharedword opsword annword sharedcurated opscurated opsrule", "sharedword webword sharedcurated webcurated", "sharedword opsword webword sharedcurated opscurated webcurated opsrule"
	ask := func(m member, path, body string) func() string {
		return func() string { return m.send("POST", path, body).text }
	}
	const chat = `{"model": "x", "messages": [{"role": "user", "content": "how is the staging database of the shop restarted?"}]}`
	for _, tt := range []struct {
		name      string
		ask       func() string
		want, may string
	}{
		{"retrieve", ask(ann, "/retrieve", `{"query": "how is the staging database of the shop restarted?"}`), "opsword", ofAnn},
		{"of another team", ask(bob, "/retrieve", `{"query": "how is the staging database of the shop drawn?"}`), "webword", ofBob},
		{"of no team", ask(cyd, "/retrieve", `{`+question+`}`), "sharedword", ""},
		{"of both", ask(boss, "/retrieve", `{`+question+`}`), "opsword webword", ofBoss},
		{"narrowed to the team", ask(ann, "/retrieve", `{`+question+`, "path": "@ops/"}`), "opsword", ""},
		{"narrowed to a document", ask(ann, "/retrieve", `{`+question+`, "path": "@ops/runbooks/deploy.md"}`), "opsword", ""},
		{"narrowed to the user's own", ask(ann, "/retrieve", `{`+question+`, "path": "~/"}`), "annword", ""},
		{"narrowed to a folder of all", ask(ann, "/retrieve", `{`+question+`, "path": "notes"}`), "sharedword", ""},
		{"no wider than the teams", ask(ann, "/retrieve", `{`+question+`, "path": "@web/"}`), "", ""},
		{"search", ask(ann, "/search", `{"query": "staging database shop"}`), "sharedword opsword annword", ofAnn},
		{"search in the team", ask(ann, "/search", `{"query": "staging database shop", "path": "@ops"}`), "opsword", ""},
		{"search wider", ask(ann, "/search", `{"query": "staging database shop", "path": "@web"}`), "", ""},
		{"explain", ask(ann, "/retrieve", `{"explain": true, "query": "staging database shop", "path": "@ops"}`), "opsword", ""},
		{"turn", ask(ann, "/turn", chat), "opsword", ofAnn},
		{"turn in the team", ask(ann, "/turn?path=@ops/", chat), "opsword", ""},
		{"turn wider", ask(ann, "/turn?path=@web/", chat), "", ""},
		{"MCP", func() string {
			return ann.tool(annMCP, "search_memory", `{"query": "staging database shop", "path": "@ops/"}`)
		}, "opsword", ""},
		{"MCP wider", func() string {
			return bob.tool(bobMCP, "search_memory", `{"query": "staging database shop", "path": "@ops/"}`)
		}, "", ""},
		{"curated", ask(ann, "/context", `{}`), "sharedcurated opscurated", ""},
		{"curated of another team", ask(bob, "/context", `{}`), "sharedcurated webcurated", ""},
		{"curated of no team", ask(cyd, "/context", `{}`), "sharedcurated", ""},
		{"a rule", ask(ann, "/context", `{"paths": ["a.go"]}`), "opsrule", ""},
		{"a rule of another team", ask(bob, "/context", `{"paths": ["a.go"]}`), "", ""},
		{"curated over MCP", func() string {
			return w.do(mcpCall(annMCP, 0, annMCP.session, "prompts/get", `{"name": "memory_context"}`)).text
		}, "sharedcurated opscurated", ofAnn},
		{"a resource", func() string {
			return w.do(mcpCall(annMCP, 0, annMCP.session, "resources/read", `{"uri": "memcore:///@ops/BEANS.md"}`)).text
		}, "opscurated", ""},
		{"a resource of another team", func() string {
			return w.do(mcpCall(bobMCP, 0, bobMCP.session, "resources/read", `{"uri": "memcore:///@ops/BEANS.md"}`)).text
		}, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var text string
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("want %q: %s", tt.want, text)
				}
			})
			require.Eventually(t, func() bool {
				text = tt.ask()
				for _, word := range strings.Fields(tt.want) {
					if !strings.Contains(text, word) {
						return false
					}
				}
				return true
			}, 5*time.Second, 50*time.Millisecond)
			for _, word := range words {
				if !strings.Contains(" "+tt.want+" "+tt.may+" ", " "+word+" ") {
					require.NotContains(t, text, word)
				}
			}
			require.NotContains(t, text, w.base)
		})
	}
}

// Documents of a team belong to its members, and what instructs there needs the right admin.
func TestDocumentsOfTeams(t *testing.T) {
	w := newTeams(t)
	boss := w.member("boss", service.Admin, "ops")
	ann, reader, bob, chief := w.member("ann", service.Write, "ops"), w.member("ann", service.Read, "ops"), w.member("bob", service.Write, "web"), w.member("chief", service.Admin)
	ann.put("@ops/a.md", "A1")
	bob.put("@web/a.md", "W1")
	boss.put("@ops/BEANS.md", "- @style.md and @../../shared/tone.md\n")
	var listed service.Documents
	text, _, _ := strings.Cut(boss.send("GET", "/documents", "").text, "\n")
	require.NoError(t, json.Unmarshal([]byte(text), &listed))
	version := strconv.FormatInt(listed.Version, 10)
	ann.put("@ops/a.md", "A2")
	bob.put("@web/a.md", "W2")
	for _, tt := range []struct {
		who          member
		method, path string
		want         int
	}{
		{ann, "GET", "/documents/@ops/a.md", 200}, {reader, "GET", "/documents/@ops/a.md", 200}, {bob, "GET", "/documents/@ops/a.md", 403}, {chief, "GET", "/documents/@ops/a.md", 403}, {bob, "GET", "/documents/@none/a.md", 403},
		{reader, "PUT", "/documents/@ops/a.md", 403}, {bob, "PUT", "/documents/@ops/a.md", 403}, {bob, "DELETE", "/documents/@ops/a.md", 403}, {chief, "PUT", "/documents/@ops/BEANS.md", 403}, {bob, "GET", "/history?path=@ops/a.md", 403},
		{ann, "PUT", "/documents/@ops/BEANS.md", 403}, {ann, "PUT", "/documents/@ops/.beans/rules/x.md", 403}, {ann, "PUT", "/documents/@ops/x/beans.md", 403}, {ann, "PUT", "/documents/@ops/style.md", 403}, {ann, "PUT", "/documents/tone.md", 403},
		{boss, "PUT", "/documents/@ops/style.md", 200}, {ann, "PUT", "/documents/@ops/.beans/memories/facts/x.md", 200}, {ann, "PUT", "/documents/@OPS/a.md", 403}, {ann, "PUT", "/documents/@types/a.md", 403}, {ann, "POST", "/conversations/@ops%2fa", 400},
	} {
		a := tt.who.send(tt.method, tt.path, map[bool]string{true: "text", false: ""}[tt.method == "PUT"])
		require.Equal(t, tt.want, a.status, "%s %s by %s: %s", tt.method, tt.path, tt.who.key.User, a.text)
	}

	for _, tt := range []struct {
		who        member
		want, lack string
	}{{ann, "@ops/a.md", "@web/"}, {bob, "@web/a.md", "@ops/"}, {chief, "documents", "@"}} {
		for _, path := range []string{"/documents", "/history", "/export"} {
			a := tt.who.send("GET", path, "")
			require.Equal(t, 200, a.status)
			require.NotContains(t, a.text, tt.lack, "%s of %s", path, tt.who.key.User)
			if path != "/export" || tt.want != "documents" {
				require.Contains(t, a.text, tt.want, "%s of %s", path, tt.who.key.User)
			}
		}
	}

	a := boss.send("POST", "/restore", `{"version": `+version+`}`)
	require.Equal(t, 200, a.status, a.text)
	require.Contains(t, ann.send("GET", "/documents/@ops/a.md", "").text, "A1")
	require.Contains(t, bob.send("GET", "/documents/@web/a.md", "").text, "W2", "not of another team")

	// An export of one team is imported into another by who is in that one.
	var archive bytes.Buffer
	out := tar.NewWriter(&archive)
	require.NoError(t, out.WriteHeader(&tar.Header{Name: "@ops/b.md", Mode: 0o600, Size: 1}))
	_, err := io.WriteString(out, "B")
	require.NoError(t, err)
	require.NoError(t, out.Close())
	require.Equal(t, 403, bob.send("POST", "/import", archive.String()).status)
	require.Equal(t, 200, ann.send("POST", "/import", archive.String()).status)
	require.Contains(t, reader.send("GET", "/documents/@ops/b.md", "").text, "B")
}

// What an agent saves for a team is found by the team, and does not instruct.
func TestSaveForATeam(t *testing.T) {
	w := newTeams(t)
	ann, ben, bob := w.member("ann", service.Write, "ops", "web"), w.member("ben", service.Write, "ops"), w.member("bob", service.Write, "web")
	a := ann.send("POST", "/save", `{"arguments": {"content": "The pager of the night shift rings at pagerword", "target": "@ops"}}`)
	require.Equal(t, 200, a.status, a.text)
	p := ann.session()
	text := ann.tool(p, "save_memory", `{"content": "The pager of the day shift rings at dayword", "target": "@ops", "section": "Pagers"}`)
	require.Contains(t, text, "Wrote")
	tools := w.do(mcpCall(p, 0, p.session, "tools/list", `{}`)).text
	require.Contains(t, tools, `"@ops"`)
	require.Contains(t, tools, `"@web"`)
	require.Contains(t, ben.send("GET", "/documents/@ops/.beans/memories/facts/team.md", "").text, "dayword")
	for _, m := range []member{ann, ben} {
		of := m.session()
		require.Contains(t, m.tool(of, "memory_read", `{}`), "@ops/facts/team.md")
		require.Contains(t, m.tool(of, "memory_read", `{"path": "@ops/facts/team.md"}`), "dayword")
		require.Contains(t, w.do(mcpCall(of, 0, of.session, "resources/list", `{}`)).text, "memcore:///@ops/facts/team.md")
		require.Contains(t, w.do(mcpCall(of, 0, of.session, "resources/read", `{"uri": "memcore:///@ops/facts/team.md"}`)).text, "dayword")
	}
	of := bob.session()
	require.NotContains(t, bob.tool(of, "memory_read", `{}`), "@ops")
	for _, path := range []string{"@ops/facts/team.md", "@web/../ops/facts/team.md", "@web/../../ops/.beans/memories/facts/team.md", "../../teams/ops/.beans/memories/facts/team.md"} {
		require.NotContains(t, bob.tool(of, "memory_read", `{"path": "`+path+`"}`), "dayword", path)
		require.NotContains(t, bob.tool(of, "memory_patch", `{"path": "`+path+`", "patches": [{"oldText": "dayword", "newText": "evilword"}]}`), "patches applied", path)
	}
	require.Contains(t, ben.tool(ben.session(), "memory_patch", `{"path": "@ops/facts/team.md", "patches": [{"oldText": "dayword", "newText": "sunword"}]}`), "1 of 1 patches applied to @ops/facts/team.md")
	require.Contains(t, ben.send("GET", "/documents/@ops/.beans/memories/facts/team.md", "").text, "sunword")
	find := func(m member, word string) bool {
		return strings.Contains(m.send("POST", "/search", `{"query": "pager of the shift"}`).text, word)
	}
	require.Eventually(t, func() bool { return find(ben, "pagerword") && find(ben, "sunword") }, 5*time.Second, 50*time.Millisecond)
	require.False(t, find(bob, "pagerword"))
	require.NotContains(t, ben.send("POST", "/context", `{}`).text, "pagerword is an instruction")
	for _, target := range []string{"@nobody", "@", "@ops/x", `@ops\u002f..`} {
		a := bob.send("POST", "/save", `{"arguments": {"content": "evilword", "target": "`+target+`"}}`)
		require.GreaterOrEqual(t, a.status, 400, "%s: %s", target, a.text)
	}
	a = bob.send("POST", "/save", `{"arguments": {"content": "evilword", "target": "@ops"}}`)
	require.GreaterOrEqual(t, a.status, 400, a.text)

	a = bob.send("POST", "/forget", `{"arguments": {"text": "@ops/.beans/memories/facts/team.md#L5"}}`)
	require.GreaterOrEqual(t, a.status, 400, a.text)
	a = ben.send("POST", "/forget", `{"arguments": {"text": "The pager of the night shift rings at pagerword"}}`)
	require.Equal(t, 200, a.status, a.text)
	require.NotContains(t, ben.send("GET", "/documents/@ops/.beans/memories/facts/team.md", "").text, "pagerword")
}

// Teams of a key are checked, and only an admin gives them.
func TestTeamsOfKeys(t *testing.T) {
	w := newTeams(t)
	chief, ann := w.member("chief", service.Admin), w.member("ann", service.Write, "ops")
	a := chief.send("POST", "/keys", `{"user": "eve", "right": "read", "teams": ["web", "ops", "web"]}`)
	require.Equal(t, 200, a.status, a.text)
	var made service.Key
	text, _, _ := strings.Cut(a.text, "\n")
	require.NoError(t, json.Unmarshal([]byte(text), &made))
	require.Equal(t, []string{"ops", "web"}, made.Teams)
	require.Contains(t, member{w, made}.send("GET", "/whoami", "").text, `"teams":["ops","web"]`)
	require.Contains(t, chief.send("GET", "/keys", "").text, `"teams":["ops","web"]`)
	require.Equal(t, 403, ann.send("POST", "/keys", `{"user": "ann", "right": "read", "teams": ["web"]}`).status)
	many, err := json.Marshal(strings.Fields(strings.Repeat("x", 1) + manyTeams(maxTeams)))
	require.NoError(t, err)
	for _, teams := range []string{`["../users/ann"]`, `[""]`, `["Ops"]`, `["a b"]`, `["@ops"]`, string(many)} {
		require.Equal(t, 400, chief.send("POST", "/keys", `{"user": "eve", "right": "read", "teams": `+teams+`}`).status, teams)
	}
}

// A team is deleted with its documents and their history, and its members see nothing of it.
func TestDeletedTeam(t *testing.T) {
	w := newTeams(t)
	boss, ann := w.member("boss", service.Admin), w.member("ann", service.Write, "ops")
	ann.put("@ops/a.md", "teamword")
	ann.put("@ops/a.md", "another")
	ann.put("a.md", "of all")
	require.Equal(t, 403, ann.send("DELETE", "/teams/ops", "").status)
	require.Equal(t, 400, boss.send("DELETE", "/teams/Ops", "").status)
	require.Equal(t, 200, boss.send("DELETE", "/teams/ops", "").status)
	require.Equal(t, 403, ann.send("GET", "/documents/@ops/a.md", "").status, "the key has lost the team")
	again := w.member("eve", service.Write, "ops")
	require.Equal(t, 404, again.send("GET", "/documents/@ops/a.md", "").status)
	require.NotContains(t, again.send("GET", "/history", "").text, "@ops")
	require.Empty(t, w.database.find(t, "teamword"))
	require.Equal(t, 200, ann.send("GET", "/documents/a.md", "").status)
}

func manyTeams(n int) (all string) {
	for i := range n {
		all += fmt.Sprintf(" t%d", i)
	}
	return all
}

// What instructs the agents of a team, of all or of a user imports nothing of others.
func TestImportsStayInTheirFolder(t *testing.T) {
	w := newTeams(t)
	ann, bob := w.member("ann", service.Admin, "ops"), w.member("bob", service.Admin, "web")
	const secret = "zanzibarsecret"
	bob.put("@web/x.md", secret)
	bob.put("@web/BEANS.md", "- "+secret)
	bob.put("~/.beans/memories/x.md", secret)
	bob.put("~/.beans/BEANS.md", "- "+secret)
	var places []string
	for _, file := range []string{"teams/web/x.md", "teams/web/BEANS.md", "users/bob/.beans/memories/x.md", "users/bob/.beans/BEANS.md", "web/x.md", "bob/.beans/memories/x.md"} {
		for up := range 6 {
			places = append(places, strings.Repeat("../", up)+file, "~/"+strings.Repeat("../", up)+file, "@web/../"+strings.Repeat("../", up)+file)
		}
	}
	for _, path := range []string{"BEANS.md", "a/BEANS.md", "@ops/BEANS.md", "@ops/a/BEANS.md", "@ops/.beans/rules/r.md", "@ops/.beans/BEANS.md", "~/.beans/BEANS.md", "~/.beans/rules/r.md"} {
		for some := range slices.Chunk(places, 8) {
			var text strings.Builder
			text.WriteString("- controlword\n")
			for _, place := range some {
				fmt.Fprintf(&text, "@import %s\n- @%s\n", place, place)
			}
			ann.put(path, text.String())
			given := ""
			for _, body := range []string{`{}`, `{"paths": ["a/x.go", "@ops/a/x.go"]}`} {
				a := ann.send("POST", "/context", body)
				require.Equal(t, http.StatusOK, a.status, a.text)
				given += a.text
			}
			require.NotContains(t, given, secret, "%s imports one of %q", path, some)
			if path != "@ops/a/BEANS.md" { // only the folder itself of a team instructs
				require.Contains(t, given, "controlword", path)
			}
		}
		require.Equal(t, http.StatusOK, ann.send("DELETE", "/documents/"+path, "").status)
	}
	ann.put("@ops/own.md", "ownword")
	ann.put("@ops/BEANS.md", "@own.md\n")
	require.Contains(t, ann.send("POST", "/context", `{}`).text, "ownword", "imports are not read at all")
}
