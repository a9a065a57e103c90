package tenants

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service"
)

// A testNode is a node of its own on a database of its own.
type testNode struct {
	*Node
	t        *testing.T
	database database
}

func newTestNode(t *testing.T, change func(*Options)) testNode {
	t.Helper()
	home := t.TempDir()
	for name, value := range map[string]string{"HOME": home, "XDG_CACHE_HOME": home + "/cache", "XDG_STATE_HOME": home + "/state", "MEMCORE_EMBEDDER": "none"} {
		t.Setenv(name, value)
	}
	log := slog.New(slog.DiscardHandler)
	at := newDatabase(t)
	o := Options{DB: at.open(t), Workspace: &app.Workspace{Config: &config.Config{Log: log}, Version: "test", Note: func(string, ...any) {}}, Logger: log}
	if change != nil {
		change(&o)
	}
	n, err := NewNode(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	_, err = n.Tenants().Create(t.Context(), "acme")
	require.NoError(t, err)
	return testNode{n, t, at}
}

// as returns a user of the tenant acme, who sees what there is now.
func (n testNode) as(user string, right service.Right) service.Principal {
	n.t.Helper()
	of, err := n.o.DB.Keys().ByName(n.t.Context(), "acme", user, nil)
	require.NoError(n.t, err)
	p, err := principalOf(of, "k"+string(right), right, time.Time{})
	require.NoError(n.t, err)
	return p
}

func (n testNode) keys() Keys { return NewKeys(n.o.DB, nil, n.o.Logger) }

func (n testNode) ann() service.Principal { return n.as("ann", service.Admin) }
func (n testNode) bob() service.Principal { return n.as("bob", service.Write) }

func mustPut(t *testing.T, n testNode, p service.Principal, path, text string) int64 {
	t.Helper()
	done, err := n.Put(t.Context(), p, path, text, service.Condition{})
	require.NoError(t, err)
	return done.Version
}

// textOf returns a document, "" if there is none.
func textOf(t *testing.T, n testNode, p service.Principal, path string) string {
	t.Helper()
	d, err := n.Get(t.Context(), p, path)
	if kind.Of(err) == kind.NotFound {
		return ""
	}
	require.NoError(t, err)
	return d.Text
}

func TestRestore(t *testing.T) {
	n := newTestNode(t, nil)
	mustPut(t, n, n.ann(), "a.md", "A1")
	mustPut(t, n, n.ann(), "~/.beans/memories/x.md", "ann1")
	version := mustPut(t, n, n.ann(), "gone.md", "G")
	_, err := n.Delete(t.Context(), n.ann(), "gone.md", service.Condition{})
	require.NoError(t, err)
	mustPut(t, n, n.ann(), "a.md", "A2")
	mustPut(t, n, n.ann(), "~/.beans/memories/x.md", "ann2")
	mustPut(t, n, n.ann(), "new.md", "N")
	mustPut(t, n, n.bob(), "~/.beans/memories/x.md", "bob")

	_, err = n.Restore(t.Context(), n.ann(), version)
	require.NoError(t, err)
	for path, want := range map[string]string{"a.md": "A1", "~/.beans/memories/x.md": "ann1", "gone.md": "G", "new.md": ""} {
		require.Equal(t, want, textOf(t, n, n.ann(), path), path)
	}
	require.Equal(t, "bob", textOf(t, n, n.bob(), "~/.beans/memories/x.md"), "a restoration changes nothing of another user")
	_, err = n.Restore(t.Context(), n.ann(), 1_000_000)
	require.Equal(t, kind.BadInput, kind.Of(err))
}

// What has expired cannot be restored: a restoration would remove it.
func TestRestoreOfWhatHasExpired(t *testing.T) {
	n := newTestNode(t, func(o *Options) { o.Keep = time.Nanosecond })
	version := mustPut(t, n, n.ann(), "a.md", "A1")
	mustPut(t, n, n.ann(), "a.md", "A2")
	require.NoError(t, n.o.DB.Maintain(t.Context()))
	_, err := n.Restore(t.Context(), n.ann(), version)
	require.Equal(t, kind.BadInput, kind.Of(err), "%v", err)
	require.Equal(t, "A2", textOf(t, n, n.ann(), "a.md"))
}

// A restoration to before something was forgotten neither brings that back nor removes the rest.
func TestRestoreOfWhatIsForgotten(t *testing.T) {
	n := newTestNode(t, nil)
	const path = ".beans/memories/facts/tea.md"
	mustPut(t, n, n.ann(), path, "# Tea\n\n- The tea is green.\n- The secret tea is zqword.\n")
	version := mustPut(t, n, n.ann(), "a.md", "A1")
	mustPut(t, n, n.ann(), "a.md", "A2")
	_, _, err := n.Call(t.Context(), n.bob(), forgetTool, []byte(`{"text": "The secret tea is zqword."}`))
	require.NoError(t, err)
	require.NotContains(t, textOf(t, n, n.ann(), path), "zqword")
	_, err = n.Restore(t.Context(), n.ann(), version)
	require.NoError(t, err)
	require.Equal(t, "A1", textOf(t, n, n.ann(), "a.md"))
	require.Contains(t, textOf(t, n, n.ann(), path), "The tea is green.")
	require.NotContains(t, textOf(t, n, n.ann(), path), "zqword")
}

// Who may only write does not change what curated memory of all users imports.
func TestImportedDocumentsInstruct(t *testing.T) {
	n := newTestNode(t, nil)
	mustPut(t, n, n.bob(), "free.md", "anything")
	mustPut(t, n, n.ann(), "BEANS.md", "- Be kind.\n- @docs/style.md\n@import \"with space.md\"\n")
	mustPut(t, n, n.ann(), "docs/style.md", "Use tabs.\n@../deep.md\n@../../../etc/x.md\n@style.md")
	mustPut(t, n, n.ann(), "sub/BEANS.md", "See @./own.md.")
	mustPut(t, n, n.ann(), ".beans/rules/r.md", "@../../rule.md")
	for _, path := range []string{"docs/style.md", "with space.md", "deep.md", "sub/own.md", "rule.md"} {
		_, err := n.Put(t.Context(), n.bob(), path, "be evil", service.Condition{})
		require.Equal(t, kind.Forbidden, kind.Of(err), "%s: %v", path, err)
		_, err = n.PutAll(t.Context(), n.bob(), []service.Document{{Path: "free.md", Text: "x"}, {Path: path, Text: "be evil"}})
		require.Equal(t, kind.Forbidden, kind.Of(err), path)
		mustPut(t, n, n.ann(), path, textOf(t, n, n.ann(), path)+"\nby an admin")
	}
	require.Equal(t, "anything", textOf(t, n, n.bob(), "free.md"))
	_, err := n.Delete(t.Context(), n.bob(), "docs/style.md", service.Condition{})
	require.Equal(t, kind.Forbidden, kind.Of(err))
	mustPut(t, n, n.bob(), "free.md", "something")
	mustPut(t, n, n.bob(), "style.md", "not imported")
	mustPut(t, n, n.bob(), "~/.beans/BEANS.md", "mine")
}

// Each way to write an import counts, or whoever may only write could instruct all.
func TestWhateverIsImportedInstructs(t *testing.T) {
	n := newTestNode(t, nil)
	for text, path := range map[string]string{
		"@import docs/a.md <!-- the plan -->":      "docs/a.md",
		"@import <!-- the plan --> docs/b.md":      "docs/b.md",
		"@import \"\"docs/c.md\"\"":                "docs/c.md",
		"@import docs/d.md\u00a0":                  "docs/d.md",
		"@docs/it's.md":                            "docs/it's.md",
		"@docs/ann@home.md":                        "docs/ann@home.md",
		"@docs/a.md.md":                            "docs/a.md.md",
		"@site.mdx/intro.md":                       "site.mdx/intro.md",
		"@docs/e\u200b.md":                         "docs/e.md",
		"> - @docs/f.md":                           "docs/f.md",
		"---\nname: x\n---\r\n@import docs/g.md\r": "docs/g.md",
		"- @~/../shared/docs/h.md":                 "docs/h.md",
		"# A\r@import docs/i.md\rB":                "docs/i.md",
	} {
		mustPut(t, n, n.ann(), path, "kindword")
		mustPut(t, n, n.ann(), "BEANS.md", text)
		_, err := n.Put(t.Context(), n.bob(), path, "be evil", service.Condition{})
		require.Equal(t, kind.Forbidden, kind.Of(err), "%q: %v", text, err)
	}
}

func TestBounds(t *testing.T) {
	n := newTestNode(t, func(o *Options) { o.Limits = service.Limits{MaxDocuments: 3, MaxBytes: 100} })
	var all []service.Document
	for i := range 4 {
		all = append(all, service.Document{Path: fmt.Sprintf("%d.md", i), Text: "x"})
	}
	status := func(err error) int { return httpapi.StatusOf(err) }
	_, err := n.PutAll(t.Context(), n.ann(), all)
	require.Equal(t, http.StatusTooManyRequests, status(err), "an archive passes no bound as a whole")
	_, err = n.PutAll(t.Context(), n.ann(), all[:3])
	require.NoError(t, err)
	_, err = n.Put(t.Context(), n.ann(), "4.md", "x", service.Condition{})
	require.Equal(t, http.StatusTooManyRequests, status(err))
	mustPut(t, n, n.ann(), "0.md", strings.Repeat("x", 98))
	_, err = n.Put(t.Context(), n.ann(), "1.md", "xx", service.Condition{})
	require.Equal(t, http.StatusTooManyRequests, status(err))
	_, err = n.Delete(t.Context(), n.ann(), "2.md", service.Condition{})
	require.NoError(t, err)
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() { _, _ = n.Put(t.Context(), n.ann(), fmt.Sprintf("at-once-%d.md", i), "", service.Condition{}) })
	}
	writers.Wait()
	u, err := n.Usage(t.Context(), n.ann())
	require.NoError(t, err)
	require.Equal(t, service.Usage{Documents: 3, Bytes: 99, Limits: service.Limits{MaxDocuments: 3, MaxBytes: 100}}, u)
}

