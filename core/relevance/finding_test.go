package relevance

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// findingAs says what hasFinding is to find.
var findingAs = regexp.MustCompile(`(?i)\b(root cause|the (issue|problem|bug|reason|cause|culprit|fix|trick) (is|was|here)|because|caused by|turns out|you're right|you are right|instead of|decided|won't work|doesn't|does not|already|` +
	`none of|only|must be|should|fixed|found|works now|summary|changes made|key)\b|原因|解决|修复|因为|ため|修正|解決`)

func TestHasFinding(t *testing.T) {
	texts := []string{"", "The CAUSE was", "because", "becauses", "_because", "because_", "üonly", "onlyü", "monkey key", "monkey keyed", "The issue\nis", "the trick here.", "修复了", "You’re right",
		"the fix is", "the fixed is", "it found_ found", "found found_"}
	files, err := filepath.Glob("../../testdata/workspace/*/*.md")
	require.NoError(t, err)
	docs, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	for _, file := range append(files, docs...) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		texts = append(texts, strings.SplitAfter(string(text), ".")...)
	}
	require.Greater(t, len(texts), 500)
	for _, text := range texts {
		require.Equal(t, findingAs.MatchString(text), hasFinding(text), text)
	}
}

func BenchmarkHasFinding(b *testing.B) {
	text := strings.Repeat("The turbine of site 7 in Graz needs a new seal every 30 days, by order 512 of the crew from Lisbon. ", 6)
	for b.Loop() {
		hasFinding(text)
	}
}

func BenchmarkHasFindingAsPattern(b *testing.B) {
	text := strings.Repeat("The turbine of site 7 in Graz needs a new seal every 30 days, by order 512 of the crew from Lisbon. ", 6)
	for b.Loop() {
		findingAs.MatchString(text)
	}
}
