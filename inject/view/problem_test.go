package view

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// An error is a page with the menu if a workspace is open.
func TestProblemsLeadOn(t *testing.T) {
	v := newVisitor(t)
	v.open(t, "/work/atlas")
	at := "/w/" + idOf("/work/atlas") + "/"
	for path, want := range map[string]int{"nothing": 404, "ask?q=fail": 500} {
		status, body := v.get(t, at+path)
		require.Equal(t, want, status, path)
		require.Contains(t, body, `<a href="./memory">Memory</a>`, path)
		require.Contains(t, body, "· atlas · memcore</title>", path)
		require.NotContains(t, body, "<script>", path)
	}
	status, body := v.get(t, at)
	require.Equal(t, 200, status)
	require.Contains(t, body, "<title>Overview · atlas · memcore</title>")

	for _, path := range []string{"/", "/open/used", at + "memory/nothing", "/w/" + idOf("/other") + "/nothing"} {
		_, body := v.get(t, path)
		require.NotContains(t, body, "<nav", path)
		require.NotContains(t, body, "view.js", path)
	}
	status, _ = v.get(t, at, "Host", "127.0.0.1:9")
	require.Equal(t, 200, status, "through a forwarded port")
	_, body = v.get(t, "/open/used")
	require.Contains(t, body, "<pre class=\"block\">memcore view</pre>")
}

// From an answer of an agent one gets to the passage's lines and to what else the model had.
func TestTurnLeadsToWhatTheModelHad(t *testing.T) {
	v := newVisitor(t)
	v.open(t, "/a")
	_, body := v.get(t, "/w/"+idOf("/a")+"/turn?id=t")
	require.Contains(t, body, `<a href="system">`)
	require.Contains(t, body, `<a href="document?path=`)
}

// A line of the system prompt leads to its file, and a path that is not found to Ask.
func TestPagesLeadToEachOther(t *testing.T) {
	v := newVisitor(t)
	v.open(t, "/a")
	at := "/w/" + idOf("/a") + "/"
	_, body := v.get(t, at+"system")
	require.Contains(t, body, `<strong><a href="document?path=`)
	_, body = v.get(t, at+"memory?find=vienna")
	require.Contains(t, body, `<a href="ask?q=vienna">`)
	_, body = v.get(t, at+"memory")
	require.NotContains(t, body, `<a href="ask?q=`)
}
