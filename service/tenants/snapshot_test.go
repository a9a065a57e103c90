package tenants

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/service"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/flat"
	"github.com/memcore/memcore/store/keyword"
)

var testEngine = store.Engine{
	Name: "flat",
	Vectors: func(ctx context.Context, dir string, dim int) (store.VectorIndex, error) {
		return flat.Open(ctx, dir, dim)
	},
	Keywords: func(ctx context.Context, dir string) (store.KeywordIndex, error) { return keyword.Open(ctx, dir) },
}

// A snapshot is an index of the same documents in another folder, and reads none of them again.
func TestSnapshotOfAnIndex(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "data")
	here, there := t.TempDir(), t.TempDir()
	at := time.Now().Add(-time.Hour).Truncate(time.Microsecond)
	for _, folder := range []string{here, there} {
		file := filepath.Join(folder, "a.md")
		require.NoError(t, os.WriteFile(file, []byte("# Tea\n\nThe tea is green.\n"), 0o600))
		require.NoError(t, os.Chtimes(file, at, at))
	}
	open := func(index, documents string) *core.Manager {
		m, err := core.Open(t.Context(), core.Options{Folder: index, Engine: testEngine,
			Sources: []source.Source{source.NewFolder(source.FolderOptions{Path: documents, Workspace: documents, Dated: true})}})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, m.Close()) })
		return m
	}
	m := open(from, here)
	for _, text := range []string{"# Tea\n\nThe tea is black.\n", "# Tea\n\nThe tea is green.\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(here, "a.md"), []byte(text), 0o600))
		require.NoError(t, os.Chtimes(filepath.Join(here, "a.md"), at, at.Add(-time.Duration(len(text)))))
		_, err := m.Index(t.Context(), core.IndexOptions{Rebuild: true})
		require.NoError(t, err)
	}
	require.NoError(t, os.Chtimes(filepath.Join(here, "a.md"), at, at))
	_, err := m.Index(t.Context(), core.IndexOptions{Rebuild: true})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(from, "LOCK"), nil, 0o600))
	data, err := pack(from, here)
	require.NoError(t, err)
	require.NoError(t, unpack(data, to, there))
	require.NoFileExists(t, filepath.Join(to, "LOCK"))
	require.NoFileExists(t, filepath.Join(to, documentsName))
	for folder, generations := range map[string]int{from: 2, to: 1} {
		found, err := filepath.Glob(filepath.Join(folder, "[0-9]*"))
		require.NoError(t, err)
		require.Len(t, found, generations)
	}

	copied := open(to, there)
	report, err := copied.Index(t.Context(), core.IndexOptions{})
	require.NoError(t, err)
	require.Equal(t, 1, report.Unchanged)
	found, err := copied.RetrieveRelevant(t.Context(), "which colour has the tea?", core.RetrieveOptions{MinSimilarity: -1})
	require.NoError(t, err)
	require.Len(t, found.Hits, 1)
	found, err = copied.RetrieveRelevant(t.Context(), "which colour has the tea?", core.RetrieveOptions{MinSimilarity: -1, Has: []string{filepath.Join(there, "a.md")}})
	require.NoError(t, err)
	require.Empty(t, found.Hits, "it knows where its documents are")

	require.Error(t, unpack(data[:len(data)/2], filepath.Join(t.TempDir(), "data"), there), "cut off")
}

