package resource

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/source"
)

// The test binary is an MCP server if this variable names a folder: each file in it is a resource,
// "doc://FILE".
const serveFolder = "MEMCORE_TEST_SERVE_FOLDER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(serveFolder); dir != "" {
		if err := serverOf(dir).Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func mended(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "mended"))
	return err == nil
}

// serverOf serves the files in a folder. "hang" answers only when cancelled, "fail…" fails, "exit…"
// ends the server and "garbage…" writes no message, until there is a file "mended"; that and
// "hidden…" are not listed.
func serverOf(dir string) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1"}, nil)
	read := func(ctx context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		name := strings.TrimPrefix(r.Params.URI, "doc://")
		switch {
		case strings.HasPrefix(name, "hang"):
			<-ctx.Done()
			return nil, ctx.Err()
		case mended(dir):
		case strings.HasPrefix(name, "exit"):
			os.Exit(3)
		case strings.HasPrefix(name, "garbage"):
			fmt.Println("<html>what?</html>")
			<-ctx.Done()
		case strings.HasPrefix(name, "fail"):
			return nil, fmt.Errorf("cannot be read now")
		}
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return nil, mcp.ResourceNotFoundError(r.Params.URI)
		}
		c := &mcp.ResourceContents{URI: r.Params.URI, MIMEType: "text/markdown", Text: string(data)}
		switch filepath.Ext(name) {
		case ".png":
			c.MIMEType, c.Text, c.Blob = "image/png", "", data
		case ".html":
			c.MIMEType = "text/html; charset=utf-8"
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{c}}, nil
	}
	server.AddResourceTemplate(&mcp.ResourceTemplate{Name: "file", URITemplate: "doc://{+name}"}, read)
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	more, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
	for _, file := range append(files, more...) {
		name, _ := filepath.Rel(dir, file)
		if info, err := os.Stat(file); err != nil || info.IsDir() || strings.HasPrefix(name, "hidden") || name == "mended" {
			continue
		}
		r := &mcp.Resource{Name: name, URI: "doc://" + filepath.ToSlash(name)}
		if strings.HasPrefix(name, "dated") {
			r.Annotations = &mcp.Annotations{LastModified: "2024-02-03T04:05:06Z"}
		}
		server.AddResource(r, read)
	}
	return server
}

// A testServer serves a folder. stored is a Source's.
type testServer struct {
	t      *testing.T
	dir    string
	stored string
	server Server
}

func newTestServer(t *testing.T, files map[string]string) *testServer {
	t.Helper()
	s := &testServer{t: t, dir: t.TempDir(), stored: t.TempDir()}
	for name, text := range files {
		s.write(name, text)
	}
	self, err := os.Executable()
	require.NoError(t, err)
	s.server = Server{Name: "files", Command: self, Dir: s.dir, Env: []string{serveFolder + "=" + s.dir}, Timeout: time.Minute}
	return s
}

