package app

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/session"
)

// A queued session that fails stays in the queue and does not keep back the others.
func TestReflectingUponSessionsOfWhichOneFails(t *testing.T) {
	s := newTestService(t)
	var mended atomic.Bool
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked, err := io.ReadAll(r.Body); err != nil || !mended.Load() && strings.Contains(string(asked), "poison") {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		io.WriteString(w, `{"choices": [{"message": {"role": "assistant", "content": "Nothing."}}]}`)
	}))
	t.Cleanup(model.Close)
	s.Settings.Reflect.Auto, s.Settings.Reflect.BaseURL, s.Settings.Reflect.Model = true, model.URL, "m"
	all := map[string]*session.Session{}
	for id, text := range map[string]string{"s1": "I prefer tabs over spaces.", "s2": "The yew is poison.", "s3": "Never push to main."} {
		one, err := session.New(s.SessionsDir(), id)
		require.NoError(t, err)
		_, err = one.Append(t.Context(), session.Message{Role: "user", Content: text}, session.AppendOptions{})
		require.NoError(t, err)
		require.NoError(t, one.Queue())
		all[id] = one
	}
	require.ErrorContains(t, s.reflectQueued(t.Context()), "reflect upon session s2: ")
	for id, one := range all {
		require.Equal(t, id == "s2", one.Queued(), id)
	}
	mended.Store(true)
	require.NoError(t, s.reflectQueued(t.Context()))
	require.False(t, all["s2"].Queued())
}
