package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/reflection"
	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/core/tools"
	"github.com/memcore/memcore/core/trust"
	"github.com/memcore/memcore/core/use"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/inject/setup"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/app/doctor"
	"github.com/memcore/memcore/store"
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
	for _, s := range config.Known {
		fallback, shared := "empty", map[config.Owner]string{config.Personal: "no", config.TrustedProject: "if trusted", config.AnyProject: "yes"}[s.Of]
		if s.Fallback != "" {
			fallback = "`" + s.Fallback + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.Key, fallback, shared, s.About)
	}
	checkDoc(t, "config.md", "| key | default | in the workspace's file | meaning |\n|---|---|---|---|\n", "\nThe environment variable", b.String())
}

var documentedKey = regexp.MustCompile("`([a-zA-Z0-9]+)`")

// TestDocOfJSON: each key of the printed types has a row in its table of docs/json.md, and each row
// a key.
func TestDocOfJSON(t *testing.T) {
	data, err := os.ReadFile(docFile("json.md"))
	require.NoError(t, err)
	for _, tt := range []struct {
		heading string
		value   any
	}{
		{"## search: core.Result", core.Result{}},
		{"### A hit: core.MemoryHit", core.MemoryHit{}},
		{"### injection: core.Injection", core.Injection{}},
		{"### explain: core.Explanation", core.Explanation{}},
		{"## retrieve", struct {
			Block       string `json:"block"`
			Findings    []any  `json:"findings"`
			Limit       int    `json:"limit"`
			TokenBudget int    `json:"tokenBudget"`
		}{}},
		{"## index: core.IndexReport", core.IndexReport{}},
		{"### What the command adds to index", indexed{}},
		{"## status: core.Status", core.Status{}},
		{"### logs of status: core.LogsStatus", core.LogsStatus{}},
		{"### vectors and keywords: store.Stats", store.Stats{}},
		{"### What the command adds to status", status{}},
		{"## doctor", doctor.Diagnosis{}},
		{"### A check", doctor.Check{}},
		{"### A file: curated.File", curated.File{}},
		{"### head of a file: curated.Head", curated.Head{}},
		{"### A segment: curated.Segment", curated.Segment{}},
		{"### usage: curated.Usage", curated.Usage{}},
		{"### memory stats", memoryStats{}},
		{"### cache: curated.CacheStats", curated.CacheStats{}},
		{"### A decision: trust.Decision", trust.Decision{}},
		{"## save: notes.Saved", notes.Saved{}},
		{"### change of save: notes.Change", notes.Change{}},
		{"## recall: session.RecallResult", session.RecallResult{}},
		{"### results of recall: session.RecallHit", session.RecallHit{}},
		{"## reflect: reflection.Report", reflection.Report{}},
		{"## stats: core.Statistics", core.Statistics{}},
		{"### What the command adds to stats", statistics{}},
		{"### use of stats: use.Summary", use.Summary{}},
		{"### Counts of use: use.Counts", use.Counts{}},
		{"### used of explain --last: use.Hit", use.Hit{}},
		{"## proxy", listening{}},
		{"## tool: tools.Answer", tools.Answer{}},
		{"## init and uninstall-hooks", setupReport{}},
		{"### project of init: setup.Folder", setup.Folder{}},
		{"### agents of init: setup.Agent", setup.Agent{}},
		{"### changes of init: setup.Change", setup.Change{}},
		{"### A model", listedModel{}},
		{"### trust status", trustState{}},
		{"### contents of trust status", app.Contents{}},
	} {
		_, section, ok := strings.Cut(string(data), tt.heading+"\n")
		if !ok {
			t.Errorf("docs/json.md has no section %q", tt.heading)
			continue
		}
		section, _, _ = strings.Cut(section, "\n#")
		if got, want := rowKeys(section), jsonKeys(reflect.TypeOf(tt.value)); !slices.Equal(got, want) {
			t.Errorf("docs/json.md, %q: keys %v, want %v", tt.heading, got, want)
		}
	}
	if got, want := jsonKeys(reflect.TypeFor[httpapi.Retrieved]()), []string{"block", "findings", "limit", "tokenBudget"}; !slices.Equal(got, want) {
		t.Errorf("what retrieve adds to a Result has keys %v, the test knows %v", got, want)
	}
}

// rowKeys are the names in the first column of a table.
func rowKeys(section string) []string {
	var keys []string
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for _, match := range documentedKey.FindAllStringSubmatch(cells[1], -1) {
				keys = append(keys, match[1])
			}
		}
	}
	slices.Sort(keys)
	return keys
}

// jsonKeys are the keys a struct marshals to, without those of embedded structs.
func jsonKeys(of reflect.Type) []string {
	var keys []string
	for field := range of.Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" && !field.Anonymous {
			keys = append(keys, name)
		}
	}
	slices.Sort(keys)
	return keys
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
