package history

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// made is a repository of the installed git, whose commits are a day apart.
type made struct {
	t     *testing.T
	root  string
	clock *time.Time
}

func newRepository(t *testing.T, args ...string) made {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here: what package history reads is not compared with what git says")
	}
	began := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	r := made{t, filepath.Join(t.TempDir(), "root"), &began}
	require.NoError(t, os.Mkdir(r.root, 0o755))
	r.git(append([]string{"init", "-q", "-b", "main"}, args...)...)
	return r
}

func (r made) git(args ...string) string {
	r.t.Helper()
	command := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false", "-c", "protocol.file.allow=always"}, args...)...)
	command.Dir = r.root
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "GIT_") {
			command.Env = append(command.Env, variable)
		}
	}
	command.Env = append(command.Env, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_COMMITTER_DATE="+r.clock.Format(time.RFC3339))
	out, err := command.CombinedOutput()
	require.NoError(r.t, err, "git %v: %s", args, out)
	return strings.TrimSpace(string(out))
}

func (r made) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.root, filepath.FromSlash(name))
	require.NoError(r.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(r.t, os.WriteFile(path, []byte(text), 0o644))
}

func (r made) commit(args ...string) {
	r.t.Helper()
	r.git("add", "-A")
	r.git(append([]string{"commit", "-q", "--allow-empty", "-m", "."}, args...)...)
	*r.clock = r.clock.Add(24 * time.Hour)
}

// clone clones the repository, as of now.
func (r made) clone(args ...string) made {
	r.t.Helper()
	to := made{r.t, filepath.Join(r.t.TempDir(), "clone"), r.clock}
	r.git(append(append([]string{"clone", "-q"}, args...), "file://"+filepath.ToSlash(r.root), to.root)...)
	return to
}

func (r made) file(name string) File {
	r.t.Helper()
	info, err := os.Stat(filepath.Join(r.root, filepath.FromSlash(name)))
	require.NoError(r.t, err)
	return File{name, info.Size(), info.ModTime()}
}

// contents returns the hashes of the files of a commit, by name.
func (r made) contents(commit string) map[string]string {
	r.t.Helper()
	all := map[string]string{}
	for line := range strings.Lines(r.git("ls-tree", "-r", commit)) {
		values, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		all[name] = strings.Fields(values)[2]
	}
	return all
}

// dates returns the days of files, "" if they have none.
func (r made) dates(names ...string) (days []string) {
	r.t.Helper()
	var files []File
	for _, name := range names {
		files = append(files, r.file(name))
	}
	found, err := LastChanged(r.t.Context(), r.root, files)
	require.NoError(r.t, err)
	for _, name := range names {
		day := ""
		if at, ok := found[name]; ok {
			day = at.UTC().Format(time.DateOnly)
		}
		days = append(days, day)
	}
	return days
}

