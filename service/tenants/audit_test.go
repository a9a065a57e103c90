package tenants

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/service"
)

// The audit log says who got which documents, and nothing of what they say.
func TestAudit(t *testing.T) {
	w := newWorld(t)
	w.fill([]string{"acme"}, []string{"ann"})
	p := w.people[0]
	for name, tt := range map[string]struct {
		call      call
		operation string
		status    int
		documents string
		nobody    bool
	}{
		"a document":       {get("/documents/notes/deploy.md")(p), "GET /documents/{path...}", 200, "notes/deploy.md", false},
		"no document":      {get("/documents/notes/other.md")(p), "GET /documents/{path...}", 404, "notes/other.md", false},
		"a list":           {get("/documents")(p), "GET /documents", 200, "notes/deploy.md", false},
		"an export":        {get("/export")(p), "GET /export", 200, "~/.beans/BEANS.md", false},
		"retrieval":        {post("/retrieve", `{"query": "what is the staging database of the shop?"}`)(p), "POST /retrieve", 200, "notes/deploy.md", false},
		"a turn":           {post("/turn", asked)(p), "POST /turn", 200, "notes/deploy.md", false},
		"a chat":           {post("/proxy/model/v1/chat/completions", asked)(p), "POST /proxy/{upstream}/{path...}", 200, "notes/deploy.md", false},
		"a tool":           {post("/tools/search_memory", `{"arguments": {"query": "what is the staging database of the shop?"}}`)(p), "POST /tools/{name}", 200, "notes/deploy.md", false},
		"a tool over MCP":  {mcpCall(p, 0, p.session, "tools/call", `{"name": "search_memory", "arguments": {"query": "what is the staging database of the shop?"}}`), "MCP search_memory", 200, "notes/deploy.md", false},
		"a file over MCP":  {mcpCall(p, 0, p.session, "resources/read", `{"uri": "memcore:///BEANS.md"}`), "MCP resources/read memcore:///BEANS.md", 200, "", false},
		"a wrong key":      {call{method: "GET", tenant: "acme", path: "/export", key: "Bearer mck_x_y"}, "GET /export", 401, "", true},
		"a right too much": {call{method: "GET", tenant: "acme", path: "/keys", key: bearer(p.read)}, "GET /keys", 403, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			w.audit.mu.Lock()
			w.audit.text.Reset()
			w.audit.mu.Unlock()
			w.do(tt.call)
			var got service.Access
			require.Eventually(t, func() bool { // the line of a request is written after its answer
				w.audit.mu.Lock()
				defer w.audit.mu.Unlock()
				for line := range strings.Lines(w.audit.text.String()) {
					require.NoError(t, json.Unmarshal([]byte(line), &got))
					if got.Operation == tt.operation {
						return true
					}
				}
				return false
			}, 10*time.Second, time.Millisecond)
			require.Equal(t, tt.status, got.Status)
			require.Equal(t, "acme", got.Tenant)
			require.WithinDuration(t, time.Now(), got.Time, time.Minute)
			if tt.nobody {
				require.Empty(t, got.User+got.Key)
			} else {
				require.Equal(t, "ann "+p.read.ID, got.User+" "+got.Key)
			}
			if tt.documents == "" {
				require.Empty(t, got.Documents)
			} else {
				require.Contains(t, got.Documents, tt.documents)
				require.Equal(t, len(got.Documents), got.Hits)
			}
			require.Empty(t, w.mustNotSee(nil, w.audit.text.String()))
			require.NotContains(t, w.audit.text.String(), "staging")
		})
	}
}

// Who has no key cannot make long lines.
func TestAuditBounds(t *testing.T) {
	var text strings.Builder
	log := service.NewAuditLog(&text, func(err error) { t.Error(err) })
	long := strings.Repeat("ä", 32<<10)
	log.Add(service.Access{Tenant: long, Operation: long, Documents: []string{long, "a.md"}})
	require.Less(t, text.Len(), 4<<10)
	var got service.Access
	require.NoError(t, json.Unmarshal([]byte(text.String()), &got))
	require.Equal(t, "a.md", got.Documents[1])
	require.True(t, strings.HasPrefix(long, got.Tenant) && len(got.Tenant) > 1000)
}

// A log whose file is renamed goes on in a new one, and says if it cannot.
func TestAuditFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit.log")
	var failure error
	log, err := service.OpenAuditLog(name, func(err error) { failure = err })
	require.NoError(t, err)
	log.Add(service.Access{Tenant: "first"})
	require.NoError(t, os.Rename(name, name+".1"))
	require.Eventually(t, func() bool {
		log.Add(service.Access{Tenant: "second"})
		data, _ := os.ReadFile(name)
		return strings.Contains(string(data), "second")
	}, 10*time.Second, 50*time.Millisecond)
	data, err := os.ReadFile(name + ".1")
	require.NoError(t, err)
	require.Contains(t, string(data), `"tenant":"first"`)
	info, err := os.Stat(name)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.NoError(t, failure)
	require.NoError(t, log.Close())
	log.Add(service.Access{})
	require.True(t, errors.Is(failure, os.ErrClosed), failure)
	_, err = service.OpenAuditLog(filepath.Join(name, "x"), nil)
	require.Error(t, err)
}
