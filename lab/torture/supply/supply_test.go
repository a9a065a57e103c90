// Package supply checks modules and licences, that the program matches its source, and the work
// before main.
package supply

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/lab/torture/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

var root = filepath.Join("..", "..", "..")

// tool runs lab/release.
func tool(t *testing.T, what, program string) (stdout, stderr string, err error) {
	t.Helper()
	dir := filepath.Join(root, "lab", "release")
	built.Do(func() {
		built.path = filepath.Join(filepath.Dir(harness.Program(t)), "supply.exe") // harness.Main removes it
		command := exec.Command("go", "build", "-buildvcs=false", "-o", built.path, ".")
		command.Dir = dir
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("building lab/release: %v\n%s", err, out)
		}
	})
	command := exec.Command(built.path, what, program)
	command.Dir = dir
	var out, errors bytes.Buffer
	command.Stdout, command.Stderr = &out, &errors
	err = command.Run()
	return out.String(), errors.String(), err
}

var built struct {
	sync.Once
	path string
}

// Every linked module has a free licence, with its text in the notices.
func TestNotices(t *testing.T) {
	notices, stderr, err := tool(t, "notices", harness.Program(t))
	require.NoError(t, err, stderr)
	headings := regexp.MustCompile(`(?m)^={80}\n(\S+) (\S+): (.+)$`).FindAllStringSubmatch(notices, -1)
	linked := linked(t)
	require.Len(t, headings, len(linked)+1, "and Go's own")
	for _, m := range linked {
		require.Contains(t, notices, "\n"+m+": ")
	}
	for _, row := range rows(t, "Of the program") {
		for _, heading := range headings {
			if heading[1] == row["module"] && row["licence"] != "" {
				require.Equal(t, heading[3], row["licence"], "docs/dev/dependencies.md: licence of %s", heading[1])
			}
		}
	}
	t.Logf("licences: %d modules linked: each has one that is allowed", len(headings))
}

// The bill of materials fits CycloneDX's schema, names all linked modules, and is the same for the
// same program.
func TestBill(t *testing.T) {
	program := harness.Program(t)
	first, stderr, err := tool(t, "sbom", program)
	require.NoError(t, err, stderr)
	second, stderr, err := tool(t, "sbom", program)
	require.NoError(t, err, stderr)
	require.Equal(t, first, second)
	var bill struct {
		Components []struct {
			Type, Name, Version string
			Hashes              []struct{ Alg, Content string }
			Licenses            []any
		}
	}
	require.NoError(t, json.Unmarshal([]byte(first), &bill))
	var named []string
	models := 0
	for _, c := range bill.Components {
		named = append(named, c.Name+" "+c.Version)
		require.NotEmpty(t, c.Licenses, c.Name)
		if c.Name != "std" {
			require.Len(t, c.Hashes, 1, c.Name)
		}
		if c.Type == "machine-learning-model" {
			models++
		}
	}
	require.Equal(t, 1, models)
	for _, m := range linked(t) {
		require.Contains(t, named, m)
	}
	t.Logf("bill of materials: %d components: valid by CycloneDX's schema, complete", len(bill.Components))
}

// A program with other weights, other sums, or none of memcore's source has neither notices nor a
// bill.
func TestForged(t *testing.T) {
	data, err := os.ReadFile(harness.Program(t))
	require.NoError(t, err)
	weights, err := os.ReadFile(filepath.Join(root, "embed", "minilm", "minilm.bin"))
	require.NoError(t, err)
	at := bytes.Index(data, weights[len(weights)/2:][:64]) // all of them take minutes under the race detector
	require.Positive(t, at)
	for _, tt := range []struct {
		name, want string
		change     func([]byte) []byte
	}{
		{"one bit of the model", "the weights in", func(data []byte) []byte { data[at] ^= 1; return data }},
		{"the sum of a module", "was linked with source of the sum", func(data []byte) []byte {
			sum := regexp.MustCompile(`github.com/spf13/cobra\tv[0-9.]+\th1:.`)
			require.NotEmpty(t, sum.Find(data))
			return sum.ReplaceAllFunc(data, func(text []byte) []byte { // it stands there twice
				text = bytes.Clone(text)
				text[len(text)-1] ^= 1
				return text
			})
		}},
		{"another program", "read the modules of", func([]byte) []byte { return []byte("#!/bin/sh\n") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			forged := filepath.Join(t.TempDir(), "memcore")
			require.NoError(t, os.WriteFile(forged, tt.change(bytes.Clone(data)), 0o755))
			_, stderr, err := tool(t, "notices", forged)
			require.Error(t, err)
			require.Contains(t, stderr, tt.want)
		})
	}
}

// linked returns the linked modules as "path version".
func linked(t *testing.T) (all []string) {
	t.Helper()
	out, err := exec.Command("go", "version", "-m", harness.Program(t)).Output()
	require.NoError(t, err)
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) >= 3 && fields[0] == "dep" {
			all = append(all, fields[1]+" "+fields[2])
		}
	}
	require.Greater(t, len(all), 50)
	return all
}

// Every process initialises our packages. The test limits allocations, which do not vary as time
// does.
func TestInit(t *testing.T) {
	const (
		ours = 32 << 10   // bytes that a package of ours may take
		all  = 1400 << 10 // bytes that all packages together may take
		few  = 20         // packages, or what was read is not what init does
		mine = "github.com/memcore/memcore/"
	)
	command := exec.Command(harness.Program(t), "version")
	command.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	command.Stderr = &trace
	require.NoError(t, command.Run())
	lines := regexp.MustCompile(`(?m)^init (\S+) @.*, (\d+) bytes, \d+ allocs$`).FindAllStringSubmatch(trace.String(), -1)
	require.Greater(t, len(lines), few, trace.String())
	sum, own := 0, 0
	for _, line := range lines {
		bytes, err := strconv.Atoi(line[2])
		require.NoError(t, err)
		sum += bytes
		if strings.HasPrefix(line[1], mine) || line[1] == "main" {
			own++
			if bytes > ours {
				t.Errorf("%s allocates %d bytes before main, at most %d are allowed: compile and fill in when it is first needed (sync.OnceValue)", line[1], bytes, ours)
			}
		}
	}
	require.Positive(t, own, "no package of ours was seen")
	if sum > all {
		t.Errorf("all packages allocate %d bytes before main, at most %d are allowed: GODEBUG=inittrace=1 memcore version names them", sum, all)
	}
	t.Logf("work before main: %d packages: %d KiB allocated", len(lines), sum>>10)
}