// A document of sections that say nothing does not keep the database busy for minutes.
func TestBoundOfPassages(t *testing.T) {
	n := newTestNode(t, nil)
	_, err := n.Put(t.Context(), n.ann(), "many.md", strings.Repeat("# a\n\nb\n", maxPassages+1), service.Condition{})
	require.Equal(t, kind.BadInput, kind.Of(err), "%v", err)
	require.ErrorContains(t, err, "many.md: it has 20001 passages")
	u, err := n.Usage(t.Context(), n.ann())
	require.NoError(t, err)
	require.Zero(t, u.Documents)

	// Many short ones count for what they take.
	short := strings.Repeat("# a\n\nb\n", 2_000)
	mustPut(t, n, n.ann(), "short.md", short)
	long := "# a\n\n" + strings.Repeat("The ferry leaves at noon. ", 1_000) + "\n"
	mustPut(t, n, n.ann(), "long.md", long)
	u, err = n.Usage(t.Context(), n.ann())
	require.NoError(t, err)
	require.InDelta(t, 2_000*weightOfPassage+len(long), u.Bytes, 5_000)
	for _, path := range []string{"short.md", "long.md"} {
		_, err = n.Delete(t.Context(), n.ann(), path, service.Condition{})
		require.NoError(t, err)
	}
	u, err = n.Usage(t.Context(), n.ann())
	require.NoError(t, err)
	require.Zero(t, u.Bytes)
}

