package httpapi

import (
	"encoding/json"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// A body is refused with 400, or it matches its schema and survives a round trip.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{`{"workspace":"/a","query":"x"}`, `{"workspace":"/a","query":"x","limit":2.0,"minSimilarity":-1e300,"explain":true}`, `{"workspace":"/a","agent":"codex","event":{"x":[1]}}`,
		`{"workspace":"/a","arguments":{"query":"x"}}`, `null`, `{"workspace":null}`, `{"Workspace":"/a"}`, `[{}]`, `{"workspace":"/a","query":"x","query":"y"}`, "{\"workspace\":\"/\xff\"}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		fits[RetrieveRequest](t, body)
		fits[SearchRequest](t, body)
		fits[ContextRequest](t, body)
		fits[HookRequest](t, body)
		fits[ToolRequest](t, body)
	})
}

func fits[In targeted](t *testing.T, body string) {
	var in In
	if err := decodeBody([]byte(body), &in); err != nil {
		w := httptest.NewRecorder()
		Fail(w, err)
		if w.Code != 400 {
			t.Errorf("%q is answered with %d", body, w.Code)
		}
		return
	}
	if !utf8.ValidString(body) || !filepath.IsAbs(in.workspace()) {
		t.Errorf("%q is taken, its workspace is %q", body, in.workspace())
	}
	again, err := json.Marshal(in)
	require.NoError(t, err)
	require.NoError(t, checkBody[In](again), "%q is read as %s", body, again)
	var twice In
	require.NoError(t, decode(again, &twice))
	once, err := json.Marshal(twice)
	require.NoError(t, err)
	require.Equal(t, string(again), string(once), body)
}
