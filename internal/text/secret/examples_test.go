package secret

import (
	"bufio"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExamples counts findings in gitleaks' own examples and in ordinary notes; see examples.sh.
func TestExamples(t *testing.T) {
	examples, notes := os.Getenv("MEMCORE_SECRET_EXAMPLES"), os.Getenv("MEMCORE_SECRET_NOTES")
	if examples == "" {
		t.Skip("examples.sh runs it")
	}
	file, err := os.Open(examples)
	require.NoError(t, err)
	defer file.Close()
	secrets, caught, others, touched := 0, 0, 0, 0
	missed := map[string]int{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var example struct {
			Rule            string
			Secrets, Others []string
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &example))
		for _, text := range example.Secrets {
			secrets++
			if _, found := Redact(text); len(found) > 0 {
				caught++
			} else {
				missed[example.Rule]++
			}
		}
		for _, text := range example.Others {
			others++
			if _, found := Redact(text); len(found) > 0 {
				touched++
			}
		}
	}
	require.NoError(t, lines.Err())
	t.Logf("%d of %d examples of secrets taken out (%.1f %%); of %d near misses %d", caught, secrets, 100*float64(caught)/float64(secrets), others, touched)
	for _, rule := range slices.Sorted(maps.Keys(missed)) {
		t.Logf("missed: %d of %s", missed[rule], rule)
	}
	files, hit, bytes := 0, 0, 0
	require.NoError(t, filepath.WalkDir(notes, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".md") || files == 1000 {
			return err
		}
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		files++
		bytes += len(data)
		clean, found := Redact(string(data))
		if len(found) > 0 {
			hit++
			for _, f := range found {
				t.Logf("%s:%d: %s: %.160s", filepath.Base(path), f.Line, f.Rule, strings.TrimSpace(strings.Split(clean, "\n")[f.Line-1]))
			}
		}
		return nil
	}))
	t.Logf("%d of %d notes touched (%.1f MB)", hit, files, float64(bytes)/1e6)
}
