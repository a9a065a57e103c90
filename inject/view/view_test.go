package view

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/core/journal"
	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/inject/httpapi"
)

// hostile is text that must never become markup.
const hostile = `<script>alert(1)</script><img src=x onerror=alert(2)>" onmouseover="alert(3)' javascript:alert(4) </pre></title>` + "\u202e\x1b[31m\u200b"

// A fakeMemory answers with hostile text.
type fakeMemory struct{ Memory }

func (fakeMemory) Overview(context.Context) (Overview, error) {
	return Overview{Workspace: hostile, Enabled: true, Sums: core.Sums{Kinds: []core.Sum{{Name: hostile}}, Sources: []core.Sum{{Name: hostile}}, AboutUser: []string{hostile}}, AboutUser: []core.MemoryHit{{Path: hostile, Text: hostile}},
		Failing: []core.Failing{{Command: hostile, Shown: hostile, Cure: hostile, Path: hostile, Sessions: 2}, {Command: hostile}},
		Models:  []Model{{Role: hostile, Name: hostile, At: hostile}}, Checks: []Check{{Name: hostile, State: hostile, Text: hostile, Do: hostile}, {Text: hostile}},
		Languages: map[string]int{hostile: 1},
		Status:    core.Status{State: core.StateReady, Sources: []string{hostile}, Embedder: hostile, Folder: hostile, Problems: []string{hostile}},
		Use:       journal.Summary{Prompts: 1, Documents: []journal.DocumentCounts{{Path: hostile}}}}, nil
}

func (fakeMemory) Documents(context.Context, core.DocumentsOptions) ([]core.DocumentInfo, int, error) {
	return []core.DocumentInfo{{Path: hostile, Kind: hostile, Changed: time.Now(), Chunks: 1}}, 1000, nil
}

func (fakeMemory) Retrieve(_ context.Context, r httpapi.RetrieveRequest) (httpapi.Retrieved, error) {
	if r.Query == "bad times" {
		return httpapi.Retrieved{}, core.ErrOption
	}
	if r.Query == "fail" {
		return httpapi.Retrieved{}, errors.New(hostile)
	}
	hit := core.MemoryHit{Text: hostile, Source: hostile, Path: hostile, Score: .8, Explain: &core.Explanation{Verdict: hostile, Why: hostile, Terms: []relevance.Term{{Name: hostile, Value: 1, Weight: 1}}}}
	return httpapi.Retrieved{Block: hostile, Result: core.Result{State: core.StateReady, Degraded: []string{hostile}, Hits: []core.MemoryHit{hit}, Rejected: []core.MemoryHit{hit}}}, nil
}

func (fakeMemory) Turns(_ context.Context, r TurnsRequest) (Turns, error) {
	if r.Since != "" {
		return Turns{}, core.ErrOption
	}
	return Turns{Turns: []journal.Entry{{
		Head: journal.Head{ID: "t", Agent: hostile}, Event: journal.Event{Prompt: hostile},
		Answer: journal.Answer{Given: []journal.Given{{Kind: journal.Passage, Source: hostile, Path: hostile}}, Problems: []string{hostile}},
		Result: &core.Result{Rejected: []core.MemoryHit{{Source: hostile, Explain: &core.Explanation{Verdict: hostile}}}},
	}}}, nil
}

func (fakeMemory) Layer(context.Context) (Layer, error) {
	return Layer{Text: hostile, Memory: curated.Memory{
		Files:    []curated.File{{Path: hostile, Reason: hostile, LeftOut: hostile}, {Path: hostile, Tier: curated.Project, Tokens: 1, Lines: 1, LeftOut: hostile}},
		Segments: []curated.Segment{{Path: hostile}, {Path: hostile, ImportedFrom: hostile}}, Warnings: []curated.Warning{{Path: hostile, Text: hostile}}}}, nil
}

