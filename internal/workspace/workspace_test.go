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
	_, err := Change(t.Context(), file, func(s *Sources) error { s.Conversations = true; return oops })
	require.ErrorIs(t, err, oops)
	got, err := Load(file)
	require.NoError(t, err)
	require.False(t, got.Conversations)
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
