package trust

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func newStore(t *testing.T, folders ...string) *Store {
	t.Helper()
	s := Open(filepath.Join(t.TempDir(), "beans", "trust.json"), folders...)
	s.shared = nil // test folders are in such a place themselves
	return s
}

func mkdir(t *testing.T, elements ...string) string {
	t.Helper()
	dir := filepath.Join(elements...)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	return dir
}

func trusted(t *testing.T, s *Store, folder string) bool {
	t.Helper()
	root, err := s.Covering(folder)
	require.NoError(t, err)
	return root != ""
}

func TestDecisions(t *testing.T) {
	base, ctx := t.TempDir(), t.Context()
	s := newStore(t)
	work, inner, deep := mkdir(t, base, "work"), mkdir(t, base, "work", "a"), mkdir(t, base, "work", "a", "b")
	sibling := mkdir(t, base, "work-2")

	require.False(t, trusted(t, s, work), "no decision is no trust")
	_, err := s.Set(ctx, work, true)
	require.NoError(t, err)
	require.True(t, trusted(t, s, work))
	require.True(t, trusted(t, s, deep), "folders below inherit")
	require.True(t, trusted(t, s, filepath.Join(deep, "not", "there")))
	require.False(t, trusted(t, s, sibling), "a name that begins alike is another folder")
	require.False(t, trusted(t, s, base))

	_, err = s.Set(ctx, inner, false)
	require.NoError(t, err)
	require.False(t, trusted(t, s, deep), "the nearest decision counts")
	require.True(t, trusted(t, s, work))

	all, err := Open(s.file).All()
	require.NoError(t, err)
	require.Len(t, all, 2, "another process sees them")

	had, err := s.Remove(ctx, inner)
	require.NoError(t, err)
	require.True(t, had)
	require.True(t, trusted(t, s, deep))
	had, err = s.Remove(ctx, inner)
	require.NoError(t, err)
	require.False(t, had)

	_, err = s.Set(ctx, filepath.Join(base, "absent"), true)
	require.ErrorIs(t, err, os.ErrNotExist)
	file := filepath.Join(base, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	_, err = s.Set(ctx, file, true)
	require.ErrorContains(t, err, "is not a folder")
	if runtime.GOOS != "windows" {
		_, err = s.Set(ctx, "/", true)
		require.ErrorIs(t, err, ErrRoot)
	}
}

func TestConfiguredFolders(t *testing.T) {
	base := t.TempDir()
	a, b := mkdir(t, base, "a"), mkdir(t, base, "b")
	s := newStore(t, a)
	require.True(t, trusted(t, s, filepath.Join(a, "x")))
	require.False(t, trusted(t, s, b))
	_, err := s.Set(t.Context(), a, false)
	require.NoError(t, err)
	require.False(t, trusted(t, s, a), "what a person decided counts more")
}

func TestLinks(t *testing.T) {
	base := t.TempDir()
	s := newStore(t)
	good, bad := mkdir(t, base, "good"), mkdir(t, base, "bad")
	if err := os.Symlink(bad, filepath.Join(good, "link")); err != nil {
		t.Skip("links cannot be made here")
	}
	require.NoError(t, os.Symlink(good, filepath.Join(base, "alias")))
	_, err := s.Set(t.Context(), filepath.Join(base, "alias"), true)
	require.NoError(t, err)
	require.True(t, trusted(t, s, good), "a decision by a link is one about its target")
	require.False(t, trusted(t, s, filepath.Join(good, "link")), "a link does not lend trust to its target")
	require.False(t, trusted(t, s, filepath.Join(good, "link", "new")))
}

// Invalid UTF-8 becomes U+FFFD in JSON, so the decision would be about another, perhaps a
// stranger's, folder.
func TestPathsThatAreNotText(t *testing.T) {
	base := t.TempDir()
	odd, alike := filepath.Join(base, "caf\xe9"), filepath.Join(base, "caf\ufffd")
	if err := os.Mkdir(odd, 0o755); err != nil {
		t.Skipf("this system has no such names: %v", err)
	}
	if _, err := os.Stat(alike); err == nil {
		t.Skip("this system replaces what is not text in names")
	}
	mkdir(t, alike)
	s := newStore(t, odd)
	for _, folder := range []string{odd, alike} {
		for _, yes := range []bool{true, false} {
			_, err := s.Set(t.Context(), folder, yes)
			require.ErrorIs(t, err, errNotText)
		}
	}
	require.NoFileExists(t, s.file, "nothing is decided")
	require.True(t, trusted(t, s, odd), "configuration keeps names as they are")
	require.False(t, trusted(t, s, alike))
	s.configured = nil

	_, err := s.Set(t.Context(), base, true)
	require.NoError(t, err)
	require.True(t, trusted(t, s, odd), "a folder above can be decided about")
	for _, decision := range []string{"true", "false"} {
		for _, name := range []string{"caf\xe9", "caf\ufffd", `caf\ufffd`} {
			text := fmt.Sprintf(`{"folders":{%q:{"trusted":false},"%s/%s":{"trusted":%s}}}`, base, filepath.ToSlash(base), name, decision)
			require.NoError(t, os.WriteFile(s.file, []byte(text), 0o600))
			s = Open(s.file)
			s.shared = nil
			require.False(t, trusted(t, s, odd), text)
			require.False(t, trusted(t, s, alike), text)
		}
	}
	require.NoError(t, os.WriteFile(s.file, []byte(fmt.Sprintf(`{"folders":{%q:{"trusted":true},%q:{"trusted":false}}}`, base, alike)), 0o600))
	s = Open(s.file)
	s.shared = nil
	require.False(t, trusted(t, s, alike), "distrust is believed")
}

// Seed 000: /tmp and /var need trust of their own.
func TestPlacesThatAnybodyWritesTo(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no such places")
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	shared := mkdir(t, base, "shared")
	mine := mkdir(t, shared, "mine")
	s := newStore(t)
	s.shared = []string{shared}
	for _, folder := range []string{base, shared} {
		_, err := s.Set(t.Context(), folder, true)
		require.NoError(t, err)
		require.True(t, trusted(t, s, folder))
		require.False(t, trusted(t, s, mine), "after %s", folder)
		require.False(t, s.WouldCover(folder, mine))
	}
	_, err = s.Set(t.Context(), mine, true)
	require.NoError(t, err)
	require.True(t, trusted(t, s, filepath.Join(mine, "x")))
	require.True(t, s.WouldCover(mine, filepath.Join(mine, "x")))
	require.False(t, s.WouldCover(filepath.Join(mine, "x"), mine))
	require.Contains(t, Open("x").shared, "/tmp")
}

func TestFilesThatAreNotUsed(t *testing.T) {
	base := mkdir(t, t.TempDir(), "p")
	s := newStore(t, base)
	_, err := s.Set(t.Context(), base, true)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(s.file, []byte("{"), 0o600))
	_, err = s.Covering(base)
	require.ErrorContains(t, err, "no folder is trusted")
	_, err = s.Set(t.Context(), base, true)
	require.Error(t, err, "a broken file is not overwritten")
	if runtime.GOOS != "windows" {
		require.NoError(t, os.WriteFile(s.file, []byte(`{}`), 0o600))
		require.NoError(t, os.Chmod(s.file, 0o666))
		_, err = s.Covering(base)
		require.ErrorIs(t, err, errOthers)
	}
}

