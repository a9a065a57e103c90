package gitindex

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// made is a repository of the installed git.
type made struct {
	t    *testing.T
	root string
}

func newRepository(t *testing.T, args ...string) made {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here")
	}
	r := made{t, filepath.Join(t.TempDir(), "root")}
	require.NoError(t, os.Mkdir(r.root, 0o755))
	r.git(append([]string{"init", "-q"}, args...)...)
	return r
}

func (r made) git(args ...string) {
	r.t.Helper()
	command := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"}, args...)...)
	command.Dir = r.root
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	for i, variable := range command.Env {
		if name, _, _ := strings.Cut(variable, "="); name == "GIT_DIR" || name == "GIT_INDEX_FILE" || name == "GIT_WORK_TREE" {
			command.Env[i] = "_="
		}
	}
	out, err := command.CombinedOutput()
	require.NoError(r.t, err, "git %v: %s", args, out)
}

func (r made) write(names ...string) {
	r.t.Helper()
	for _, name := range names {
		path := filepath.Join(r.root, filepath.FromSlash(name))
		require.NoError(r.t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(r.t, os.WriteFile(path, []byte(name), 0o644))
	}
}

func (r made) version() uint32 {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(r.root, ".git", "index"))
	require.NoError(r.t, err)
	return binary.BigEndian.Uint32(data[4:])
}

func tracks(t *testing.T, root, name string) bool {
	t.Helper()
	held, err := Holds(root, name)
	require.NoError(t, err, name)
	return held
}

func TestHolds(t *testing.T) {
	long := strings.Repeat("long/", 30) + strings.Repeat("n", 200) + ".md"
	longer := strings.TrimSuffix(strings.Repeat(strings.Repeat("d", 200)+"/", 16), "/") + "/" + strings.Repeat("n", 200) + "/" + strings.Repeat("n", 200) + "/" + strings.Repeat("n", 200) + "/" + strings.Repeat("n", 200) + "/" + strings.Repeat("n", 200) // more than the length in the flags can say
	names := []string{"BEANS.local.md", "a", "ab", "abc", "abcd", "abcde", "abcdef", "abcdefg", "sub/BEANS.local.md", "sub/x/y.md", "渡轮.md", long}
	for _, tt := range []struct {
		name    string
		init    []string
		do      func(r made)
		version uint32
	}{
		{"version 2", nil, func(made) {}, 2},
		{"version 3", nil, func(r made) { r.write("later.md"); r.git("add", "-N", "later.md") }, 3},
		{"version 4", nil, func(r made) { r.git("update-index", "--index-version", "4") }, 4},
		{"version 4, extended", nil, func(r made) {
			r.write("later.md")
			r.git("add", "-N", "later.md")
			r.git("update-index", "--index-version", "4")
		}, 4},
		{"SHA-256", []string{"--object-format=sha256"}, func(made) {}, 2},
		{"SHA-256, version 4", []string{"--object-format=sha256"}, func(r made) { r.git("update-index", "--index-version", "4") }, 4},
		{"with extensions", nil, func(r made) {
			r.git("commit", "-qm", "all")
			r.git("update-index", "--force-untracked-cache")
			r.git("status")
		}, 2},
		{"no checksum", nil, func(r made) { r.git("-c", "index.skipHash=true", "update-index", "--force-write-index") }, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRepository(t, tt.init...)
			r.write(names...)
			r.git("add", "-A")
			r.git("-c", "core.longpaths=true", "update-index", "--add", "--cacheinfo", "100644,"+strings.TrimSpace(r.output("hash-object", "-w", "a"))+","+longer)
			tt.do(r)
			require.Equal(t, tt.version, r.version())
			for _, name := range append(names, longer) {
				require.True(t, tracks(t, r.root, name), name)
			}
			if strings.Contains(tt.name, "extended") || tt.version == 3 {
				require.True(t, tracks(t, r.root, "later.md"), "what is to be added later is committed by commit -a")
			}
			for _, name := range []string{"", "b", "abcdefgh", "sub", "sub/", "local.md", "sub/x", "x/BEANS.local.md"} {
				require.False(t, tracks(t, r.root, name), name)
			}
			r.git("rm", "-q", "--cached", "BEANS.local.md")
			require.False(t, tracks(t, r.root, "BEANS.local.md"), "that was the way out")
			require.True(t, tracks(t, r.root, "sub/BEANS.local.md"))
		})
	}
}

func (r made) output(args ...string) string {
	r.t.Helper()
	command := exec.Command("git", args...)
	command.Dir = r.root
	out, err := command.Output()
	require.NoError(r.t, err)
	return string(out)
}

// In worktrees and submodules, .git is a file that names the git folder.
func TestHoldsInWorktrees(t *testing.T) {
	r := newRepository(t)
	r.write("a.md")
	r.git("add", "-A")
	r.git("commit", "-qm", "a")
	r.git("worktree", "add", "-q", "../other")
	other := made{t, filepath.Join(filepath.Dir(r.root), "other")}
	other.write("b.md")
	other.git("add", "b.md")
	require.True(t, tracks(t, other.root, "a.md"))
	require.True(t, tracks(t, other.root, "b.md"))
	require.False(t, tracks(t, r.root, "b.md"))

	module := filepath.Join(t.TempDir(), "module")
	require.NoError(t, os.Mkdir(module, 0o755))
	relative, err := filepath.Rel(module, filepath.Join(r.root, ".git"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(module, ".git"), []byte("gitdir: "+filepath.ToSlash(relative)+"\n"), 0o644))
	require.True(t, tracks(t, module, "a.md"))
}

