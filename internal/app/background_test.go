package app

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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

// Work in the background waits for hooks, but not for ever.
func TestSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w atWork
		begun := time.Now()
		w.begin()()
		w.settle(t.Context(), time.Second, time.Hour)
		require.InDelta(t, 1, time.Since(begun).Seconds(), .2, "none came")

		begun = time.Now()
		first, second := w.begin(), w.begin()
		time.AfterFunc(5*time.Second, first)
		time.AfterFunc(10*time.Second, second)
		w.settle(t.Context(), time.Second, time.Hour)
		require.InDelta(t, 11, time.Since(begun).Seconds(), .2, "the last one ended after ten seconds")

		begun = time.Now()
		defer w.begin()()
		w.settle(t.Context(), time.Second, time.Minute)
		require.InDelta(t, 60, time.Since(begun).Seconds(), .2, "one does not end")

		ctx, stop := context.WithCancel(t.Context())
		stop()
		begun = time.Now()
		w.settle(ctx, time.Second, time.Minute)
		require.Zero(t, time.Since(begun))
	})
}
