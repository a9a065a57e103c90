package notes

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A draft writes nothing after an unreadable or huge file, or cancelled.
func TestDraftsThatCannotBe(t *testing.T) {
	d := newFixture(t)
	d.write("data/memory/facts/a.md", "# A\n\n- one\n")
	draft := d.data().Draft()
	ended, end := context.WithCancel(t.Context())
	end()
	_, err := draft.Append(ended, "facts/a.md", "- two", "")
	require.ErrorIs(t, err, context.Canceled)
	_, err = draft.Write(t.Context(), "facts/a.md", strings.Repeat("x", maxFile+1))
	require.ErrorContains(t, err, "it would be larger than 8 MB")
	require.Empty(t, draft.Changes())

	// A person may decline an undo.
	_, err = draft.Patch(t.Context(), "facts/a.md", []Patch{{OldText: "one", NewText: "two"}}, true)
	require.NoError(t, err)
	require.NoError(t, draft.Commit(t.Context(), ""))
	require.Contains(t, d.read("data/memory/facts/a.md"), "- two")
	_, err = d.journal().UndoIf(t.Context(), func(Record) error { return ErrNothing })
	require.ErrorIs(t, err, ErrNothing, "the person has thought better of it")
	require.Contains(t, d.read("data/memory/facts/a.md"), "- two")
}
