package main

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/stretchr/testify/require"
)

// TestManualPages makes the manual pages, one of each command. Releases take them from the folder
// that MEMCORE_MAN names (.ci/pack); the program itself does not link their generator.
func TestManualPages(t *testing.T) {
	dir := cmp.Or(os.Getenv("MEMCORE_MAN"), t.TempDir())
	root := newRoot(newCLI(strings.NewReader(""), io.Discard, io.Discard))
	root.InitDefaultCompletionCmd("")
	// The date of the pages is SOURCE_DATE_EPOCH, or today.
	require.NoError(t, doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "memcore", Manual: "memcore"}, dir))
	pages := 0
	var check func(*cobra.Command)
	check = func(cmd *cobra.Command) {
		page, err := os.ReadFile(filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"))
		require.NoError(t, err)
		require.Contains(t, string(page), ".SH SYNOPSIS", cmd.CommandPath())
		require.Contains(t, string(page), cmd.Short)
		pages++
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				check(sub)
			}
		}
	}
	check(root)
	require.Greater(t, pages, 30)
}