func (s *testServer) write(name, text string) {
	s.t.Helper()
	file := filepath.Join(s.dir, name)
	require.NoError(s.t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(s.t, os.WriteFile(file, []byte(text), 0o644))
}

func (s *testServer) source() *Source {
	s.t.Helper()
	require.NoError(s.t, s.server.Check())
	return New(s.server, Options{Folder: s.stored})
}

// refresh asks the server and returns the warnings.
func (s *testServer) refresh() string {
	s.t.Helper()
	report, err := s.source().Refresh(s.t.Context(), 0)
	if err != nil {
		report.Warnings = append(report.Warnings, err.Error())
	}
	return strings.Join(report.Warnings, "\n")
}

// texts returns the texts of all documents, by path.
func (s *testServer) texts() map[string]string {
	s.t.Helper()
	from := s.source()
	listing, err := from.List(s.t.Context())
	require.NoError(s.t, err)
	all := map[string]string{}
	for _, doc := range listing.Documents {
		require.Equal(s.t, source.KindDocument, doc.Kind)
		require.Equal(s.t, source.ScopeGlobal, doc.Scope)
		content, err := from.Read(s.t.Context(), doc, source.Position{})
		require.NoError(s.t, err)
		require.Len(s.t, content.Markdown, int(doc.Size))
		all[doc.Path] = string(content.Markdown)
	}
	return all
}

func (s *testServer) overHTTP() {
	s.t.Helper()
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return serverOf(s.dir) }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sesame" {
			http.Error(w, "no "+r.Header.Get("Authorization"), http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	s.t.Cleanup(web.Close)
	s.server.Command, s.server.URL, s.server.Token = "", web.URL, "sesame"
}

func TestResourcesAreDocuments(t *testing.T) {
	for _, road := range []string{"stdio", "http"} {
		t.Run(road, func(t *testing.T) {
			s := newTestServer(t, map[string]string{"deploy.md": "# Deploy\nwith make ship", "a/b.md": "deep", "picture.png": "\x89PNG", "page.html": "<p>x", "blank.md": " \n", "dated.md": "old"})
			if road == "http" {
				s.overHTTP()
			}
			require.Empty(t, s.texts(), "nothing is read and no server asked yet")
			said := s.refresh()
			require.Equal(t, map[string]string{"mcp:files/doc://deploy.md": "# Deploy\nwith make ship", "mcp:files/doc://a/b.md": "deep", "mcp:files/doc://dated.md": "old"}, s.texts())
			require.Equal(t, `MCP server files: 1 of its resources: "text/html" is not read, only plain text, Markdown and JSON (doc://page.html)`+"\n"+
				"MCP server files: 1 of its resources: empty (doc://blank.md)\n"+
				"MCP server files: 1 of its resources: not text (doc://picture.png)", said)
		})
	}
}

// A block of NUL bytes costs only itself.
func TestRefreshLeavesOutNULs(t *testing.T) {
	s := newTestServer(t, map[string]string{"a.md": "# Ferry\n\x00\x00\x00\nIt leaves at nine.", "b.md": "\x00\x00\n", "c.md": "c"})
	require.Equal(t, "MCP server files: 1 of its resources: NUL bytes, left out of the text (doc://a.md, line 2)\n"+
		"MCP server files: 1 of its resources: not text (doc://b.md)", s.refresh())
	require.Equal(t, map[string]string{"mcp:files/doc://a.md": "# Ferry\n\nIt leaves at nine.", "mcp:files/doc://c.md": "c"}, s.texts())
}

// Unchanged resources look the same, so that they are not indexed again. Changed ones do not, and
// removed ones disappear.
func TestRefreshTellsWhatHasChanged(t *testing.T) {
	s := newTestServer(t, map[string]string{"same.md": "same", "dated.md": "aaa", "gone.md": "gone"})
	require.Empty(t, s.refresh())
	list := func() map[string]source.Document {
		listing, err := s.source().List(t.Context())
		require.NoError(t, err)
		all := map[string]source.Document{}
		for _, d := range listing.Documents {
			all[strings.TrimPrefix(d.Path, "mcp:files/doc://")] = d
		}
		return all
	}
	before := list()
	require.Equal(t, time.Date(2024, 2, 3, 4, 5, 6, 0, time.UTC), before["dated.md"].ModTime)
	s.write("dated.md", "bbb")
	require.NoError(t, os.Remove(filepath.Join(s.dir, "gone.md")))
	require.Empty(t, s.refresh())
	after := list()
	require.Equal(t, before["same.md"], after["same.md"])
	require.NotEqual(t, before["dated.md"], after["dated.md"], "of the same size and date, and yet another text")
	require.Len(t, after, 2)
	require.Equal(t, map[string]string{"mcp:files/doc://same.md": "same", "mcp:files/doc://dated.md": "bbb"}, s.texts())
	texts, err := filepath.Glob(filepath.Join(s.stored, "*", "????????????????????????????????*"))
	require.NoError(t, err)
	require.Len(t, texts, 2, "texts that no document has are removed")
}

// An unavailable server causes a warning; its documents stay.
func TestServerThatIsAway(t *testing.T) {
	for _, tt := range []struct {
		name   string
		damage func(*testServer)
		want   string
	}{
		{"no such command", func(s *testServer) { s.server.Env = nil; s.server.Command = filepath.Join(s.dir, "none") }, "no such file or directory"},
		{"ends at once", func(s *testServer) { s.server.Env = nil; s.server.Args = []string{"-test.run=^$"} }, "MCP server files was not read: "},
		{"says why", func(s *testServer) { s.server.Env = nil; s.server.Args = []string{"-no-such-flag"} }, "it said: "},
		{"no time", func(s *testServer) { s.server.Timeout = time.Nanosecond }, "no answer within 1ns"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newTestServer(t, map[string]string{"a.md": "a"})
			require.Empty(t, s.refresh())
			key := s.server.key()
			tt.damage(s)
			if s.server.key() != key { // the same server, which is away now
				require.NoError(t, os.Rename(filepath.Join(s.stored, key), filepath.Join(s.stored, s.server.key())))
			}
			said := s.refresh()
			require.Contains(t, said, tt.want)
			require.Contains(t, said, "stays (resources: 1)")
			require.Equal(t, map[string]string{"mcp:files/doc://a.md": "a"}, s.texts())
		})
	}
}

