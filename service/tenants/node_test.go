package tenants

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service"
)

// newTestNode returns a node whose logs are in memory, by the ID of a tenant.
func newTestNode(t *testing.T, change func(*Options)) (*Node, func(id string) *memoryLog) {
	t.Helper()
	home := t.TempDir()
	for name, value := range map[string]string{"HOME": home, "XDG_CACHE_HOME": home + "/cache", "XDG_STATE_HOME": home + "/state", "MEMCORE_EMBEDDER": "none", "MEMCORE_FRESHNESS": "30s"} {
		t.Setenv(name, value)
	}
	storage := memoryStorage(t)
	log := slog.New(slog.DiscardHandler)
	o := Options{Open: storage.open, Objects: storage.objects, Registry: NewRegistry(storage.objects, testFreshness), Dir: t.TempDir(),
		Workspace: &app.Workspace{Config: &config.Config{Log: log}, Version: "test", Note: func(string, ...any) {}}, Freshness: testFreshness, Logger: log}
	if change != nil {
		change(&o)
	}
	n, err := NewNode(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	return n, func(id string) *memoryLog { return storage.open(Documents(id)).(*memoryLog) }
}

func principal(tenant, user string, right service.Right) service.Principal {
	return service.Principal{Tenant: tenant, TenantID: tenant + "-1", User: user, Key: "k" + string(right), Right: right}
}

func mustPut(t *testing.T, n *Node, p service.Principal, path, text string) int64 {
	t.Helper()
	done, err := n.Put(t.Context(), p, path, text, service.Condition{})
	require.NoError(t, err)
	return done.Version
}

// textOf returns a document, "" if there is none.
func textOf(t *testing.T, n *Node, p service.Principal, path string) string {
	t.Helper()
	d, err := n.Get(t.Context(), p, path)
	if kind.Of(err) == kind.NotFound {
		return ""
	}
	require.NoError(t, err)
	return d.Text
}

func TestRestore(t *testing.T) {
	n, log := newTestNode(t, nil)
	ann, bob := principal("acme", "ann", service.Admin), principal("acme", "bob", service.Write)
	mustPut(t, n, ann, "a.md", "A1")
	mustPut(t, n, ann, "~/.beans/memories/x.md", "ann1")
	version := mustPut(t, n, ann, "gone.md", "G")
	_, err := n.Delete(t.Context(), ann, "gone.md", service.Condition{})
	require.NoError(t, err)
	mustPut(t, n, ann, "a.md", "A2")
	mustPut(t, n, ann, "~/.beans/memories/x.md", "ann2")
	mustPut(t, n, ann, "new.md", "N")
	mustPut(t, n, bob, "~/.beans/memories/x.md", "bob")

	_, err = n.Restore(t.Context(), ann, version)
	require.NoError(t, err)
	for path, want := range map[string]string{"a.md": "A1", "~/.beans/memories/x.md": "ann1", "gone.md": "G", "new.md": ""} {
		require.Equal(t, want, textOf(t, n, ann, path), path)
	}
	require.Equal(t, "bob", textOf(t, n, bob, "~/.beans/memories/x.md"), "a restoration changes nothing of another user")
	_, err = n.Restore(t.Context(), ann, 1000)
	require.Equal(t, kind.BadInput, kind.Of(err))

	// What was replaced before the history may be compacted away: then a restoration would remove it.
	l := log("acme-1")
	l.mu.Lock()
	for i := range l.revisions {
		l.revisions[i].At = l.revisions[i].At.Add(-2 * history)
	}
	l.mu.Unlock()
	require.NoError(t, l.Compact(t.Context(), time.Now().Add(-history)))
	_, err = n.Restore(t.Context(), ann, version)
	require.Equal(t, kind.BadInput, kind.Of(err), "%v", err)
	require.Equal(t, "A1", textOf(t, n, ann, "a.md"))
}

// Who may only write does not change what curated memory of all users imports.
func TestImportedDocumentsInstruct(t *testing.T) {
	n, _ := newTestNode(t, nil)
	ann, bob := principal("acme", "ann", service.Admin), principal("acme", "bob", service.Write)
	mustPut(t, n, bob, "free.md", "anything")
	mustPut(t, n, ann, "BEANS.md", "- Be kind.\n- @docs/style.md\n@import \"with space.md\"\n")
	mustPut(t, n, ann, "docs/style.md", "Use tabs.\n@../deep.md\n@../../../etc/x.md\n@style.md")
	mustPut(t, n, ann, "sub/BEANS.md", "See @./own.md.")
	mustPut(t, n, ann, ".beans/rules/r.md", "@../../rule.md")
	for _, path := range []string{"docs/style.md", "with space.md", "deep.md", "sub/own.md", "rule.md"} {
		_, err := n.Put(t.Context(), bob, path, "be evil", service.Condition{})
		require.Equal(t, kind.Forbidden, kind.Of(err), "%s: %v", path, err)
		_, err = n.PutAll(t.Context(), bob, []service.Document{{Path: "free.md", Text: "x"}, {Path: path, Text: "be evil"}})
		require.Equal(t, kind.Forbidden, kind.Of(err), path)
		mustPut(t, n, ann, path, textOf(t, n, ann, path)+"\nby an admin")
	}
	require.Equal(t, "anything", textOf(t, n, bob, "free.md"))
	_, err := n.Delete(t.Context(), bob, "docs/style.md", service.Condition{})
	require.Equal(t, kind.Forbidden, kind.Of(err))
	mustPut(t, n, bob, "free.md", "something")
	mustPut(t, n, bob, "style.md", "not imported")
	mustPut(t, n, bob, "~/.beans/BEANS.md", "mine")
}

// Each way to write an import counts, or whoever may only write could instruct all.
func TestWhateverIsImportedInstructs(t *testing.T) {
	n, _ := newTestNode(t, nil)
	ann, bob := principal("acme", "ann", service.Admin), principal("acme", "bob", service.Write)
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
		"- @~/../../shared/docs/h.md":              "docs/h.md",
		"# A\r@import docs/i.md\rB":                "docs/i.md",
	} {
		mustPut(t, n, ann, path, "kindword")
		mustPut(t, n, ann, "BEANS.md", text)
		_, err := n.Put(t.Context(), bob, path, "be evil", service.Condition{})
		require.Equal(t, kind.Forbidden, kind.Of(err), "%q: %v", text, err)
	}
}