func TestLastChanged(t *testing.T) {
	r := newRepository(t)
	require.Empty(t, r.dates(), "before the first commit")
	r.write("a.md", "one")
	r.write("notes/deep/b.md", "one")
	r.commit()
	r.write("notes/c.md", "one")
	r.commit()
	r.write("a.md", "two")
	r.commit()
	r.write("other.txt", "x")
	r.commit()
	all := []string{"a.md", "notes/deep/b.md", "notes/c.md"}
	want := []string{"2026-09-03", "2026-09-01", "2026-09-02"}
	require.Equal(t, want, r.dates(all...))

	t.Run("packed", func(t *testing.T) {
		packed := r.clone()
		packed.git("gc", "-q")
		require.Equal(t, want, packed.dates(all...))
	})
	t.Run("of another working directory", func(t *testing.T) {
		linked := made{t, filepath.Join(t.TempDir(), "linked"), r.clock}
		r.git("worktree", "add", "-q", linked.root)
		require.Equal(t, want, linked.dates(all...))
	})
	t.Run("detached", func(t *testing.T) {
		detached := r.clone()
		detached.git("checkout", "-q", "HEAD~2")
		require.Equal(t, []string{"2026-09-03"}, r.dates("a.md"))
		require.Equal(t, []string{"2026-09-01", "2026-09-02"}, detached.dates("notes/deep/b.md", "notes/c.md"))
	})
	t.Run("a shallow clone", func(t *testing.T) {
		shallow := r.clone("--depth", "2") // the third commit has no parent there
		require.Equal(t, []string{"", "", "2026-09-04"}, append(shallow.dates(all[:2]...), shallow.dates("other.txt")...))
	})
	t.Run("without old contents", func(t *testing.T) {
		r.git("config", "uploadpack.allowFilter", "true")
		require.Equal(t, want, r.clone("--filter=blob:none").dates(all...))
	})
	t.Run("without folders", func(t *testing.T) {
		partial := r.clone("--filter=tree:0")
		found, err := LastChanged(t.Context(), partial.root, []File{partial.file("a.md")})
		require.ErrorContains(t, err, "history of "+partial.root, "nothing is fetched")
		require.Empty(t, found)
	})
	t.Run("a submodule", func(t *testing.T) {
		around := newRepository(t)
		around.git("submodule", "add", "-q", "file://"+filepath.ToSlash(r.root), "sub")
		sub := made{t, filepath.Join(around.root, "sub"), r.clock}
		require.Equal(t, want, sub.dates(all...))
	})
	t.Run("not as it was committed", func(t *testing.T) {
		changed := r.clone()
		changed.write("a.md", "three")
		changed.write("notes/c.md", "staged")
		changed.git("add", "notes/c.md")
		changed.write("new.md", "new")
		require.Equal(t, []string{"", "2026-09-01", "", ""}, changed.dates(append(all, "new.md")...))
	})
	t.Run("no time", func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		stop()
		found, err := LastChanged(ctx, r.root, []File{r.file("a.md")})
		require.NoError(t, err)
		require.Empty(t, found)
	})
	t.Run("no repository", func(t *testing.T) {
		found, err := LastChanged(t.Context(), t.TempDir(), []File{{Name: "a.md"}})
		require.NoError(t, err)
		require.Empty(t, found)
	})
	t.Run("damaged", func(t *testing.T) {
		damaged := r.clone()
		packs, err := filepath.Glob(filepath.Join(damaged.root, ".git", "objects", "pack", "*.pack"))
		require.NoError(t, err)
		require.Len(t, packs, 1)
		data, err := os.ReadFile(packs[0])
		require.NoError(t, err)
		require.NoError(t, os.Chmod(packs[0], 0o644))
		for i := 12; i < len(data)-20; i += 7 {
			data[i] ^= 0x55
		}
		require.NoError(t, os.WriteFile(packs[0], data, 0o644))
		_, err = LastChanged(t.Context(), damaged.root, []File{damaged.file("a.md")})
		require.ErrorContains(t, err, "history of "+damaged.root)
	})
}

