package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/app/config"
)

var update = flag.Bool("update", false, "write the generated parts of docs/")

func docFile(name string) string { return filepath.Join("..", "..", "docs", name) }

// checkDoc compares the part of a document between start and end ("" for its end) with the code.
func checkDoc(t *testing.T, name, start, end, want string) {
	t.Helper()
	data, err := os.ReadFile(docFile(name))
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(data), start)
	require.True(t, ok, "docs/%s has no %q", name, start)
	got, after := rest, ""
	if end != "" {
		i := strings.Index(rest, end)
		require.GreaterOrEqual(t, i, 0, "docs/%s has no %q", name, end)
		got, after = rest[:i], rest[i:]
	}
	if got == want {
		return
	}
	if *update {
		require.NoError(t, os.WriteFile(docFile(name), []byte(before+start+want+after), 0o644))
		return
	}
	t.Errorf("docs/%s is behind the code (go test ./cmd/memcore -run Doc -update); it has\n%s\nwant\n%s", name, got, want)
}

func TestDocOfSettings(t *testing.T) {
	var b strings.Builder
	of := map[config.Owner][]string{}
	for _, s := range config.Known {
		fallback := "empty"
		if s.Fallback != "" {
			fallback = "`" + s.Fallback + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", s.Key, fallback, s.About)
		of[s.Of] = append(of[s.Of], "`"+s.Key+"`")
	}
	fmt.Fprintf(&b, "\nA workspace's file may set %s, and once you [trust](curated-memory.md#trust) the workspace %s.\n",
		strings.Join(of[config.AnyProject], ", "), strings.Join(of[config.TrustedProject], ", "))
	checkDoc(t, "config.md", "| key | default | meaning |\n|---|---|---|\n", "\nAll others", b.String())
}

// TestDocOfPromises: promises name tests that exist.
func TestDocOfPromises(t *testing.T) {
	data, err := os.ReadFile(docFile("dev/promises.md"))
	require.NoError(t, err)
	exists := tests(t)
	rows := 0
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 2 || strings.HasPrefix(line, "| promise") || strings.HasPrefix(line, "| **") {
			continue
		}
		names := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1)
		require.NotEmpty(t, names, "%s has no test", cells[0])
		for _, name := range names {
			require.True(t, exists[name[1]], "%s: there is no %s", cells[0], name[1])
		}
		rows++
	}
	require.GreaterOrEqual(t, rows, 100)
}

// TestDocOfSeeds: items are numbered without gaps, and name tests that exist.
func TestDocOfSeeds(t *testing.T) {
	data, err := os.ReadFile(docFile("dev/seeds.md"))
	require.NoError(t, err)
	exists := tests(t)
	sections := strings.Split(string(data), "\n## 00")
	require.Len(t, sections, 6)
	for i, least := range []int{31, 26, 18, 18, 15} {
		table, _, _ := strings.Cut(sections[i+1], "\n## ")
		last := 0
		for _, row := range regexp.MustCompile(`(?m)^\| (\d+) \|.* \| (.*) \|$`).FindAllStringSubmatch(table, -1) {
			last++
			require.Equal(t, strconv.Itoa(last), row[1], "00%d", i)
			names := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[2], -1)
			require.NotEmpty(t, names, "00%d.%d has no test", i, last)
			for _, name := range names {
				require.True(t, exists[name[1]], "00%d.%d: there is no %s", i, last, name[1])
			}
		}
		require.GreaterOrEqual(t, last, least, "00%d", i)
	}
}

// tests are the names of all tests, fuzz targets, scripts, and files in .ci.
func tests(t *testing.T) map[string]bool {
	t.Helper()
	exists := map[string]bool{}
	require.NoError(t, filepath.WalkDir(filepath.Join("..", ".."), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if strings.HasSuffix(path, ".txtar") {
			exists[entry.Name()] = true
		}
		if filepath.Base(filepath.Dir(path)) == ".ci" {
			exists[".ci/"+entry.Name()] = true
		}
		if strings.HasSuffix(path, "_test.go") {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`).FindAllStringSubmatch(string(data), -1) {
				exists[m[1]] = true
			}
		}
		return nil
	}))
	return exists
}