// Nobody uses up the memory of a node by what is laid out for an agent. What is too much can be deleted.
func TestBoundsOfDesks(t *testing.T) {
	n := newTestNode(t, nil)
	n.deskSizes = deskSizes{small: 400, largest: 6400}
	large := strings.Repeat("\n", 700)
	open := func(ctx context.Context, p service.Principal) error {
		return n.AskWithFiles(ctx, p, func(*app.Service) error { return nil })
	}
	mustPut(t, n, n.bob(), "~/.beans/memories/0.md", large)
	for range 2 * maxLargeDesks { // each gives back its place
		require.NoError(t, open(t.Context(), n.bob()))
	}
	for range maxLargeDesks {
		n.largeDesks <- struct{}{}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	require.ErrorIs(t, open(ended, n.bob()), context.Canceled)
	late, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	require.Equal(t, kind.Unavailable, kind.Of(open(late, n.bob())), "others hold much")
	require.NoError(t, open(t.Context(), n.ann()), "what is small waits for nobody")
	for range maxLargeDesks {
		<-n.largeDesks
	}

	for i := range 9 {
		mustPut(t, n, n.bob(), fmt.Sprintf(".beans/memories/%d.md", i), large)
	}
	err := open(t.Context(), n.bob())
	require.Equal(t, kind.BadInput, kind.Of(err), "%v", err)
	described, err := n.Tools(t.Context(), n.bob())
	require.NoError(t, err, "to describe tools, nothing is laid out")
	require.NotEmpty(t, described)
	_, _, err = n.Call(t.Context(), n.bob(), "memory_read", []byte(`{"path": "a.md"}`))
	require.Equal(t, kind.BadInput, kind.Of(err), "%v", err)
	mustPut(t, n, n.bob(), "a.md", "is written all the same")
	_, err = n.Delete(t.Context(), n.bob(), ".beans/memories/8.md", service.Condition{})
	require.NoError(t, err)
	require.NoError(t, open(t.Context(), n.bob()))

	mustPut(t, n, n.ann(), "BEANS.md", "@import large.md\n@import a.md")
	mustPut(t, n, n.ann(), "large.md", large)
	err = open(t.Context(), n.bob())
	require.Equal(t, kind.BadInput, kind.Of(err), "what is imported counts: %v", err)
	_, err = n.Put(t.Context(), n.bob(), "a.md", "instructs", service.Condition{})
	require.Equal(t, kind.Forbidden, kind.Of(err), "%v", err)
}

// A sparse file of an archive may be larger than all memory.
func TestSparseArchive(t *testing.T) {
	n := newTestNode(t, nil)
	k, err := n.keys().Create(t.Context(), n.ann(), service.Key{User: "ann", Right: service.Write})
	require.NoError(t, err)
	server := service.New(service.Options{Keys: n.keys(), Tenants: n.Tenants(), Node: n, Logger: n.o.Logger})
	send := func(body []byte) *recorded {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/tenants/acme/import", bytes.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+k.Secret)
		w := &recorded{header: http.Header{}, status: http.StatusOK}
		server.ServeHTTP(w, r)
		return w
	}
	archive := func(h *tar.Header, content string) []byte {
		var b bytes.Buffer
		out := tar.NewWriter(&b)
		require.NoError(t, out.WriteHeader(h))
		_, err := out.Write([]byte(content))
		require.NoError(t, err)
		require.NoError(t, out.Close())
		return b.Bytes()
	}
	require.Equal(t, http.StatusOK, send(archive(&tar.Header{Name: "./a.md", Mode: 0o600, Size: 1}, "A")).status)
	for _, body := range [][]byte{sparseArchive(t, 1<<40), archive(&tar.Header{Name: "x.md", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, ""), archive(&tar.Header{Name: "../x.md", Size: 1}, "x"),
		archive(&tar.Header{Name: "/x.md", Size: 1}, "x"), archive(&tar.Header{Name: "BEANS.md", Size: 1}, "x"), archive(&tar.Header{Name: "x.md", Size: 1}, "\xff"), []byte("no archive at all"), nil, make([]byte, 1024)} {
		w := send(body)
		require.GreaterOrEqual(t, w.status, 400, "%s", w.body.String())
		require.Less(t, w.status, 500, "%s", w.body.String())
	}
}

type recorded struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorded) Header() http.Header         { return r.header }
func (r *recorded) Write(p []byte) (int, error) { return r.body.Write(p) }
func (r *recorded) WriteHeader(status int)      { r.status = status }

// sparseArchive returns an archive of old GNU format with one file that is a hole of some bytes.
func sparseArchive(t *testing.T, size int64) []byte {
	t.Helper()
	header := make([]byte, 512)
	copy(header, "a.md")
	copy(header[100:], "0000600\x00")
	copy(header[108:], "0000000\x000000000\x00")
	copy(header[124:], "00000000000\x00") // bytes that follow
	copy(header[136:], "00000000000\x00") // time
	header[156] = tar.TypeGNUSparse
	copy(header[257:], "ustar  \x00")
	copy(header[386:], fmt.Sprintf("%011o\x00%011o\x00", min(size, 0o77777777777), 0)) // one part, at the end and empty
	copy(header[483:], fmt.Sprintf("%011o\x00", min(size, 0o77777777777)))
	sum := 8 * int(' ')
	for i, b := range header {
		if i < 148 || i >= 156 {
			sum += int(b)
		}
	}
	copy(header[148:], fmt.Sprintf("%06o\x00 ", sum))
	all := append(header, make([]byte, 1024)...)
	h, err := tar.NewReader(bytes.NewReader(all)).Next()
	require.NoError(t, err)
	require.Greater(t, h.Size, int64(1<<30))
	return all
}

// What a client sends as a key or its ID may have any bytes. Nobody is to think that the database fails.
func TestOddKeys(t *testing.T) {
	n := newTestNode(t, nil)
	for _, id := range []string{"\xff", "a\x00b", "", "a b", strings.Repeat("a", 1<<20)} {
		_, err := n.keys().Authenticate(t.Context(), "acme", "mck_"+id+"_secret")
		require.ErrorIs(t, err, service.ErrKey, "%.10q", id)
		err = n.keys().Revoke(t.Context(), n.ann(), id)
		require.Equal(t, kind.NotFound, kind.Of(err), "%.10q: %v", id, err)
	}
	for _, model := range []string{"a\x00b", "\xff", "a\nb"} {
		_, err := n.Tenants().Set(t.Context(), "acme", func(s *service.Settings) error {
			s.Embedder, s.Model = config.EmbedderOllama, model
			return nil
		})
		require.Equal(t, kind.BadInput, kind.Of(err), "%q: %v", model, err)
	}
}

// What an earlier release has cut otherwise is cut again, in the background: words find it, and its
// version and history are as they were.
func TestRecut(t *testing.T) {
	n := newTestNode(t, nil)
	versions := map[string]int64{}
	for path, text := range map[string]string{"a.md": "# Ferry\n\nThe ferry leaves from pier nine.\n", "~/.beans/memories/x.md": "The locker is number four.\n", "b.json": "{}"} {
		versions[path] = mustPut(t, n, n.ann(), path, text)
	}
	owner, err := pgx.Connect(t.Context(), n.database.owner)
	require.NoError(t, err)
	defer owner.Close(context.Background())
	_, err = owner.Exec(t.Context(), `update memcore.document set cut = 'earlier', xid = default where path <> 'b.json'; delete from memcore.record`)
	require.NoError(t, err)
	found := func(query string) (hits []core.MemoryHit) {
		require.NoError(t, n.Ask(t.Context(), n.ann(), func(s *app.Service) error {
			result, err := s.Search(t.Context(), httpapi.SearchRequest{Query: query})
			hits = result.Hits
			return err
		}))
		return hits
	}
	require.Empty(t, found("ferry pier"))
	require.NoError(t, n.recut(t.Context()))
	require.Len(t, found("ferry pier"), 1)
	require.Len(t, found("locker number"), 1)
	for path, version := range versions {
		d, err := n.Get(t.Context(), n.ann(), path)
		require.NoError(t, err)
		require.Equal(t, version, d.Version, path)
	}
	history, err := n.History(t.Context(), n.ann(), "", service.Page{Limit: 10})
	require.NoError(t, err)
	require.Len(t, history.Documents, len(versions))
	cuts, err := n.o.DB.Cuts(t.Context())
	require.NoError(t, err)
	require.Len(t, cuts, 1, "nothing is left")
}
