package httpapi

import (
	"context"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/internal/app/kind"
)

func (f *fakeWorkspace) File(_ context.Context, r FileRequest) (File, error) {
	return File{Path: r.Path, Blocks: []Block{}, Chunks: []core.MemoryHit{}, Remarks: []string{}}, nil
}
func (f *fakeWorkspace) Proposals(context.Context) (Proposals, error) {
	return Proposals{Waiting: []Proposal{}}, nil
}
func (f *fakeWorkspace) Journal(context.Context) (Journal, error) {
	return Journal{Changes: []Entry{}}, nil
}
func (f *fakeWorkspace) Change(_ context.Context, r ChangeRequest) (Changed, error) {
	if r.How == "" {
		return Changed{}, kind.Usagef("how is empty")
	}
	return Changed{Path: r.Path}, nil
}

// Decisions of a person are taken over the socket only, however a request with the token spells it.
func TestOnlyThePersonDecides(t *testing.T) {
	h := newServer(t, Options{})
	var personal []string
	for _, o := range h.operations() {
		if o.personal {
			personal = append(personal, o.path)
		}
	}
	slices.Sort(personal)
	require.Equal(t, []string{"/v1/case", "/v1/change", "/v1/eval", "/v1/trust", "/v1/view"}, personal)
	const body = `{"workspace":"/a","how":"undo","id":"1","version":"v","query":"x","wish":"nothing","folder":"/a","do":"trust"}`
	for _, path := range personal {
		for _, spelled := range []string{path, path + "?x=1", strings.Replace(path, "/v1/", "/v1/%2e/", 1), "/" + path, path + "/", strings.Replace(path, "v1", "%761", 1)} {
			r := httptest.NewRequestWithContext(t.Context(), "POST", spelled, strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer secret")
			w := httptest.NewRecorder()
			h.Remote("secret").ServeHTTP(w, r)
			require.Contains(t, []int{307, 403, 404}, w.Code, "%s: %s", spelled, w.Body)
		}
	}
	require.Empty(t, h.opened, "no workspace was asked")
}
