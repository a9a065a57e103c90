package view

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/internal/kind"
)

// hostileMarkdown tries to load, to run and to lead elsewhere.
const hostileMarkdown = "- " + hostile + "\n" + `
![x](http://evil.example/x.png) [a](javascript:alert(1)) [b](http://evil.example/) [c](data:text/html,x) <a href="//evil.example">d</a>
[e](//evil.example/a.md) [f](../../../etc/a.md) [g](other.md "onmouseover=alert(1)") &#x202e; &lt;script&gt; \<script>
<http://evil.example/> [h]: http://evil.example "x"
<iframe src="http://evil.example"></iframe>
` + "```html\n<script>alert(1)</script>\n```\n<style>*{}</style>\n"

func (fakeMemory) File(_ context.Context, r FileRequest) (File, error) {
	text := strings.TrimSuffix(hostileMarkdown, "\n")
	last := strings.Count(text, "\n") + 1
	block := Block{First: 1, Last: last, Statement: true, Marks: []Mark{{Kind: "secret", Text: hostile}}}
	return File{Path: r.Path, Lines: last, First: 1, Last: last, Text: text, Blocks: []Block{block}, Chunks: []core.MemoryHit{{StartLine: 1, EndLine: last, Source: hostile}}, Remarks: []string{hostile}}, nil
}

func (fakeMemory) Proposals(context.Context) ([]Proposal, error) {
	return []Proposal{{ID: "3fa92b", Kind: hostile, Path: hostile, Section: hostile, Text: hostile, Supersedes: hostile, Source: hostile}}, nil
}

func (fakeMemory) Journal(context.Context) ([]Entry, error) {
	files := []Lines{{Path: hostile + ".md", Before: hostile, After: hostile}}
	return []Entry{{ID: "1", Label: hostile, Files: files}, {ID: "2", Agent: true, Label: hostile, Files: files}}, nil
}

// Change has version "v"; it fails for the path "fail", after writing for "half", and is outdated
// for "old".
func (fakeMemory) Change(ctx context.Context, r ChangeRequest) (Changed, error) {
	if r.Path == "half" {
		if _, ends := ctx.Deadline(); !ends {
			return Changed{}, errors.New("a lock that another process holds is waited for without end")
		}
		return Changed{Written: true, Undo: "1"}, errors.New("the record of use is not writable")
	}
	if r.Path == "fail" {
		return Changed{}, kind.As(kind.Conflict, core.ErrNotIndexed)
	}
	return Changed{Path: hostile, Diff: "--- a/" + hostile + "\n+++ b/x\n@@ -1 +1 @@\n-" + hostile + "\n+" + hostile + "\n", Since: "+" + hostile, Secrets: hostile, Remark: hostile,
		Text: r.Text, Seen: r.Seen, First: r.First, Version: "v", Written: r.Version == "v" && r.Path != "old", Outdated: r.Path == "old", Undo: "1"}, nil
}

