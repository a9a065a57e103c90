package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFind(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, dir := range []string{"home/.beans", "home/plain/sub", "home/repo/.git", "home/repo/a/b", "home/notes/.beans", "home/notes/x"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	for _, tt := range []struct{ in, want string }{
		{"home/repo/a/b", "home/repo"},
		{"home/repo", "home/repo"},
		{"home/notes/x", "home/notes"},
		{"home/plain/sub", "home/plain/sub"},
		{"home", "home"},
	} {
		got, err := Find(filepath.Join(root, tt.in), filepath.Join(root, "home"))
		if want := filepath.Join(root, tt.want); err != nil || got != want {
			t.Errorf("Find(%s) = %s, %v, want %s", tt.in, got, err, want)
		}
	}
	if _, err := Find(filepath.Join(root, "absent"), ""); err == nil {
		t.Error("Find of a missing folder: no error")
	}
}

// A stranger's /tmp/.git or /tmp/.beans must not claim folders below /tmp.
func TestStrangersMarkersDoNotCount(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	start := filepath.Join(root, "mine", "shared", "work")
	for _, dir := range []string{filepath.Join(root, "mine", ".git"), start} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	var strange []string
	for _, name := range []string{".git", ".beans"} {
		marker := filepath.Join(root, "mine", "shared", name)
		require.NoError(t, os.Mkdir(marker, 0o755))
		require.NoError(t, os.Chown(marker, 12345, 12345))
		strange = append(strange, marker+", which belongs to user 12345")
	}
	found, passed, err := Look(start, "")
	require.NoError(t, err)
	require.Equal(t, filepath.Join(root, "mine"), found, "the search goes on")
	require.Equal(t, strange, passed)
	require.NoError(t, os.Remove(filepath.Join(root, "mine", ".git")))
	found, err = Find(start, "")
	require.NoError(t, err)
	require.Equal(t, start, found)

	found, err = Find(filepath.Dir(start), "")
	require.NoError(t, err)
	require.Equal(t, filepath.Dir(start), found)
	require.NoError(t, os.Chown(start, 12345, 12345))
	found, err = Find(start, "")
	require.NoError(t, err)
	require.Equal(t, filepath.Dir(start), found, "the folder's owner is no stranger in it: root in a container")
}

func TestIndexNameTellsFoldersApart(t *testing.T) {
	if a, b := IndexName("/a/notes"), IndexName("/b/notes"); a == b || a != IndexName("/a/notes") {
		t.Errorf("IndexName gives %s and %s, want different and stable names", a, b)
	}
}

func TestChangeFromManyAtOnceLosesNothing(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "index", "sources.json")
	var all sync.WaitGroup
	for i := range 16 {
		note := filepath.Join(dir, fmt.Sprintf("%d.md", i))
		require.NoError(t, os.WriteFile(note, nil, 0o600))
		all.Go(func() {
			_, err := Change(t.Context(), file, func(s *Sources) error { return s.Add(note) })
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	got, err := Load(file)
	require.NoError(t, err)
	if len(got.Paths) != 16 {
		t.Errorf("16 paths were added at once, %d are registered", len(got.Paths))
	}
}

func TestChangeThatFailsSavesNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sources.json")
	oops := errors.New("oops")
	_, err := Change(t.Context(), file, func(s *Sources) error { s.Conversations = new(true); return oops })
	require.ErrorIs(t, err, oops)
	got, err := Load(file)
	require.NoError(t, err)
	require.Nil(t, got.Conversations)
}

func TestLoadSaysWhatIsBroken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sources.json")
	require.NoError(t, os.WriteFile(file, []byte("{"), 0o600))
	_, err := Load(file)
	require.ErrorContains(t, err, file)
}

func TestAddAndForget(t *testing.T) {
	dir := t.TempDir()
	var s Sources
	require.NoError(t, s.Add(dir))
	require.NoError(t, s.Add(dir))
	require.Len(t, s.Paths, 1)
	require.Error(t, s.Add(filepath.Join(dir, "absent")))
	require.NoError(t, s.Forget(dir))
	require.Empty(t, s.Paths)
	require.ErrorContains(t, s.Forget(dir), "not registered")
}
