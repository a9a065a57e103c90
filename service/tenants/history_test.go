package tenants

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service"
)

// A history is read in pages from its end, and has what its reader may see.
func TestHistory(t *testing.T) {
	n := newTestNode(t, nil)
	var versions []int64
	for i := range 25 {
		versions = append(versions, mustPut(t, n, n.ann(), fmt.Sprintf("%d.md", i%2), fmt.Sprint(i)))
		mustPut(t, n, n.bob(), "~/.beans/memories/x.md", fmt.Sprint(i))
	}
	walk := func(path string, limit int) (found []int64) {
		for page := (service.Page{Limit: limit}); ; {
			part, err := n.History(t.Context(), n.ann(), path, page)
			require.NoError(t, err)
			require.LessOrEqual(t, len(part.Documents), limit)
			require.GreaterOrEqual(t, part.Version, versions[24])
			var some []int64
			for _, d := range part.Documents {
				some = append(some, d.Version)
			}
			found = append(some, found...)
			if !part.More {
				return found
			}
			page.Before = some[0]
		}
	}
	for _, limit := range []int{1, 3, 12, 24, 25, 26, 1000} {
		require.Equal(t, versions, walk("", limit), "pages of %d", limit)
		require.Len(t, walk("0.md", limit), 13)
	}
	require.Empty(t, walk("~/.beans/memories/x.md", 3), "it is another user's")
	_, err := n.History(t.Context(), n.ann(), "../x", service.Page{Limit: 1})
	require.Equal(t, kind.BadInput, kind.Of(err))

	_, err = n.Restore(t.Context(), n.ann(), versions[3])
	require.NoError(t, err)
	require.Equal(t, "2", textOf(t, n, n.ann(), "0.md"))
}

// What a history is asked for is checked.
func TestPagesOfAHistory(t *testing.T) {
	w := newWorld(t)
	w.fill([]string{"acme"}, []string{"ann"})
	p := w.people[0]
	for query, want := range map[string]int{"": 200, "?limit=2": 200, "?limit=99999999": 200, "?before=3&limit=1&path=BEANS.md": 200, "?limit=0": 400, "?limit=-1": 400, "?limit=x": 400, "?before=0": 400, "?limit=9223372036854775808": 400} {
		a := w.do(call{method: "GET", tenant: "acme", path: "/history" + query, key: bearer(p.read)})
		require.Equal(t, want, a.status, "%s: %s", query, a.text)
		if want == http.StatusOK {
			var got service.Documents
			text, _, _ := strings.Cut(a.text, "\n")
			require.NoError(t, json.Unmarshal([]byte(text), &got))
			require.Equal(t, query == "?limit=2", got.More, query)
		}
	}
}
