package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/reflection"
	"github.com/memcore/memcore/core/static"
	"github.com/memcore/memcore/core/trust"
	"github.com/memcore/memcore/core/use"
	"github.com/memcore/memcore/inject/setup"
	"github.com/memcore/memcore/store"
)

var update = flag.Bool("update", false, "write the generated parts of docs/")

func docFile(name string) string { return filepath.Join("..", "..", "docs", name) }

// checkDoc compares a part of a document, between what ends with start and what begins with end (or
// the end of the file), with what the code says.
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

func TestDocOfCommand(t *testing.T) {
	var b strings.Builder
	writeHelp(t, &b, newRoot(&app{}))
	if n := strings.Count(b.String(), "### "); n < 10 {
		t.Fatalf("the help has %d commands", n)
	}
	checkDoc(t, "cli.md", "-run Doc -update -->\n", "", b.String())
}

func writeHelp(t *testing.T, b *strings.Builder, cmd *cobra.Command) {
	t.Helper()
	if cmd.Hidden || cmd.Name() == "completion" || cmd.Name() == "help" {
		return
	}
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.InitDefaultHelpFlag()
	require.NoError(t, cmd.Help())
	help, _, _ := strings.Cut(out.String(), "\nGlobal Flags:") // they are told once, by the root
	fmt.Fprintf(b, "\n### %s\n\n```text\n%s\n```\n", cmd.CommandPath(), strings.TrimSpace(help))
	for _, child := range cmd.Commands() {
		writeHelp(t, b, child)
	}
}

func TestDocOfSettings(t *testing.T) {
	var b strings.Builder
	for _, s := range knownSettings {
		fallback, shared := "empty", map[owner]string{personal: "no", trustedProject: "if trusted", anyProject: "yes"}[s.of]
		if s.fallback != "" {
			fallback = "`" + s.fallback + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.key, fallback, shared, s.about)
	}
	checkDoc(t, "config.md", "| key | default | in the workspace's file | meaning |\n|---|---|---|---|\n", "\nThe environment variable", b.String())
}

var documentedKey = regexp.MustCompile("`([a-zA-Z0-9]+)`")

// TestDocOfJSON holds docs/json.md to the types that are printed: every key has a row in the table
// below its heading, and every row a key.
func TestDocOfJSON(t *testing.T) {
	data, err := os.ReadFile(docFile("json.md"))
	require.NoError(t, err)
	for _, tt := range []struct {
		heading string
		value   any
	}{
		{"## search: core.Result", core.Result{}},
		{"### A hit: core.MemoryHit", core.MemoryHit{}},
		{"### suspicion: core.Suspicion", core.Suspicion{}},
		{"### explain: core.Explanation", core.Explanation{}},
		{"## retrieve", struct {
			Block    string `json:"block"`
			Findings []any  `json:"findings"`
		}{}},
		{"## index: core.IndexReport", core.IndexReport{}},
		{"### What the command adds to index", indexed{}},
		{"### shared of index: core.SharedReport", core.SharedReport{}},
		{"## status: core.Status", core.Status{}},
		{"### logs of status: core.LogsStatus", core.LogsStatus{}},
		{"### shared of status: core.SharedStatus", core.SharedStatus{}},
		{"### vectors and keywords: store.Stats", store.Stats{}},
		{"### What the command adds to status", status{}},
		{"## doctor", diagnosis{}},
		{"### A check", check{}},
		{"### A file: static.File", static.File{}},
		{"### head of a file: static.Head", static.Head{}},
		{"### A segment: static.Segment", static.Segment{}},
		{"### usage: static.Usage", static.Usage{}},
		{"### memory stats", memoryStats{}},
		{"### cache: static.CacheStats", static.CacheStats{}},
		{"### A decision: trust.Decision", trust.Decision{}},
		{"## save: notes.Saved", notes.Saved{}},
		{"### change of save: notes.Change", notes.Change{}},
		{"## recall: notes.Recollection", notes.Recollection{}},
		{"### results of recall: notes.Recalled", notes.Recalled{}},
		{"## reflect: reflection.Report", reflection.Report{}},
		{"## stats: core.Statistics", core.Statistics{}},
		{"### What the command adds to stats", statistics{}},
		{"### use of stats: use.Summary", use.Summary{}},
		{"### Counts of use: use.Counts", use.Counts{}},
		{"### used of explain --last: use.Hit", use.Hit{}},
		{"## proxy", listening{}},
		{"## tool: notes.Answer", notes.Answer{}},
		{"## init and uninstall-hooks", setupReport{}},
		{"### project of init: setup.Folder", setup.Folder{}},
		{"### agents of init: setup.Agent", setup.Agent{}},
		{"### changes of init: setup.Change", setup.Change{}},
		{"### trust status", trustState{}},
		{"### contents of trust status", contents{}},
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
	if got, want := jsonKeys(reflect.TypeFor[retrieved]()), []string{"block", "findings"}; !slices.Equal(got, want) {
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

// TestDocOfRequirements: every requirement in the tables of what shows it names a test that exists.
func TestDocOfRequirements(t *testing.T) {
	for file, least := range map[string]int{"static-memory.md": 50, "notes.md": 10, "proxy.md": 15, "daemon.md": 4, "integrations/README.md": 5, "security.md": 45} {
		checkRequirements(t, file, least)
	}
}

func checkRequirements(t *testing.T, file string, least int) {
	t.Helper()
	data, err := os.ReadFile(docFile(file))
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(data), " | shown by |")
	require.True(t, ok)
	exists := tests(t)
	rows := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 2 || strings.Contains(line, "---") || strings.HasPrefix(line, "| **") {
			continue
		}
		names := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1)
		require.NotEmpty(t, names, "%s has no test", cells[0])
		for _, name := range names {
			require.True(t, exists[name[1]], "%s: there is no %s", cells[0], name[1])
		}
		rows++
	}
	require.GreaterOrEqual(t, rows, least)
}

// TestDocOfReliability: every defect that was found names a test that holds its mend, and that exists.
func TestDocOfReliability(t *testing.T) {
	data, err := os.ReadFile(docFile("reliability.md"))
	require.NoError(t, err)
	_, found, ok := strings.Cut(string(data), "\n## What was found\n")
	require.True(t, ok)
	exists := tests(t)
	defects := 0
	for line := range strings.Lines(found) {
		if !strings.HasPrefix(line, "- ") {
			continue
		}
		defects++
		names := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`").FindAllStringSubmatch(line, -1)
		require.True(t, len(names) > 0 || strings.Contains(line, "by hand"), "no test holds what was mended: %s", line)
		for _, name := range names {
			require.True(t, exists[name[1]], "there is no %s: %s", name[1], line)
		}
	}
	require.GreaterOrEqual(t, defects, 60)
}

// tests are the names of all tests and fuzz targets, of scripts of tests, and of what is in .ci.
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
