package privilege

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/lab/torture/harness"
)

// made checks who can access new files, and that old files are unchanged.
func (w *world) made(before map[string]fs.FileInfo) (looked int, wrong []string) {
	w.t.Helper()
	require.NoError(w.t, filepath.WalkDir(w.dir, func(path string, entry fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil // a lock or a socket that has gone
		}
		require.NoError(w.t, err)
		info, err := entry.Info()
		if os.IsNotExist(err) {
			return nil
		}
		require.NoError(w.t, err)
		name, _ := filepath.Rel(w.dir, path)
		if was, ok := before[path]; ok {
			if a, b := was.Sys().(*syscall.Stat_t), info.Sys().(*syscall.Stat_t); was.Mode() != info.Mode() || a.Uid != b.Uid || a.Gid != b.Gid {
				wrong = append(wrong, fmt.Sprintf("%s was %v of %d:%d, is %v of %d:%d", name, was.Mode(), a.Uid, a.Gid, info.Mode(), b.Uid, b.Gid))
			}
			return nil
		}
		looked++
		most := fs.FileMode(0o600)
		// Shared files have their folder's permissions, but only their owner can write them.
		shared := strings.HasPrefix(name, "project/") && !strings.HasSuffix(name, ".local.md") && !strings.HasPrefix(filepath.Base(name), "report") &&
			!strings.HasPrefix(filepath.Base(name), "model") && !strings.HasPrefix(filepath.Base(name), "baseline") && !strings.HasPrefix(filepath.Base(name), "compared") && !strings.HasPrefix(filepath.Base(name), "cases")
		if shared {
			most = 0o644
		}
		if info.IsDir() {
			most |= (most & 0o444) >> 2
		}
		if info.Mode().Perm()&^most != 0 {
			wrong = append(wrong, fmt.Sprintf("%s is %v, want %v at most", name, info.Mode(), most))
		}
		return nil
	}))
	return looked, wrong
}

// there returns the files of a world.
func (w *world) there() map[string]fs.FileInfo {
	all := map[string]fs.FileInfo{}
	require.NoError(w.t, filepath.WalkDir(w.dir, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(w.t, err)
		info, err := entry.Info()
		all[path] = info
		return err
	}))
	return all
}

// Under any umask, other users never have access to memcore's files. Existing files keep owner and
// mode.
func TestEveryFileIsPrivate(t *testing.T) {
	for _, umask := range []string{"000", "022", "077"}[:harness.Times(1, 3)] {
		t.Run(umask, func(t *testing.T) {
			w := newWorld(t)
			w.umask = umask
			w.write("home/.claude/settings.json", "{\n  \"model\": \"opus\"\n}\n")
			w.write("home/.bashrc", "\n")
			w.write("project/run.json", "")
			require.NoError(t, os.Chmod(filepath.Join(w.project, "BEANS.md"), 0o664))
			if os.Geteuid() == 0 { // another user's files
				require.NoError(t, os.Chown(filepath.Join(w.project, "BEANS.md"), 12345, 23456))
			}
			before := w.there()
			looked := 0
			w.session(newUpstream(t).URL, func(string, string, string) {
				n, wrong := w.made(before)
				looked += n
				require.Empty(t, wrong)
			})
			n, wrong := w.made(before)
			require.Empty(t, wrong)
			require.Greater(t, n, 40, "so few files were made that the session cannot have worked")
			for _, made := range []string{"home/.cache/memcore/run/daemon.log", "home/.beans/BEANS.md", "project/BEANS.local.md", "home/.ai/sessions", "home/.cache/memcore/embeddings", "home/.local/state/memcore/journal/journal.json", "project/data/memory/facts/user.md"} {
				_, err := os.Lstat(filepath.Join(w.dir, made))
				require.NoError(t, err)
			}
			left, err := os.ReadDir(filepath.Join(w.dir, "tmp"))
			require.NoError(t, err)
			require.Empty(t, left, "nothing is left in the folder for temporary files")
			t.Logf("files under umask %s: %d files and folders: none open to others, none of the user's changed", umask, looked+n)
		})
	}
}

// An existing folder of indexes is closed, with a note, if it was open. doctor reports it and
// changes nothing. Another user's folder is refused.
func TestFoldersThatAreThere(t *testing.T) {
	w := newWorld(t)
	cache, state := filepath.Join(w.home, ".cache", "memcore"), filepath.Join(w.home, ".local", "state", "memcore")
	w.do("", "index", ".")
	for _, dir := range []string{cache, state} {
		require.NoError(t, os.Chmod(dir, 0o777))
		w.loosely(func() {
			require.Contains(t, w.do("", "doctor"), dir+" is open to other users of this machine (0777)")
		})
		info, err := os.Stat(dir)
		require.NoError(t, err)
		require.EqualValues(t, 0o777, info.Mode().Perm())
		require.Contains(t, w.do("", "search", "staging"), dir+" was open to other users of this machine (0777); now it is yours only")
		info, err = os.Stat(dir)
		require.NoError(t, err)
		require.EqualValues(t, 0o700, info.Mode().Perm())
	}

	// A folder named by the user stays as it is, except for memcore's files.
	named := filepath.Join(w.dir, "named")
	require.NoError(t, os.Mkdir(named, 0o777))
	require.NoError(t, os.Chmod(named, 0o777))
	w.do("", "--index-dir", named, "index")
	require.NoError(t, os.Chmod(filepath.Join(named, "index"), 0o755))
	require.Contains(t, w.do("", "--index-dir", named, "status"), "now it is yours only")
	info, err := os.Stat(named)
	require.NoError(t, err)
	require.EqualValues(t, 0o777, info.Mode().Perm())
	if os.Geteuid() != 0 {
		t.Skip("only the system's owner can give a folder away")
	}
	require.NoError(t, os.Chown(filepath.Join(named, "index"), 12345, 12345))
	require.NoError(t, os.Chown(cache, 12345, 12345))
	w.loosely(func() {
		for _, args := range [][]string{{"search", "staging"}, {"index"}, {"--index-dir", named, "search", "staging"}} {
			out := w.do("", args...)
			require.Contains(t, out, "belongs to another user of this machine", "%v", args)
			require.NotContains(t, out, "5433")
		}
		require.Contains(t, w.do("", "doctor"), "belongs to another user of this machine")
	})
	require.Empty(t, w.do("which port does the staging database use?", "hook", "text"), "a hook is silent")
}