func TestSparseIndex(t *testing.T) {
	r := newRepository(t)
	r.write("in/a.md", "out/b.md", "out/deep/c.md", "d.md")
	r.git("add", "-A")
	r.git("commit", "-qm", "a")
	r.git("sparse-checkout", "set", "--cone", "--sparse-index", "in")
	require.True(t, tracks(t, r.root, "in/a.md"))
	require.True(t, tracks(t, r.root, "d.md"))
	require.False(t, tracks(t, r.root, "outside.md"))
	_, err := Holds(r.root, "out/new.md")
	require.ErrorContains(t, err, `the folder "out/" as a whole`)
}

func TestSplitIndex(t *testing.T) {
	r := newRepository(t)
	r.write("a.md")
	r.git("add", "a.md")
	r.git("update-index", "--split-index")
	_, err := Holds(r.root, "a.md")
	require.ErrorContains(t, err, "half of it is in another file")
	r.git("update-index", "--no-split-index")
	require.True(t, tracks(t, r.root, "a.md"))
	require.False(t, tracks(t, r.root, "c.md"))
}

func TestNoIndex(t *testing.T) {
	root := t.TempDir()
	git := filepath.Join(root, ".git")
	require.False(t, tracks(t, root, "a"), "no repository")
	for _, text := range []string{"", "gitdir: ", "gitdir: elsewhere\n", "something else"} {
		require.NoError(t, os.WriteFile(git, []byte(text), 0o644))
		require.False(t, tracks(t, root, "a"), text)
	}
	require.NoError(t, os.Remove(git))
	require.NoError(t, os.Mkdir(git, 0o755))
	require.False(t, tracks(t, root, "a"), "nothing was added yet")
}

// byHand returns an index of version 2 with these names.
func byHand(version uint32, names ...string) []byte {
	all := []byte("DIRC")
	all = binary.BigEndian.AppendUint32(all, version)
	all = binary.BigEndian.AppendUint32(all, uint32(len(names)))
	previous := ""
	for _, name := range names {
		start := len(all)
		all = append(all, make([]byte, 24)...)                      // times, device, inode
		all = binary.BigEndian.AppendUint32(all, 0o100644)          // mode
		all = append(all, make([]byte, 12)...)                      // user, group, size
		all = append(all, bytes.Repeat([]byte{7}, 20)...)           // SHA-1
		all = binary.BigEndian.AppendUint16(all, uint16(len(name))) // flags
		if version == 4 {
			common := 0
			for common < min(len(name), len(previous)) && name[common] == previous[common] {
				common++
			}
			all = append(append(append(all, byte(len(previous)-common)), name[common:]...), 0)
			previous = name
			continue
		}
		all = append(append(all, name...), 0)
		for (len(all)-start)%8 != 0 {
			all = append(all, 0)
		}
	}
	return append(all, make([]byte, 20)...)
}

func TestByHand(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, ".git"), 0o755))
	put := func(data []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(root, ".git", "index"), data, 0o644))
	}
	for _, version := range []uint32{2, 4} {
		whole := byHand(version, "BEANS.local.md", "BEANS.md", "a/b")
		put(whole)
		for _, name := range []string{"BEANS.local.md", "BEANS.md", "a/b"} {
			require.True(t, tracks(t, root, name))
		}
		require.False(t, tracks(t, root, "BEANS"))
		require.Equal(t, runtime.GOOS == "windows" || runtime.GOOS == "darwin", tracks(t, root, "beans.local.MD"), "as the file system takes names")
		for n := range len(whole) {
			put(whole[:n])
			_, err := Holds(root, "a/b")
			require.ErrorIs(t, err, errDamaged, "the first %d bytes", n)
			require.ErrorContains(t, err, "'git status'")
		}
	}
	for name, data := range map[string][]byte{
		"another file":             []byte("hello, this is a text of some length"),
		"version 1":                byHand(1),
		"version 5":                byHand(5),
		"more entries than bytes":  append(append([]byte("DIRC\x00\x00\x00\x02"), 0xff, 0xff, 0xff, 0xff), make([]byte, 200)...),
		"extension without an end": append(byHand(2, "a"), "TREE\xff\xff\xff\xff                            "...),
		"extension that matters":   append(append(byHand(2, "a")[:len(byHand(2, "a"))-20], "what\x00\x00\x00\x00"...), make([]byte, 20)...),
	} {
		put(data)
		_, err := Holds(root, "b")
		require.ErrorIs(t, err, errDamaged, name)
	}
	require.NoError(t, os.Remove(filepath.Join(root, ".git", "index")))
	require.NoError(t, os.Mkdir(filepath.Join(root, ".git", "index"), 0o755))
	_, err := Holds(root, "a")
	require.Error(t, err, "a folder is no index")
}

// Reading does not panic, takes no more memory than the index has bytes, and finds every name.
func FuzzHolds(f *testing.F) {
	f.Add(byHand(2, "BEANS.local.md", "a"), "a")
	f.Add(byHand(4, "BEANS.local.md", "BEANS.md"), "BEANS.md")
	f.Add(append(byHand(2)[:12], "link\x00\x00\x00\x24\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x00\x00\x00\x40\x00\x00\x00\x01\x00\x00\x00\x02"...), "x")
	f.Add([]byte("DIRC\x00\x00\x00\x03"), "\x00")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		_, _ = holds(data, name)
		if name == "" || strings.Contains(name, "\x00") || len(name) > 200 {
			return
		}
		for _, version := range []uint32{2, 4} {
			made := byHand(version, name[:len(name)/2]+"+", name, name+"+")
			held, err := holds(made, name)
			require.NoError(t, err)
			require.True(t, held, "%q", name)
		}
	})
}
