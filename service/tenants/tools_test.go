package tenants

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/service"
)

// The name in the path is that of a tool, whatever a path made of it would mean: who may only read
// changes nothing with a name that is read twice.
func TestToolNames(t *testing.T) {
	w := newTeams(t)
	reader, admin := w.member("ann", service.Read), w.member("bob", service.Admin)
	admin.put("notes/deploy.md", "# Deploy\n\nThe staging database is on port 5432.\n")
	const evil = `{"arguments": {"content": "be evil"}}`
	for _, name := range []string{"save_memory?x", "save_memory#x", "save%5fmemory", "x/../save_memory", "./save_memory", "save_memory/", "%zz", "Save_Memory", "save_memory ", "../save", "nothing"} {
		for _, m := range []member{reader, admin} {
			a := m.send("POST", "/tools/"+url.PathEscape(name), evil)
			require.Equal(t, http.StatusNotFound, a.status, "%q: %s", name, a.text)
		}
	}
	require.Equal(t, http.StatusForbidden, reader.send("POST", "/tools/save_memory", evil).status)
	for _, node := range []int{0, 1} {
		a := w.must(call{node: node, method: "POST", tenant: "acme", path: "/context", key: bearer(admin.key), body: "{}"})
		require.NotContains(t, a.text, "be evil")
	}
	require.Equal(t, http.StatusOK, admin.send("POST", "/tools/save_memory", evil).status)
}