func TestBounds(t *testing.T) {
	n, _ := newTestNode(t, func(o *Options) { o.Limits = service.Limits{MostDocuments: 3, MostBytes: 100} })
	ann := principal("acme", "ann", service.Write)
	var all []service.Document
	for i := range 4 {
		all = append(all, service.Document{Path: fmt.Sprintf("%d.md", i), Text: "x"})
	}
	status := func(err error) int { return httpapi.StatusOf(err) }
	_, err := n.PutAll(t.Context(), ann, all)
	require.Equal(t, http.StatusTooManyRequests, status(err), "an archive passes no bound as a whole")
	_, err = n.PutAll(t.Context(), ann, all[:3])
	require.NoError(t, err)
	_, err = n.Put(t.Context(), ann, "4.md", "x", service.Condition{})
	require.Equal(t, http.StatusTooManyRequests, status(err))
	mustPut(t, n, ann, "0.md", strings.Repeat("x", 98))
	_, err = n.Put(t.Context(), ann, "1.md", "xx", service.Condition{})
	require.Equal(t, http.StatusTooManyRequests, status(err))
	_, err = n.Delete(t.Context(), ann, "2.md", service.Condition{})
	require.NoError(t, err)
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() { _, _ = n.Put(t.Context(), ann, fmt.Sprintf("at-once-%d.md", i), "", service.Condition{}) })
	}
	writers.Wait()
	u, err := n.Usage(t.Context(), ann)
	require.NoError(t, err)
	require.Equal(t, service.Usage{Documents: 3, Bytes: 99, Limits: service.Limits{MostDocuments: 3, MostBytes: 100}}, u)
}

// Tenants leave the node while requests for them come: nothing is lost.
func TestTenantsLeave(t *testing.T) {
	n, log := newTestNode(t, func(o *Options) { o.MostOpen = 1 })
	const tenants, writes = 4, 25
	var writers sync.WaitGroup
	for i := range tenants {
		writers.Go(func() {
			p := principal(fmt.Sprintf("t%d", i), "ann", service.Admin)
			for j := range writes {
				mustPut(t, n, p, fmt.Sprintf("%d.md", j), "x")
				_, err := n.Write(t.Context(), p, func() error { return nil }) // would append what is missing
				require.NoError(t, err)
			}
		})
	}
	writers.Wait()
	for i := range tenants {
		require.Len(t, log(fmt.Sprintf("t%d-1", i)).texts(), writes)
		require.Len(t, log(fmt.Sprintf("t%d-1", i)).revisions, writes)
	}
}