// A resource that cannot be read does not affect the others.
func TestResourceThatFails(t *testing.T) {
	s := newTestServer(t, map[string]string{"a.md": "a", "fail.md": "never"})
	require.Contains(t, s.refresh(), "1 of its resources: not read (doc://fail.md: ")
	require.Equal(t, map[string]string{"mcp:files/doc://a.md": "a"}, s.texts())

	s = newTestServer(t, map[string]string{"a.md": "a", "exit.md": "never", "fail.md": "never"})
	require.Regexp(t, `2 of its resources: not read \(doc://exit.md: .*; doc://fail.md: .*cannot be read now`, s.refresh(), "each is named")

	var report string
	s = newTestServer(t, map[string]string{"a.md": "a", "hang.md": "never", "z.md": "z"})
	for s.server.Timeout = 3 * time.Second; len(s.texts()) == 0 && s.server.Timeout < 2*time.Minute; s.server.Timeout *= 2 {
		report = s.refresh() // a busy machine needs more to start the server
	}
	require.Regexp(t, `1 of its resources: not read \(doc://hang.md: no answer within `, report)
	require.Equal(t, map[string]string{"mcp:files/doc://a.md": "a", "mcp:files/doc://z.md": "z"}, s.texts(), "it leaves time to the others")
}

// A resource with which the session ends costs no other, however it is connected, and is read once
// it is mended.
func TestResourceThatEndsTheSession(t *testing.T) {
	for _, name := range []string{"exit.md", "garbage.md"} {
		t.Run(name, func(t *testing.T) {
			s := newTestServer(t, map[string]string{"a.md": "a", name: "never", "z.md": "z"})
			require.Contains(t, s.refresh(), "MCP server files: 1 of its resources: not read (doc://"+name+": ")
			require.Equal(t, map[string]string{"mcp:files/doc://a.md": "a", "mcp:files/doc://z.md": "z"}, s.texts())
			s.write("mended", "")
			require.Empty(t, s.refresh())
			require.Len(t, s.texts(), 3)
			require.NoError(t, os.Remove(filepath.Join(s.dir, "mended")))
			require.Contains(t, s.refresh(), "not read now, and kept as it was (doc://"+name+": ")
			require.Len(t, s.texts(), 3, "what was read stays")
		})
	}
	files := map[string]string{"z.md": "z"}
	for i := range 2 * maxSessions {
		files[fmt.Sprintf("exit%d.md", i)] = "never"
	}
	s := newTestServer(t, files)
	require.Contains(t, s.refresh(), fmt.Sprintf("%d of its resources: not read", 2*maxSessions+1), "it is not begun anew for ever")
}