func TestSetConcurrently(t *testing.T) {
	base := t.TempDir()
	s := newStore(t)
	var all sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		folder := mkdir(t, base, name)
		all.Go(func() {
			if _, err := Open(s.file).Set(t.Context(), folder, true); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	got, err := s.All()
	require.NoError(t, err)
	require.Len(t, got, 6)
}

// The file may be a link, which stays, into dotfiles.
func TestLinkedFile(t *testing.T) {
	s := newStore(t)
	folder := mkdir(t, t.TempDir(), "work")
	kept := filepath.Join(mkdir(t, t.TempDir(), "dotfiles"), "trust.json")
	require.NoError(t, os.WriteFile(kept, []byte("{}"), 0o600))
	require.NoError(t, os.MkdirAll(filepath.Dir(s.file), 0o700))
	if err := os.Symlink(kept, s.file); err != nil {
		t.Skipf("this system makes no links: %v", err)
	}
	_, err := s.Set(t.Context(), folder, true)
	require.NoError(t, err)
	require.True(t, trusted(t, s, folder))
	to, err := os.Readlink(s.file)
	require.NoError(t, err)
	require.Equal(t, kept, to)
	data, err := os.ReadFile(kept)
	require.NoError(t, err)
	require.Contains(t, string(data), "work")
}
