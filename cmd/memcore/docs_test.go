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
		{"### explain: core.Explanation", core.Explanation{}},
		{"## retrieve", struct {
			Block    string `json:"block"`
			Findings []any  `json:"findings"`
		}{}},
		{"## index: core.IndexReport", core.IndexReport{}},
		{"### What the command adds to index", indexed{}},
		{"### shared of index: core.SharedReport", core.SharedReport{}},
		{"## status: core.Status", core.Status{}},
		{"### shared of status: core.SharedStatus", core.SharedStatus{}},
		{"### vectors and keywords: store.Stats", store.Stats{}},
		{"### What the command adds to status", status{}},
		{"## doctor", diagnosis{}},
		{"### A check", check{}},
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
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && !field.Anonymous {
			keys = append(keys, name)
		}
	}
	slices.Sort(keys)
	return keys
}
