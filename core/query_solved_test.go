package core_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
)

// "What was solved last" gets the newest episode of an error, whatever its words. Questions that
// name something do not.
func TestSolvedLast(t *testing.T) {
	for _, vectors := range []bool{true, false} {
		m := newMemory(t)
		m.write("episodes/2026-01.md", "# 2026-01 Episodes\n\n## Wrong totals in the invoice\n- Date: 2026-01-30\n- Problem: the sum was rounded twice\n- Solution: rounding at the end only\n")
		m.write("episodes/2026-02.md", "# 2026-02 Episodes\n\n> Summary: worker panic, short ID\n\n## close of closed channel\n- Summary: worker panic → sync.Once\n- Date: 2026-02-20\n- Problem: Stop and the cleanup both closed the channel\n- Solution: sync.Once guards Stop\n\n"+
			"## Older one\n- Date: 2026-02-03\n- Problem: the queue stalled at midnight\n- Solution: a larger buffer\n\n## Short ID implementation\n- Date: 2026-02-24\n- Task: shorter identifiers\n- Solution: first half of the UUID\n")
		m.write("notes/channel.md", "# Television\n\nThe channel list is made on Mondays.\n")
		if !vectors {
			m.options.Embedder = nil
		}
		memory := m.open()
		index(t, memory)
		for question, wanted := range map[string]bool{
			"what bug did we fix last time?":               true,
			"what was the last problem we solved?":         true,
			"我们上次修复了什么bug？":                                true,
			"what bug did we fix in the television guide?": false,
			"what did we decide last time?":                false,
			"go on":                                        false,
		} {
			result, err := memory.RetrieveRelevant(t.Context(), question, core.RetrieveOptions{Explain: true})
			require.NoError(t, err)
			got := len(result.Hits) > 0 && result.Hits[0].Explain.Why == "tells what was solved last"
			require.Equal(t, wanted, got, "%s, vectors %v", question, vectors)
			if wanted {
				require.Equal(t, "notes/episodes/2026-02.md", result.Hits[0].Path)
				require.Contains(t, result.Hits[0].Text, "sync.Once guards Stop", question)
			}
		}
		result, err := memory.RetrieveRelevant(t.Context(), "what bug did we fix last time?", core.RetrieveOptions{Path: "notes/notes/channel.md"})
		require.NoError(t, err)
		require.Empty(t, result.Hits, "of another document")
	}
}
