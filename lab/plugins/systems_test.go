package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sumOf returns the sum that the release has for an archive.
func sumOf(t *testing.T, release, archive string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(release, sumsFile))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if sum, ok := strings.CutSuffix(strings.TrimSpace(line), "  "+archive); ok {
			return sum
		}
	}
	require.Fail(t, "no sum of "+archive)
	return ""
}

const releaseURL = repository + "/releases/download/v" + testVersion + "/"

// The formula names the archive of each platform with its sum, and is Ruby.
func TestFormula(t *testing.T) {
	ruby := need(t, "ruby")
	release := makeRelease(t, nil)
	formula := filepath.Join(made(t, release), "homebrew", "memcore.rb")
	m := newMachine(t)
	m.run(ruby, "-wc", formula)
	script, err := filepath.Abs(filepath.Join("testdata", "formula.rb"))
	require.NoError(t, err)
	for brew, platform := range map[string]string{
		"macos arm": "darwin-arm64", "macos intel": "darwin-amd64", "linux arm": "linux-arm64", "linux intel": "linux-amd64",
	} {
		os, arch, _ := strings.Cut(brew, " ")
		archive := "memcore-" + testVersion + "-" + platform + ".tar.gz"
		want := releaseURL + archive + "\n" + sumOf(t, release, archive) + "\n"
		require.Equal(t, want, m.run(ruby, script, formula, os, arch, release))
	}
}

// The formula installs memcore from the archive, with completions, and its own test passes.
func TestFormulaInstalls(t *testing.T) {
	ruby := need(t, "ruby")
	memcore, _ := ofProgram(t)
	program, err := os.ReadFile(memcore)
	require.NoError(t, err)
	release := makeRelease(t, program)
	os := map[string]string{"linux": "linux", "darwin": "macos"}[runtime.GOOS]
	arch := map[string]string{"amd64": "intel", "arm64": "arm"}[runtime.GOARCH]
	script, err := filepath.Abs(filepath.Join("testdata", "formula.rb"))
	require.NoError(t, err)
	r, err := readRelease(release)
	require.NoError(t, err)
	r.base = "https://example.org"
	folder := t.TempDir()
	require.NoError(t, writeFormula(r, folder))
	m := newMachine(t)
	output := m.run(ruby, script, filepath.Join(folder, "memcore.rb"), os, arch, release, t.TempDir())
	require.Contains(t, output, "installed")
}

// The manifest of Scoop names both archives of Windows with their sums and the folder in them, and
// how the next version is found.
func TestScoop(t *testing.T) {
	release := makeRelease(t, nil)
	text, err := os.ReadFile(filepath.Join(made(t, release), "scoop", "memcore.json"))
	require.NoError(t, err)
	type download struct {
		URL    string `json:"url"`
		Hash   string `json:"hash"`
		Folder string `json:"extract_dir"`
	}
	var manifest struct {
		Version      string              `json:"version"`
		Architecture map[string]download `json:"architecture"`
		Update       struct {
			Architecture map[string]download `json:"architecture"`
		} `json:"autoupdate"`
	}
	require.NoError(t, json.Unmarshal(text, &manifest))
	require.Equal(t, testVersion, manifest.Version)
	for scoop, arch := range map[string]string{"64bit": "amd64", "arm64": "arm64"} {
		name := "memcore-" + testVersion + "-windows-" + arch
		require.Equal(t, download{releaseURL + name + ".tar.gz", sumOf(t, release, name+".tar.gz"), name}, manifest.Architecture[scoop])
		next := manifest.Update.Architecture[scoop]
		require.Equal(t, manifest.Architecture[scoop].URL, strings.ReplaceAll(next.URL, "$version", testVersion))
		require.NotContains(t, next.URL+next.Folder, testVersion)
	}
}