func (fakeMemory) Chunks(context.Context, string) ([]core.MemoryHit, error) {
	return []core.MemoryHit{{Text: hostile, Source: hostile, Speaker: hostile}}, nil
}

// A fakeMemories has one memory for each folder, and sends events.
type fakeMemories struct{ events chan httpapi.Event }

func (f fakeMemories) Use(_ context.Context, _ string, do func(Memory) error) error {
	return do(fakeMemory{})
}

func (f fakeMemories) Listen() (<-chan httpapi.Event, func()) { return f.events, func() {} }

// A visitor is a browser with cookies of its own.
type visitor struct {
	*http.Client
	server *httptest.Server
	pages  *Server
}

func newVisitor(t *testing.T) visitor {
	t.Helper()
	pages := New(fakeMemories{make(chan httpapi.Event, 1)}, "v1")
	server := httptest.NewServer(pages.Handler())
	t.Cleanup(server.Close)
	t.Cleanup(pages.EndStreams)
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return visitor{&http.Client{Jar: jar}, server, pages}
}

// get returns the status and the body of a page.
func (v visitor) get(t *testing.T, path string, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, v.server.URL+path, nil)
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	return v.body(t, r)
}

// body returns the status and the body of an answer.
func (v visitor) body(t *testing.T, r *http.Request) (int, string) {
	t.Helper()
	response, err := v.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Contains(t, response.Header.Get("Content-Security-Policy"), "default-src 'none'")
	require.Contains(t, response.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'")
	return response.StatusCode, string(body)
}

// open follows a new link to a workspace.
func (v visitor) open(t *testing.T, folder string) {
	t.Helper()
	path, _ := v.pages.Link(folder)
	status, body := v.get(t, path)
	require.Equal(t, 200, status, body)
}

func TestLinkOpensOnceAndOneWorkspace(t *testing.T) {
	v := newVisitor(t)
	at := "/w/" + idOf("/a") + "/"
	status, _ := v.get(t, at)
	require.Equal(t, 401, status, "without a link")
	path, expires := v.pages.Link("/a")
	require.WithinDuration(t, time.Now().Add(linkLife), expires, time.Minute)
	status, _ = v.get(t, path)
	require.Equal(t, 200, status)
	status, body := v.get(t, path)
	require.Equal(t, 403, status, "a second time")
	require.Contains(t, body, "used already")
	status, _ = v.get(t, at+"turns")
	require.Equal(t, 200, status)
	status, _ = v.get(t, "/w/"+idOf("/b")+"/")
	require.Equal(t, 401, status, "another workspace")
	v.open(t, "/b")
	for _, folder := range []string{"/a", "/b"} {
		status, _ = v.get(t, "/w/"+idOf(folder)+"/")
		require.Equal(t, 200, status, folder)
	}
	other := newVisitor(t)
	other.server = v.server
	status, _ = other.get(t, at)
	require.Equal(t, 401, status, "another browser")
}

func TestGrantsEnd(t *testing.T) {
	s := New(fakeMemories{}, "v1")
	add(s.links, "late", grant{"/a", time.Now().Add(-time.Second)})
	_, ok := s.of(s.links, "late", true)
	require.False(t, ok)
	for range 3 * maxSessions {
		s.Link("/a")
	}
	require.LessOrEqual(t, len(s.links), maxSessions)
}

func TestOtherSitesAreRefused(t *testing.T) {
	v := newVisitor(t)
	v.open(t, "/a")
	at := "/w/" + idOf("/a") + "/"
	for name, header := range map[string][]string{
		"another site":         {"Sec-Fetch-Site", "cross-site"},
		"another port":         {"Sec-Fetch-Site", "same-site"},
		"an origin":            {"Origin", "http://evil.example"},
		"an origin of null":    {"Origin", "null"},
		"a name that resolves": {"Host", "evil.example"},
	} {
		for _, path := range []string{at, at + "events", "/assets/view.js"} {
			status, _ := v.get(t, path, header...)
			require.Equal(t, 403, status, "%s: %s", name, path)
		}
	}
	path, _ := v.pages.Link("/a")
	status, _ := v.get(t, path, "Sec-Fetch-Site", "cross-site")
	require.Equal(t, 403, status)
	status, _ = v.get(t, path, "Sec-Fetch-Site", "none")
	require.Equal(t, 200, status, "the link still opens from the address bar")
}

// Addresses of pages that only show take no changes, and no change comes from nowhere.
func TestPagesChangeNothing(t *testing.T) {
	v := newVisitor(t)
	v.open(t, "/a")
	for _, method := range []string{"POST", "PUT", "DELETE"} {
		r, err := http.NewRequestWithContext(t.Context(), method, v.server.URL+"/w/"+idOf("/a")+"/", nil)
		require.NoError(t, err)
		response, err := v.Do(r)
		require.NoError(t, err)
		response.Body.Close()
		require.Contains(t, []int{403, 404, 405}, response.StatusCode, method)
	}
}

// Nothing that a memory holds becomes markup, on any page.
func TestHostileTextStaysText(t *testing.T) {
	v := newVisitor(t)
	v.open(t, "/a")
	bodies := map[string]string{}
	for _, page := range []string{"", "ask?q=" + "%3Cscript%3Ealert(1)%3C/script%3E&path=%22onfocus=alert(1)", "turns", "turns?find=%3Cscript%3E&session=%22onfocus=alert(1)", "turn?id=t", "memory?find=%3Cscript%3E", "memory", "document?path=%3Cscript%3Ealert(1)", "system"} {
		status, body := v.get(t, "/w/"+idOf("/a")+"/"+page)
		require.Equal(t, 200, status, page)
		bodies[page] = body
	}
	status, body := v.get(t, "/w/"+idOf("/a")+"/ask?q=fail")
	require.Equal(t, 500, status)
	bodies["an error"] = body
	for page, body := range bodies {
		require.NotContains(t, body, "<script>", page)
		require.NotContains(t, body, "<img", page)
		require.NotContains(t, body, `" onmouseover`, page)
		require.NotContains(t, body, `"onfocus`, page)
		require.NotRegexp(t, "[\u202e\u200b\x1b]", body, page)
		require.NotContains(t, body, `href="javascript:`, page)
	}
}

func TestEventsNameNoContent(t *testing.T) {
	v := newVisitor(t)
	v.open(t, "/a")
	events := v.pages.memories.(fakeMemories).events
	events <- httpapi.Event{Workspace: "/a", Kind: "turn", Text: hostile}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, v.server.URL+"/w/"+idOf("/a")+"/events", nil)
	require.NoError(t, err)
	response, err := v.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	first := make([]byte, 64)
	n, err := response.Body.Read(first)
	require.NoError(t, err)
	require.Equal(t, "event: turn\ndata: {}\n\n", string(first[:n]))
	v.pages.EndStreams()
	_, err = io.ReadAll(response.Body)
	require.NoError(t, err, "the stream ends with the daemon")
}

func TestSite(t *testing.T) {
	site := NewSite(New(fakeMemories{}, "v1"))
	first, err := site.Link("/a")
	require.NoError(t, err)
	second, err := site.Link("/a")
	require.NoError(t, err)
	address := func(link string) string { return strings.Split(link, "/open/")[0] }
	require.Equal(t, address(first.URL), address(second.URL), "one listener for all links")
	require.True(t, strings.HasPrefix(first.URL, "http://127.0.0.1:"), first.URL)
	response, err := http.Get(address(first.URL))
	require.NoError(t, err)
	response.Body.Close()
	require.Equal(t, 404, response.StatusCode)
	site.Close(t.Context())
	_, err = http.Get(address(first.URL))
	require.Error(t, err)
	_, err = site.Link("/a")
	require.ErrorIs(t, err, httpapi.ErrClosed)
	NewSite(New(fakeMemories{}, "v1")).Close(t.Context()) // without a link
}