// send sends a form and returns the status and the body.
func (v visitor) send(t *testing.T, path, origin string, form ...string) (int, string) {
	t.Helper()
	q := url.Values{}
	for i := 0; i < len(form); i += 2 {
		q.Set(form[i], form[i+1])
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, v.server.URL+path, strings.NewReader(q.Encode()))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if origin != "" {
		r.Header.Set("Origin", origin)
	}
	response, err := v.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

// plainOnly fails if hostile text became markup.
func plainOnly(t *testing.T, page, body string) {
	t.Helper()
	for _, markup := range []string{"<script>", "<img", `" onmouseover`, `"onfocus`, `href="javascript:`, `href="http`, `href="//`, `href="data:`, "<iframe", "<style", `title="on`, "/etc/a.md\""} {
		require.NotContains(t, body, markup, page)
	}
	require.NotRegexp(t, "[\u202e\u200b\x1b]", body, page)
}

func TestHostileTextOfChangesStaysText(t *testing.T) {
	v := newVisitor(t)
	v.open(t, "/a")
	at, own := "/w/"+idOf("/a")+"/", v.server.URL
	for _, page := range []string{"document?path=%3Cscript%3Ea.md", "edit?path=a.md&first=1&last=2", "change?how=strike&path=%22onfocus=alert(1).md", "change?how=keep&id=%3Cscript%3E", "change?how=%3Cscript%3E", "queue"} {
		status, body := v.get(t, at+page)
		require.Equal(t, 200, status, page)
		plainOnly(t, page, body)
	}
	_, body := v.get(t, at+"document?path=notes/a.md")
	require.Contains(t, body, `<a href="document?path=notes%2Fother.md">g</a>`, "a link to another document leads there")
	require.Contains(t, body, "[image: x]")
	require.Contains(t, body, "&lt;script&gt;alert(1)&lt;/script&gt;", "code is shown")
	for _, path := range []string{`<script>"onfocus=alert(1)`, "old", "fail"} {
		for _, version := range []string{"", "v"} {
			_, body := v.send(t, at+"change", own, "how", "edit", "path", path, "text", hostileMarkdown, "seen", hostile, "version", version)
			plainOnly(t, path, body)
		}
	}
}

// Only a form of these pages with the shown version changes something. Its text is never lost.
func TestChangeIsShownThenConfirmed(t *testing.T) {
	v := newVisitor(t)
	v.open(t, "/a")
	at, own := "/w/"+idOf("/a")+"/change", v.server.URL
	long := strings.Repeat("A long text that took an hour.\n", 2000)

	status, body := v.get(t, at+"?how=strike&path=a.md&version=v")
	require.Equal(t, 200, status)
	require.NotContains(t, body, "Done", "an address changes nothing")
	status, body = v.send(t, at, own, "how", "edit", "path", "a.md", "text", long)
	require.Equal(t, 200, status)
	require.Contains(t, body, `name="version" value="v"`)
	require.Contains(t, body, "added: ", "the diff reads without colour")
	status, body = v.send(t, at, own, "how", "edit", "path", "a.md", "text", long, "version", "v")
	require.Equal(t, 200, status)
	require.Contains(t, body, "Done")

	for name, bad := range map[string]struct {
		path, origin, file string
		status             int
	}{
		"no origin":       {at, "", "a.md", 403},
		"another site":    {at, "http://evil.example", "a.md", 403},
		"no such page":    {"/w/" + idOf("/b") + "/change", own, "a.md", 401},
		"a changed file":  {at, own, "old", 409},
		"another failure": {at, own, "fail", 409},
	} {
		status, body := v.send(t, bad.path, bad.origin, "how", "edit", "path", bad.file, "text", long, "version", "v")
		require.Equal(t, bad.status, status, name)
		require.NotContains(t, body, "Done", name)
		if status != 403 {
			require.Contains(t, body, long, "%s: the text is shown again", name)
		}
	}
	status, body = v.send(t, at, own, "how", "forget", "path", "half", "version", "v")
	require.Equal(t, 500, status)
	require.Contains(t, body, "The file is changed, but not all is done: <bdi>the record of use is not writable")
	require.NotContains(t, body, "Nothing is changed")
	require.Contains(t, body, "Undo this")
	status, body = newVisitorOf(t, v).send(t, at, own, "how", "edit", "text", long)
	require.Equal(t, 401, status, "without the cookie")
	require.Contains(t, body, long)
}

// newVisitorOf returns another browser at the same pages.
func newVisitorOf(t *testing.T, v visitor) visitor {
	other := newVisitor(t)
	other.server = v.server
	return other
}

func TestDiffLines(t *testing.T) {
	lines := diffLines("--- a/x.md\n+++ b/x.md\n@@ -1,2 +3,2 @@\n same\n---- old\n++++ new\n")
	require.Equal(t, "the whole file", placeText("@@ -1,4 +0,0 @@"))
	require.Equal(t, []diffLine{{"place", "", "from line 3"}, {"same", "", "same"}, {"remove", "−", "--- old"}, {"add", "+", "+++ new"}}, lines)
	require.Contains(t, diffLines("--- a/x.md\n+++ b/x.md\n@@ -0,0 +1 @@\n+a\n--- a/y.md\n+++ b/y.md\n@@ -0,0 +1 @@\n+b\n"), diffLine{"file", "", "y.md"})
	require.Empty(t, diffLines(""))
	lines = diffLines("--- a/x.md\n+++ b/x.md\n@@ -1,2 +1,2 @@\n--- a/old\n+++ b/new\n same\n")
	require.Equal(t, []diffLine{{"place", "", "from line 1"}, {"remove", "−", "-- a/old"}, {"add", "+", "++ b/new"}, {"same", "", "same"}}, lines, "text that looks like the name of a file is shown")
	require.Len(t, diffLines(strings.Repeat("+x\n", 2*maxDiff)), maxDiff+1)
}

func TestMarkdown(t *testing.T) {
	for in, want := range map[string]string{
		"## A *b* **c** `d`":          "<h3>A <em>b</em> <strong>c</strong> <code>d</code></h3>",
		"- ~~old~~ (superseded)":      "<ul>\n<li><del>old</del> (superseded)</li>\n</ul>",
		"3. third":                    "<ol start=\"3\">\n<li>third</li>\n</ol>",
		`a \*b\* &amp; \&amp; ~~c`:    "<p>a *b* &amp; &amp;amp; ~~c</p>",
		"one\ntwo":                    "<p>one<br>\ntwo</p>",
		"> quoted":                    "<blockquote>\n<p>quoted</p>\n</blockquote>",
		"[x](https://a.example/?q=1)": `<p>x <span class="address">(https://a.example/?q=1)</span></p>`,
		"| a | b |\n|---|---|":        "<pre>| a | b |\n|---|---|</pre>",
	} {
		require.Equal(t, want, string(render("notes/a.md", in)), in)
	}
}

// A page of a file stays below 300 KB, however its text is made.
func TestDocumentPageIsBounded(t *testing.T) {
	for _, text := range []string{strings.Repeat("\"&<>'", 5000), strings.Repeat("[", 24<<10), strings.Repeat("> ", 12<<10), strings.Repeat("*a", 12<<10), strings.Repeat("- ", 12<<10)} {
		require.Less(t, len(render("a.md", text)), 200<<10)
	}
	// A part of a file has at least one block, of any size.
	for _, front := range []bool{true, false} {
		text := strings.Repeat("\"&<>'", 1<<20)
		row := rowsOf(File{First: 1, Last: 1, Text: text, Blocks: []Block{{First: 1, Last: 1, Front: front}}})[0]
		require.Less(t, len(row.HTML), 200<<10)
		require.Contains(t, row.HTML, "more bytes")
	}
}

// Citations and lines lead to their part of a file.
func TestDocumentAtACitation(t *testing.T) {
	v := newVisitor(t)
	v.open(t, "/a")
	v.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		require.Equal(t, "L12", r.URL.Fragment)
		require.Equal(t, "12", r.URL.Query().Get("line"))
		return nil
	}
	for _, name := range []string{"a.md", "C%23Lessons.md"} {
		status, _ := v.get(t, "/w/"+idOf("/a")+"/document?path="+name+"&at="+name+"%23L12-L14")
		require.Equal(t, 200, status)
	}
	f := File{Path: "a.md", Lines: 4, First: 1, Last: 4, Text: "# A\none\ntwo\nthree", Blocks: []Block{{First: 1, Last: 1, Level: 1}, {First: 2, Last: 4}},
		Chunks: []core.MemoryHit{{StartLine: 1, EndLine: 2}, {StartLine: 3, EndLine: 3}, {StartLine: 3, EndLine: 4}}}
	rows := documentOf(f).Rows
	require.Equal(t, []int{0, 3, 0}, []int{rows[0].Chunks[0].Anchor, rows[1].Chunks[0].Anchor, rows[1].Chunks[1].Anchor}, "each line has one anchor")
	require.Equal(t, 4, rows[0].End, "a heading goes with its section")
	var page strings.Builder
	require.NoError(t, templates().ExecuteTemplate(&page, "document", documentOf(f)))
	require.Contains(t, page.String(), `href="change?first=1&amp;how=forget&amp;last=4&amp;path=a.md"`)
}

// A manyChanges has as many changes as a journal keeps, of short lines.
type manyChanges struct{ fakeMemory }

func (manyChanges) Journal(context.Context) ([]Entry, error) {
	lines := Lines{Path: "a.md", Before: strings.Repeat("- a\n", 1000), After: strings.Repeat("- b\n", 1000)}
	entry := Entry{ID: "1", Label: "edit", Files: []Lines{lines, lines}}
	return slices.Repeat([]Entry{entry}, 20), nil
}

type changeMemories struct{ fakeMemories }

func (changeMemories) Use(_ context.Context, _ string, do func(Memory) error) error {
	return do(manyChanges{})
}

func TestQueueIsBounded(t *testing.T) {
	v := newVisitor(t)
	v.pages.memories = changeMemories{}
	v.open(t, "/a")
	_, body := v.get(t, "/w/"+idOf("/a")+"/queue")
	require.Less(t, len(body), 300_000)
	require.Contains(t, body, "more lines")
	require.Equal(t, 20, strings.Count(body, ">Undo<"), "each can be undone")
}
