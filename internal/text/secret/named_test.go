package secret

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// examplesOf returns the lines of a file of examples.
func examplesOf(t *testing.T, path string) []string {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var examples []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && !strings.HasPrefix(line, "# ") {
			examples = append(examples, strings.NewReplacer("⏎", "\n", "¦", "").Replace(line))
		}
	}
	return examples
}

// Of each example exactly the marked parts go.
func TestNamedSecrets(t *testing.T) {
	examples := examplesOf(t, "testdata/secrets.txt")
	require.Greater(t, len(examples), 80)
	for _, example := range examples {
		text := strings.NewReplacer("⟦", "", "⟧", "").Replace(example)
		got, _ := Redact(text)
		masked := regexp.MustCompile(`\[redacted: [a-z-]+\]\n?`).ReplaceAllString(got, "⟦⟧")
		if want := regexp.MustCompile(`⟦[^⟧]*⟧`).ReplaceAllString(example, "⟦⟧"); masked != want {
			t.Errorf("%q became %q", example, got)
		}
		again, more := Redact(got)
		require.Equal(t, got, again)
		require.Empty(t, more)
	}
}

func TestHarmlessLines(t *testing.T) {
	examples := examplesOf(t, "testdata/harmless.txt")
	require.Greater(t, len(examples), 200)
	for _, text := range examples {
		if got, _ := Redact(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
