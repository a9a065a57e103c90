package main

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/app/apptest"
)

// Errors of one kind have one exit code, whichever command reports them.
func TestExitCodes(t *testing.T) {
	t.Chdir(apptest.Project(t, map[string]string{"BEANS.md": "# Project\n\n- The port is 5432\n"}))
	for want, calls := range map[int][][]string{
		exitOK: {{"status"}, {"save", "--yes", "--supersedes", "The port is 5432", "The port is 6001"}},
		exitUsage: {
			{"save", "--supersedes", "nobody says this", "x"},
			{"forget", "nobody says this"},
			{"forget", "--yes", "--source", "absent.md"},
			{"forget", "--remember", "absent.md"},
			{"tool", "save_memory", `{"content": "x", "supersedes": "nobody says this"}`},
			{"tool", "save_memory", `{"no": "content"}`},
			{"memory", "pending", "--accept", "1"},
		},
		exitFailure: {{"session", "show", "absent"}, {"tool", "memory_read", `{"path": "facts/absent.md"}`}},
	} {
		for _, args := range calls {
			var said strings.Builder
			require.Equal(t, want, run(args, strings.NewReader(""), io.Discard, &said), "%q: %s", args, &said)
		}
	}
}