func TestPatterns(t *testing.T) {
	files := map[string]string{"a.md": "a", "b.txt": "b", "in/c.md": "c", "hidden.md": "h"}
	for _, tt := range []struct {
		patterns string
		want     []string
	}{
		{"", []string{"a.md", "b.txt", "in/c.md"}},
		{"doc://*", []string{"a.md", "b.txt"}},
		{"doc://**.md", []string{"a.md", "in/c.md"}},
		{"doc://in/*", []string{"in/c.md"}},
		{"doc://hidden.md", []string{"hidden.md"}},
		{"doc://hidden.md doc://b*", []string{"b.txt", "hidden.md"}},
		{"other://**", nil},
	} {
		s := newTestServer(t, files)
		s.server.Resources = strings.Fields(tt.patterns)
		require.Empty(t, s.refresh())
		want := map[string]string{}
		for _, name := range tt.want {
			want["mcp:files/doc://"+name] = files[name]
		}
		require.Equal(t, want, s.texts(), tt.patterns)
	}
}

func TestBudgets(t *testing.T) {
	s := newTestServer(t, map[string]string{"a.md": strings.Repeat("a", 600), "b.md": strings.Repeat("b", 600), "c.md": "c", "d.md": "d"})
	s.server.MaxBytes = 1 << 10
	require.Equal(t, "MCP server files: 1 of its resources: more than 1 KB in all (doc://b.md)", s.refresh())
	require.Len(t, s.texts(), 3)
	s.server.MaxResources = 2
	require.Contains(t, s.refresh(), "MCP server files: 2 of its resources: more than 2 (such as doc://c.md)")
	require.Len(t, s.texts(), 1)
}

func TestSecretsAreTakenOut(t *testing.T) {
	const key = "ghp_" + "0123456789abcdefABCDEF0123456789abcd"
	s := newTestServer(t, map[string]string{"a.md": "# Token\nthe token is " + key, ".env": "X=1"})
	report, err := s.source().Refresh(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, map[string][]string{"github-pat": {"mcp:files/doc://a.md#L2"}}, report.Redacted)
	require.NotContains(t, fmt.Sprint(s.texts()), key)
	report, err = s.source().Refresh(t.Context(), 0)
	require.NoError(t, err)
	require.Empty(t, report.Redacted, "it was counted when the text was new")

	kept := New(s.server, Options{Folder: t.TempDir(), KeepSecrets: true})
	_, err = kept.Refresh(t.Context(), 0)
	require.NoError(t, err)
	listing, err := kept.List(t.Context())
	require.NoError(t, err)
	require.Len(t, listing.Documents, 1, "names of secrets are never read")
	content, err := kept.Read(t.Context(), listing.Documents[0], source.Position{})
	require.NoError(t, err)
	require.Contains(t, string(content.Markdown), key)
}

func TestRefreshWithin(t *testing.T) {
	s := newTestServer(t, map[string]string{"a.md": "a"})
	require.Empty(t, s.refresh())
	s.write("b.md", "b")
	_, err := s.source().Refresh(t.Context(), time.Hour)
	require.NoError(t, err)
	require.Len(t, s.texts(), 1, "it was asked a moment ago")
}

// A server gets only its environment. No error shows a key.
func TestWhatAServerIsTold(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	t.Setenv("A_SECRET_OF_MINE", "hunter2")
	s := newTestServer(t, map[string]string{"a.md": "a"})
	s.server.Env = nil
	s.server.Command, s.server.Args = "/bin/sh", []string{"-c", "env >&2; exit 3"}
	said := s.refresh()
	require.Contains(t, said, "it said: ")
	require.NotContains(t, said, "hunter2")

	s.server.Env, s.server.Secrets = []string{"KEY=open-rye-key-0123"}, []string{"open-rye-key-0123"}
	for _, script := range []string{"echo bad $KEY >&2; exit 3", "printf 'bad %s %0390d' $KEY 7 >&2; exit 3"} {
		s.server.Args = []string{"-c", script}
		said = s.refresh()
		require.Contains(t, said, "it said: ")
		require.NotContains(t, said, "0123")
	}

	s.overHTTP()
	s.server.Token = "open-barley-key-0123"
	said = s.refresh()
	require.Contains(t, said, "was not read")
	require.NotContains(t, said, "open-barley-key-0123")
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	asked := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer elsewhere.Close()
	s := newTestServer(t, nil)
	web := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer web.Close()
	s.server.Command, s.server.URL, s.server.Token = "", web.URL, "sesame"
	require.Contains(t, s.refresh(), "was not read")
	require.False(t, asked)
}