// A node that does not have a tenant begins with what another one has left in the storage, and then
// has all that was written since.
func TestColdTenant(t *testing.T) {
	n, log := newTestNode(t, nil)
	made, err := n.o.Registry.CreateTenant(t.Context(), "test", "acme")
	require.NoError(t, err)
	ann := service.Principal{Tenant: "acme", TenantID: made.ID, User: "ann", Key: "k", Right: service.Write}
	var all []service.Document
	for i := range fewestChunks {
		all = append(all, service.Document{Path: fmt.Sprintf("d%d/%d.md", i%7, i), Text: fmt.Sprintf("# Parcel %d\n\nThe code of the parcel Q%d is %s.\n", i, i, word())})
	}
	_, err = n.PutAll(t.Context(), ann, all)
	require.NoError(t, err)
	mustPut(t, n, ann, "gone.md", "# Parcel\n\nThe code of the parcel Qgone is lost.\n")
	here := openMemory(t, n, ann)
	for _, name := range []string{copyName, snapshotName(ownerOf(ann))} {
		require.Eventually(t, func() bool {
			_, err := n.o.Objects.Get(t.Context(), objectsOf(made.ID)+"/"+name)
			return err == nil
		}, 20*time.Second, 20*time.Millisecond, name)
	}
	_, err = n.Delete(t.Context(), ann, "gone.md", service.Condition{})
	require.NoError(t, err)
	mustPut(t, n, ann, "d1/1.md", "# Parcel 1\n\nThe code of the parcel Q1 is changed.\n")
	mustPut(t, n, ann, "new.md", "# Parcel new\n\nThe code of the parcel Qnew is added.\n")

	o := n.o
	o.Dir, o.Registry = t.TempDir(), NewRegistry(o.Objects, testFreshness)
	cold, err := NewNode(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cold.Close()) })
	asked := log(made.ID).asked
	_, err = cold.Fresh(t.Context(), ann, 0)
	require.NoError(t, err)
	there := openMemory(t, cold, ann)
	require.Equal(t, asked, log(made.ID).asked, "the log was not read from its beginning")
	for question, want := range map[string]string{"What is the code of the parcel Q1?": "changed", "What is the code of the parcel Qnew?": "added"} {
		for _, m := range []*memory{here, there} {
			require.Eventually(t, func() bool {
				found, err := m.Manager.RetrieveRelevant(t.Context(), question, core.RetrieveOptions{})
				require.NoError(t, err)
				return len(found.Hits) > 0 && strings.Contains(found.Hits[0].Text, want)
			}, 20*time.Second, 20*time.Millisecond, question)
		}
	}
	listed, err := cold.List(t.Context(), ann)
	require.NoError(t, err)
	require.Len(t, listed.Documents, fewestChunks+1)
	require.Empty(t, textOf(t, cold, ann, "gone.md"))
	require.Equal(t, textOf(t, n, ann, "d2/2.md"), textOf(t, cold, ann, "d2/2.md"))

	_, err = n.o.Registry.RemoveTenant(t.Context(), "test", "acme")
	require.NoError(t, err)
	_, err = Delete(t.Context(), n.o.Open, n.o.Objects, made.ID)
	require.NoError(t, err)
	require.NoError(t, n.keep(t.Context(), made.ID, copyName, []byte("late")))
	for range n.o.Objects.List(t.Context(), objectsOf(made.ID)) {
		t.Error("a node leaves an object of a removed tenant")
	}
}

func TestOldSnapshotsAreRemoved(t *testing.T) {
	all := newMemoryObjects()
	for _, name := range []string{"tenants/a/indexes/ann.tar", "tenants/a/indexes/ann+1.tar", "tenants/a/documents.copy", "tenants/b/indexes/ann.tar"} {
		require.NoError(t, all.Put(t.Context(), name, []byte("x")))
		if !strings.HasSuffix(name, "a/indexes/ann.tar") {
			all.changed[name] = time.Now().Add(-2 * snapshotLife)
		}
	}
	require.NoError(t, removeOldSnapshots(t.Context(), all, "a"))
	require.Equal(t, []string{"tenants/a/documents.copy", "tenants/a/indexes/ann.tar", "tenants/b/indexes/ann.tar"}, slices.Sorted(maps.Keys(all.all)))
}

func openMemory(t *testing.T, n *Node, p service.Principal) *memory {
	t.Helper()
	folder, err := n.Folder(t.Context(), p)
	require.NoError(t, err)
	w, err := n.openFolder(t.Context(), folder)
	require.NoError(t, err)
	m, ok := w.(*memory)
	require.True(t, ok)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	return m
}

// A copy that is damaged, of another format or ahead of its log costs time only.
func TestCopiesThatAreNotUsed(t *testing.T) {
	log := &memoryLog{}
	m := openTestMirror(t, log, t.TempDir())
	for i := range 5 {
		m.mustSet(t, fmt.Sprintf("shared/%d.md", i), "x")
	}
	var good []byte
	require.Eventually(t, func() bool {
		data, ok := copiesOfLogs.Load(log)
		good, _ = data.([]byte)
		return ok
	}, 5*time.Second, time.Millisecond)
	m.work.Wait()
	newer, err := copied{Format: copyFormat + 1}.encode()
	require.NoError(t, err)
	for name, data := range map[string][]byte{"cut off": good[:len(good)/2], "changed": append([]byte("x"), good[1:]...), "newer": newer, "empty": nil} {
		copiesOfLogs.Store(log, data)
		asked := log.asked
		another := openTestMirror(t, log, t.TempDir())
		another.isSound(t, log)
		require.Greater(t, log.asked, asked, name)
		another.work.Wait() // it has made a copy
	}
	copiesOfLogs.Store(log, good)
	require.NoError(t, log.Drop(t.Context()))
	again := openTestMirror(t, log, t.TempDir())
	require.Empty(t, again.files(t))
}