// Whatever the history, a date is that of the newest commit that has the file as it is, whose
// parents have not.
func TestLastChangedInAnyHistory(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			r := newRepository(t, "--object-format="+format)
			random := rand.New(rand.NewPCG(1, 2))
			names := []string{"a.md", "b.md", "a/a.md", "a/b.md", "a-b/c.md", "d/e/f.md", "d/e.md"}
			change := func() {
				for range 1 + random.IntN(3) {
					r.write(names[random.IntN(len(names))], strings.Repeat(fmt.Sprintln("line", random.IntN(4)), 1+random.IntN(3)))
				}
				r.commit()
			}
			for range 25 {
				change()
				switch random.IntN(4) {
				case 0:
					r.git("checkout", "-q", "-B", "side", fmt.Sprintf("HEAD~%d", random.IntN(2)))
					for range 1 + random.IntN(2) {
						change()
					}
					r.git("checkout", "-q", "main")
					change()
					r.git("merge", "-q", "-m", ".", "-X", []string{"ours", "theirs"}[random.IntN(2)], "side")
					*r.clock = r.clock.Add(24 * time.Hour)
				case 1:
					r.git("repack", "-q", "-d")
				}
			}
			known := map[string]map[string]string{}
			contents := func(commit string) map[string]string {
				if known[commit] == nil {
					known[commit] = r.contents(commit)
				}
				return known[commit]
			}
			now := contents("HEAD")
			var files []File
			want := map[string]string{}
			for name := range now {
				files = append(files, r.file(name))
			}
			for _, line := range strings.Split(r.git("log", "--format=%H %ct %P", "HEAD"), "\n") {
				fields := strings.Fields(line)
				for name, hash := range now {
					given := contents(fields[0])[name] == hash
					for _, parent := range fields[2:] {
						given = given && contents(parent)[name] != hash
					}
					if given && want[name] == "" {
						want[name] = fields[1]
					}
				}
			}
			require.NotEmpty(t, files)
			found, err := LastChanged(t.Context(), r.root, files)
			require.NoError(t, err)
			got := map[string]string{}
			for name, at := range found {
				got[name] = strconv.FormatInt(at.Unix(), 10)
			}
			require.Equal(t, want, got)
		})
	}
}

// git keeps any number as a date.
func TestLastChangedAtAnOddDate(t *testing.T) {
	for _, test := range []struct{ at, want string }{
		{"1788264000", "2026-09-01"},
		{"86400", "1970-01-02"},
		{"7258118399", "2199-12-31"},
		{"0", ""},
		{"-5", ""},
		{"7258118400", ""},
		{"999999999999", ""},
		{"99999999999999999999", ""},
		{"soon", ""},
	} {
		t.Run(test.at, func(t *testing.T) {
			r := newRepository(t)
			r.write("a.md", "one")
			r.commit()
			r.write("b.md", "one")
			r.commit()
			text := r.git("cat-file", "commit", "HEAD")
			text = regexp.MustCompile("(?m)^committer .*").ReplaceAllLiteralString(text, "committer a <a@b> "+test.at+" +0000")
			path := filepath.Join(t.TempDir(), "commit")
			require.NoError(t, os.WriteFile(path, []byte(text+"\n"), 0o644))
			r.git("update-ref", "HEAD", r.git("hash-object", "-t", "commit", "-w", "--literally", path))
			require.Equal(t, []string{"2026-09-01", test.want}, r.dates("a.md", "b.md"))
		})
	}
}

// What a repository configures is not run, and what it borrows is not read.
func TestHostileRepository(t *testing.T) {
	r := newRepository(t)
	r.write("a.md", "one")
	r.commit()
	signed := strings.Replace(r.git("cat-file", "commit", "HEAD"), "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n -----END PGP SIGNATURE-----\n\n", 1)
	path := filepath.Join(t.TempDir(), "commit")
	require.NoError(t, os.WriteFile(path, []byte(signed+"\n"), 0o644))
	r.git("update-ref", "HEAD", r.git("hash-object", "-t", "commit", "-w", path))
	ran := filepath.Join(t.TempDir(), "ran")
	script := filepath.Join(t.TempDir(), "script")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\ntouch "+ran+"\n"), 0o755))
	for _, key := range []string{"gpg.program", "core.pager", "core.fsmonitor", "diff.external"} {
		r.git("config", key, script)
	}
	r.git("config", "log.showSignature", "true")
	require.Equal(t, []string{"2026-09-01"}, r.dates("a.md"))
	require.NoFileExists(t, ran)

	r.write(".git/objects/info/alternates", t.TempDir()+"\n")
	require.Equal(t, []string{""}, r.dates("a.md"))
}

func TestNoGit(t *testing.T) {
	r := newRepository(t)
	r.write("a.md", "one")
	r.commit()
	t.Setenv("PATH", t.TempDir())
	require.Equal(t, []string{""}, r.dates("a.md"))
}