func TestServerThatSaysTooMuch(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for range 64 {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	}))
	defer web.Close()
	s := newTestServer(t, nil)
	s.server.Command, s.server.URL, s.server.MaxBytes = "", web.URL, 1<<10
	require.Contains(t, s.refresh(), errTooMuch.Error())
}

func TestDamagedCopies(t *testing.T) {
	s := newTestServer(t, map[string]string{"a.md": "a"})
	require.Empty(t, s.refresh())
	texts, err := filepath.Glob(filepath.Join(s.stored, "*", "????????????????????????????????*"))
	require.NoError(t, err)
	require.Len(t, texts, 1)
	require.NoError(t, os.WriteFile(texts[0], []byte("b"), 0o600))
	listing, err := s.source().List(t.Context())
	require.NoError(t, err)
	_, err = s.source().Read(t.Context(), listing.Documents[0], source.Position{})
	require.ErrorContains(t, err, "the copy is damaged")
	require.Empty(t, s.refresh())
	require.Equal(t, map[string]string{"mcp:files/doc://a.md": "a"}, s.texts())
}

func TestRemoveOthers(t *testing.T) {
	s := newTestServer(t, map[string]string{"a.md": "a"})
	require.Empty(t, s.refresh())
	require.NoError(t, os.Mkdir(filepath.Join(s.stored, "old-01234567"), 0o700))
	require.NoError(t, RemoveOthers(s.stored, []*Source{s.source()}))
	require.Len(t, s.texts(), 1)
	entries, err := os.ReadDir(s.stored)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.NoError(t, RemoveOthers(filepath.Join(s.stored, "none"), nil))
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		server Server
		want   string
	}{
		{Server{Name: "a b", Command: "x"}, "letters, digits"},
		{Server{Name: "../up", Command: "x"}, "letters, digits"},
		{Server{Name: "a"}, "neither a command nor a url"},
		{Server{Name: "a", Command: "x", URL: "http://h"}, "want one of them"},
		{Server{Name: "a", URL: "ftp://hunter2@h"}, "not of the form"},
		{Server{Name: "a", Command: "x", MaxBytes: -1}, "below 0"},
		{Server{Name: "a", Command: "x", Resources: []string{"doc://*", "\xff"}}, "not valid text"},
	} {
		err := tt.server.Check()
		require.ErrorContains(t, err, tt.want)
		require.NotContains(t, err.Error(), "hunter2")
	}
	require.NoError(t, Server{Name: "a", URL: "https://h/mcp"}.Check())
}

// For any URIs and patterns: accepted URIs can be cited and name no secret, and each pattern
// matches itself.
func FuzzURIs(f *testing.F) {
	f.Add("doc://a/**", "doc://a/b")
	f.Add("file:///home/*/.ssh/id_rsa", "file:///home/ada/.ssh/id_rsa")
	f.Add("(*", "a b\n")
	f.Fuzz(func(t *testing.T, pattern, uri string) {
		server := Server{Name: "a", Command: "x", Resources: []string{pattern}}
		if server.Check() != nil {
			return
		}
		wants, exact := compile(server.Resources)
		if len(exact) == 1 && !wants.MatchString(pattern) {
			t.Errorf("%q does not match itself", pattern)
		}
		if refused(uri) == "" && (strings.ContainsAny(uri, " \n\r\t\x00") || len(uri) > maxURI || strings.HasSuffix(uri, "/.ssh/id_rsa")) {
			t.Errorf("%q is not refused", uri)
		}
	})
}
