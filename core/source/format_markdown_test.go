package source

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The chats in a project are found with the agents' logs. A person's Markdown beside them stays
// that.
func TestKnownMarkdown(t *testing.T) {
	shop := tree(t, map[string]string{"README.md": "# Shop", ".specstory/history/own.md": "# My notes"})
	log, err := os.ReadFile(filepath.Join("testdata", ".specstory", "history", "2026-01-16_16-48-38Z-rates.md"))
	require.NoError(t, err)
	write(t, filepath.Join(shop, ".specstory", "history", "a.md"), string(log))
	write(t, filepath.Join(shop, ".aider.chat.history.md"), "# aider chat started at 2026-03-01 09:00:00\n\n<!-- Claude Code Session e317d7b9 (x) -->\n\n#### hi  \n\nHello.\n")
	got, copies := map[string]string{}, map[string]string{}
	for _, s := range knownOf(shop, tree(t, nil)) {
		for _, doc := range listOf(t, s).Documents {
			got[doc.Path], copies[doc.Path] = doc.Format, doc.CopyOf
			require.Equal(t, doc.Format != "markdown", IsMarkdownLog(doc.File), doc.Path)
			content, err := s.Read(t.Context(), doc, Position{})
			require.NoError(t, err)
			require.False(t, content.Agent, "a clone may bring it along")
		}
	}
	require.Equal(t, map[string]string{".aider.chat.history.md": "aider", ".specstory/history/a.md": "specstory", ".specstory/history/own.md": "markdown"}, got)
	require.Equal(t, map[string]string{".aider.chat.history.md": "", ".specstory/history/a.md": "e317d7b9", ".specstory/history/own.md": ""}, copies)
}