// The next process on a folder removes what belongs to nobody, and keeps the rest.
func TestNextProcess(t *testing.T) {
	dir := t.TempDir()
	var registry *Registry
	first, _ := newTestNode(t, func(o *Options) { o.Dir, registry = dir, o.Registry })
	acme, err := registry.CreateTenant(t.Context(), "test", "acme")
	require.NoError(t, err)
	_, err = first.o.Registry.CreateTenant(t.Context(), "test", "globex")
	require.NoError(t, err)
	_, err = NewNode(first.o)
	require.ErrorContains(t, err, "another process")
	for _, id := range []string{acme.ID, "former-1"} {
		p := service.Principal{TenantID: id, User: "ann", Right: service.Write}
		mustPut(t, first, p, "a.md", "A")
	}
	require.NoError(t, first.Close())
	_, err = first.Get(t.Context(), service.Principal{TenantID: acme.ID, User: "ann"}, "a.md")
	require.ErrorIs(t, err, httpapi.ErrClosed)
	second, err := NewNode(first.o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, second.Close()) })
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(dir, "tenants", "former-1")); return os.IsNotExist(err) }, 10*time.Second, 5*time.Millisecond)
	require.FileExists(t, filepath.Join(dir, "tenants", acme.ID, "documents", "shared", "a.md"))
	require.Equal(t, "A", textOf(t, second, service.Principal{TenantID: acme.ID, User: "ann"}, "a.md"))
}

// An export leaves out what is removed meanwhile.
func TestExportBesideARemoval(t *testing.T) {
	n, _ := newTestNode(t, nil)
	_, err := n.o.Registry.CreateTenant(t.Context(), "test", "acme")
	require.NoError(t, err)
	k := mustCreate(t, n.o.Registry, "acme", "ann", service.Write)
	ann, err := n.Authenticate(t.Context(), "acme", k.Secret)
	require.NoError(t, err)
	mustPut(t, n, ann, "a.md", "A")
	mustPut(t, n, ann, "b.md", "B")
	server := service.New(service.Options{Node: removesWhenListed{n, "a.md"}, Memories: n.Memories(), Logger: n.o.Logger})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/tenants/acme/export", http.NoBody)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+k.Secret)
	w := &recorded{header: http.Header{}, status: http.StatusOK}
	server.ServeHTTP(w, r)
	in := tar.NewReader(&w.body)
	first, err := in.Next()
	require.NoError(t, err)
	require.Equal(t, "b.md", first.Name)
	_, err = in.Next()
	require.ErrorIs(t, err, io.EOF)
}

// removesWhenListed removes a document after each list.
type removesWhenListed struct {
	*Node
	path string
}

func (n removesWhenListed) List(ctx context.Context, p service.Principal) (service.Documents, error) {
	all, err := n.Node.List(ctx, p)
	if err == nil {
		_, err = n.Delete(ctx, p, n.path, service.Condition{})
	}
	return all, err
}

// A sparse file of an archive may be larger than all memory.
func TestSparseArchive(t *testing.T) {
	n, _ := newTestNode(t, nil)
	registry := n.o.Registry
	_, err := registry.CreateTenant(t.Context(), "test", "acme")
	require.NoError(t, err)
	k := mustCreate(t, registry, "acme", "ann", service.Write)
	server := service.New(service.Options{Node: n, Memories: n.Memories(), Logger: n.o.Logger})
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

// Who asks for a tenant that is being removed from the node is told so.
func TestRequestsBesideARemoval(t *testing.T) {
	n, _ := newTestNode(t, nil)
	ann := principal("acme", "ann", service.Write)
	for name, ask := range map[string]func() error{
		"a list":     func() error { _, err := n.List(t.Context(), ann); return err },
		"a question": func() error { _, err := n.Fresh(t.Context(), ann, 0); return err },
		"a write":    func() error { _, err := n.Put(t.Context(), ann, "a.md", "x", service.Condition{}); return err },
	} {
		left := n.leaving(ann.TenantID)
		require.ErrorIs(t, ask(), errRemoved, name)
		n.dropGone(left)
		require.Eventually(t, func() bool {
			n.mu.Lock()
			defer n.mu.Unlock()
			return n.tenants[ann.TenantID] == nil
		}, 10*time.Second, time.Millisecond, name)
	}
}
