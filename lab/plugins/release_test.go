package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The same release gives the same bytes.
func TestSameBytes(t *testing.T) {
	release := makeRelease(t, nil)
	require.Equal(t, tree(t, made(t, release)), tree(t, made(t, release)))
}

// tree returns the files of a folder.
func tree(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(folder, path)
		all[name] = string(data)
		return err
	}))
	require.NotEmpty(t, all)
	return all
}

// What is wrong with a release is named, and nothing is made.
func TestBadRelease(t *testing.T) {
	archive := "memcore-" + testVersion + "-linux-amd64.tar.gz"
	for _, tt := range []struct {
		name, want string
		spoil      func(t *testing.T, folder string)
	}{
		{"another archive than summed", archive + ": its SHA-256 is", func(t *testing.T, folder string) {
			require.NoError(t, os.WriteFile(filepath.Join(folder, archive), []byte("other"), 0o644))
		}},
		{"a missing archive", archive + ": open", func(t *testing.T, folder string) {
			require.NoError(t, os.Remove(filepath.Join(folder, archive)))
		}},
		{"no sums", "the sums of the release", func(t *testing.T, folder string) {
			require.NoError(t, os.Remove(filepath.Join(folder, sumsFile)))
		}},
		{"no archives", "names no archive", func(t *testing.T, folder string) {
			require.NoError(t, os.WriteFile(filepath.Join(folder, sumsFile), nil, 0o644))
		}},
		{"two versions", `"1.2.3" and "1.2.4", want one`, func(t *testing.T, folder string) {
			sums := filepath.Join(folder, sumsFile)
			text, err := os.ReadFile(sums)
			require.NoError(t, err)
			text = append(text, "00  memcore-1.2.4-linux-amd64.tar.gz\n"...)
			require.NoError(t, os.WriteFile(sums, text, 0o644))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			release, out := makeRelease(t, nil), filepath.Join(t.TempDir(), "out")
			tt.spoil(t, release)
			require.ErrorContains(t, options{release: release, out: out}.run(), tt.want)
			require.NoDirExists(t, out)
		})
	}
}

// Versions of git become those of package managers.
func TestVersions(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3":           "1.2.3",
		"1.2.3":            "1.2.3",
		"v1.2.3+dirty":     "1.2.3",
		"v1.2.3-4-gabcdef": "1.2.3-4-gabcdef",
		"abcdef0-dirty":    "0.0.0-gabcdef0-dirty",
	} {
		r := release{version: version}
		require.Equal(t, []string{want, "v" + want}, []string{r.semver(), r.tag()}, version)
	}
}

// Archives without a version in their names have that of the program. Those with LanceDB are passed over.
func TestProgramVersion(t *testing.T) {
	folder := t.TempDir()
	archive := archived(t, file{"memcore", programOf(t, "v1.2.3"), 0o755})
	require.NoError(t, write(folder, file{"memcore-linux-amd64.tar.gz", archive, 0o644},
		file{sumsFile, fmt.Appendf(nil, "%x  memcore-lancedb-linux-amd64.tar.gz\n%[1]x  memcore-linux-amd64.tar.gz\n", sha256.Sum256(archive)), 0o644}))
	r, err := readRelease(folder)
	require.NoError(t, err)
	require.Equal(t, "v1.2.3", r.version)
	require.Len(t, r.archives, 1)
	require.Empty(t, r.archives[0].folder)
}

// programOf builds a program of a version.
func programOf(t *testing.T, version string) []byte {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, write(folder, file{"go.mod", []byte("module example.org/x\n"), 0o644},
		file{"main.go", []byte("package main\n\nfunc main() {}\n"), 0o644}))
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.org"}, args...)...)
		cmd.Dir = folder
		output, err := cmd.CombinedOutput()
		require.NoError(t, err, string(output))
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "x")
	git("tag", version)
	cmd := exec.Command("go", "build", "-buildvcs=true", "-o", "x", ".")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, string(output))
	data, err := os.ReadFile(filepath.Join(folder, "x"))
	require.NoError(t, err)
	return data
}
