package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/internal/web/overload"
)

// A troubled workspace has problems with its watch and with closing.
type troubled struct {
	fakeWorkspace
	watch func(ctx context.Context, indexed func(core.IndexReport, error), problem func(error)) error
	hits  []core.MemoryHit
}

func (w *troubled) Watch(ctx context.Context, indexed func(core.IndexReport, error), problem func(error)) error {
	return w.watch(ctx, indexed, problem)
}

func (w *troubled) Retrieve(context.Context, RetrieveRequest) (Retrieved, error) {
	return Retrieved{Result: core.Result{State: core.StateReady, Hits: w.hits, Took: map[string]time.Duration{"embed": time.Millisecond}}}, nil
}

func (w *troubled) Close() error { return errors.New("a lock is left") }

// lockedLog is a log for concurrent reading.
type lockedLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lockedLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lockedLog) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), text)
}

func serverOf(t *testing.T, ws *troubled) (*Server, *lockedLog) {
	t.Helper()
	log := &lockedLog{}
	s := New(Options{
		Open:        func(context.Context, string) (Workspace, error) { return ws, nil },
		WorkspaceOf: func(folder string) (string, error) { return folder, nil },
		Logger:      slog.New(slog.NewTextHandler(log, nil)), Version: "v1",
	}, func() {})
	return s, log
}

// Health shows a problem of the watch until it is over. Each is logged once.
func TestProblemsOfAWorkspace(t *testing.T) {
	over, ends := make(chan struct{}), make(chan struct{})
	ws := &troubled{watch: func(_ context.Context, indexed func(core.IndexReport, error), problem func(error)) error {
		indexed(core.IndexReport{}, errors.New("the disk is full"))
		problem(errors.New("too many folders to watch"))
		<-over
		problem(nil)
		<-ends
		return errors.New("the watch has died")
	}}
	s, log := serverOf(t, ws)
	defer s.Close()
	status, _ := ask(t, s.Handler(), "POST", "/v1/retrieve", `{"workspace":"/a","query":"x"}`)
	require.Equal(t, 200, status, "it answers all the same")
	problem := func() string { return s.Health().Open[0].Problem }
	require.Eventually(t, func() bool { return problem() == "too many folders to watch" }, time.Minute, time.Millisecond)
	close(over)
	require.Eventually(t, func() bool { return problem() == "" }, time.Minute, time.Millisecond)
	require.True(t, s.Health().Open[0].Watching)
	close(ends)
	require.Eventually(t, func() bool { return problem() == "the watch has died" }, time.Minute, time.Millisecond)
	require.False(t, s.Health().Open[0].Watching)
	for _, want := range []string{"the disk is full", "too many folders to watch"} {
		require.True(t, log.has(want), want)
	}
	s.Close()
	require.True(t, log.has("the watch has died"))
	require.True(t, log.has("a lock is left"))
}

// If a request ends while its workspace opens, the next one gets the workspace.
func TestGivingUpOnAWorkspace(t *testing.T) {
	opening := make(chan struct{})
	ws := &troubled{watch: func(ctx context.Context, _ func(core.IndexReport, error), _ func(error)) error {
		<-ctx.Done()
		return ctx.Err()
	}}
	s := New(Options{
		Open:        func(context.Context, string) (Workspace, error) { <-opening; return ws, nil },
		WorkspaceOf: func(folder string) (string, error) { return folder, nil },
		Logger:      slog.New(slog.DiscardHandler),
	}, func() {})
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(ctx, "POST", "/v1/retrieve", strings.NewReader(`{"workspace":"/a","query":"x"}`)))
	require.Equal(t, http.StatusGatewayTimeout, w.Code)
	close(opening)
	status, _ := ask(t, s.Handler(), "POST", "/v1/retrieve", `{"workspace":"/a","query":"x"}`)
	require.Equal(t, 200, status)

	_, err := s.pool.acquire(t.Context(), "not/absolute")
	require.ErrorContains(t, err, `workspace is "not/absolute", want an absolute path`)
	require.Equal(t, err.Error(), err.(*Error).Message)
}

// Waiting for a slot ends with the context.
func TestGivingUpOnAPlace(t *testing.T) {
	h := newServer(t, Options{MaxAtOnce: 1, Wait: time.Minute})
	h.slots <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := h.slots.Do(ctx, time.Minute, func() error { return nil })
	require.ErrorIs(t, err, context.Canceled)
	<-h.slots
}

// An answer that is not valid JSON fails with a message.
func TestAnswersThatCannotBeWritten(t *testing.T) {
	w := httptest.NewRecorder()
	Reply(w, http.StatusOK, func() {})
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.Contains(t, w.Body.String(), "unsupported type")
}

// brokenBody breaks off with an error.
type brokenBody struct{ err error }

func (b brokenBody) Read([]byte) (int, error) { return 0, b.err }

// An incomplete or slow body is an error of the client.
func TestBodiesThatDoNotCome(t *testing.T) {
	h := newServer(t, Options{}).Handler()
	for err, want := range map[error]int{io.ErrUnexpectedEOF: 400, overload.ErrSlow: 408} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/retrieve", brokenBody{err})
		r.ContentLength = 100
		h.ServeHTTP(w, r)
		require.Equal(t, want, w.Code, w.Body.String())
	}
}

// Streams of events are bounded, and slow ones miss events.
func TestListenersToEvents(t *testing.T) {
	h := newServer(t, Options{})
	slow := make(chan Event)
	h.Server.mu.Lock()
	h.listeners[slow] = true
	for len(h.listeners) < maxStreams {
		h.listeners[make(chan Event)] = true
	}
	h.Server.mu.Unlock()
	h.publish(Event{Kind: "opened"}) // no stream takes it
	status, answer := ask(t, h.Handler(), "GET", "/v1/events", "")
	require.Equal(t, 503, status)
	require.Contains(t, answer, "too many clients stream events")
	require.Equal(t, maxStreams, h.listening())
}

// deafWriter is a connection whose other end is closed.
type deafWriter struct {
	http.ResponseWriter
	flushes int // that succeed
}

func (w *deafWriter) FlushError() error {
	w.flushes--
	if w.flushes < 0 {
		return errors.New("broken pipe")
	}
	return nil
}

// A closed stream is removed, at its start or at the next event.
func TestListenersThatHaveGone(t *testing.T) {
	h := newServer(t, Options{})
	request := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/events", nil)
	h.events(&deafWriter{httptest.NewRecorder(), 0}, request)
	require.Zero(t, h.listening())
	done := make(chan struct{})
	go func() { defer close(done); h.events(&deafWriter{httptest.NewRecorder(), 1}, request) }()
	require.Eventually(t, func() bool { return h.listening() == 1 }, time.Minute, time.Millisecond)
	h.publish(Event{Kind: "opened"})
	<-done
	require.Zero(t, h.listening())
}

// Numbers stay if the body is no object or cannot be parsed.
func TestWholeNumbers(t *testing.T) {
	for in, want := range map[string]string{
		`{"workspace":"/a","query":"x","limit":5.0}`: `"limit":5`,
		`[5.0]`:       `[5.0]`,
		`{"limit":5.`: `{"limit":5.`,
	} {
		got := string(withWholeNumbers[SearchRequest]([]byte(in)))
		require.Contains(t, got, want)
		require.Equal(t, json.Valid([]byte(in)), json.Valid([]byte(got)))
	}
	require.Error(t, checkBody[SearchRequest]([]byte(`{"limit":5.`)))
}
