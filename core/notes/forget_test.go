package notes

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestForget(t *testing.T) {
	d := newFixture(t)
	d.write("BEANS.md", "---\nname: x\n---\n# A\n\n- The port is 5432\n- The port of staging is 5433\n- We deploy on Fridays,\n  never on Mondays\n\nSome text.\n")
	file := Statement{Path: "BEANS.md", Dir: d.project, Name: "BEANS.md"}
	about := func(query string) []string {
		t.Helper()
		found, err := StatementsAbout(file, query)
		require.NoError(t, err)
		all := []string{}
		for _, p := range found {
			all = append(all, p.Citation()+" "+p.Text)
		}
		return all
	}
	require.Equal(t, []string{"BEANS.md#L6 - The port is 5432"}, about("the port is 5432."))
	require.Equal(t, []string{"BEANS.md#L6 - The port is 5432", "BEANS.md#L7 - The port of staging is 5433"}, about("ports"))
	require.Equal(t, []string{"BEANS.md#L8-L9 - We deploy on Fridays, never on Mondays"}, about("deploying Mondays"))
	require.Empty(t, about("zebra"))
	require.Empty(t, about(""))
	require.Equal(t, []string{"BEANS.md#L7 - The port of staging is 5433"}, about("the staging is port of"))
	for _, more := range []string{"not the port of staging", "is the staging port 5433 or", "port est", "port sta", "to-do", "port to-do"} {
		require.Empty(t, about(more), "%q has a word that no statement has", more)
	}

	found, err := StatementsAbout(file, "deploy Fridays")
	require.NoError(t, err)
	before := d.read("BEANS.md")
	_, written, err := d.journal().Forget(t.Context(), found[0], func(_ context.Context, c Change) (bool, error) {
		require.Contains(t, c.Diff, "-- We deploy on Fridays,\n-  never on Mondays\n")
		return false, nil
	})
	require.NoError(t, err)
	require.False(t, written)
	require.Equal(t, before, d.read("BEANS.md"))
	change, written, err := d.journal().Forget(t.Context(), found[0], nil)
	require.NoError(t, err)
	require.True(t, written)
	require.Equal(t, "BEANS.md", change.Path)
	require.Equal(t, "---\nname: x\n---\n# A\n\n- The port is 5432\n- The port of staging is 5433\n\nSome text.\n", d.read("BEANS.md"))
	_, _, err = d.journal().Forget(t.Context(), found[0], nil)
	require.ErrorIs(t, err, ErrChanged, "the lines say something else now")
	_, err = d.journal().Undo(t.Context())
	require.NoError(t, err)
	require.Equal(t, before, d.read("BEANS.md"))

	_, _, err = d.journal().Forget(t.Context(), Statement{Path: "x.md", Dir: d.project, Name: "x.md", First: 1, Last: 1}, nil)
	require.ErrorIs(t, err, ErrNoFile)
	_, _, err = d.journal().Forget(t.Context(), Statement{Path: "BEANS.md", Dir: d.project, Name: "BEANS.md", First: 99, Last: 99}, nil)
	require.ErrorContains(t, err, "there are no lines 99 to 99")
	_, err = StatementsAbout(Statement{Dir: d.project, Name: "../x"}, "x")
	require.Error(t, err)
}

// Forget and supersede find a statement whose lines have moved, unless it is gone or there twice.
func TestForgetWhatMoves(t *testing.T) {
	d := newFixture(t)
	file := Statement{Path: "BEANS.md", Dir: d.project, Name: "BEANS.md"}
	find := func(text string) Statement {
		t.Helper()
		found, err := StatementsAbout(file, text)
		require.NoError(t, err)
		require.Len(t, found, 1)
		return found[0]
	}
	d.write("BEANS.md", "# A\n\n- We deploy on Fridays\n- The port is 5432\n- The cache is Redis\n")
	place := find("port is 5432")
	d.write("BEANS.md", "# A\n\n- The port is 5432\n- The cache is Redis\n") // between finding and planning
	change, written, err := d.journal().Forget(t.Context(), place, func(context.Context, Change) (bool, error) {
		d.write("BEANS.md", "# A\n\n- Tabs, not spaces\n- It rains\n- The port is 5432\n- The cache is Redis\n") // and before writing
		return true, nil
	})
	require.NoError(t, err)
	require.True(t, written)
	require.Equal(t, "BEANS.md#L5", place.At(change.Line).Citation())
	require.Equal(t, "# A\n\n- Tabs, not spaces\n- It rains\n- The cache is Redis\n", d.read("BEANS.md"))

	place = find("cache is Redis")
	d.write("BEANS.md", "# A\n\n- The cache is Redis\n\n# B\n\nText.\n\n- The cache is Redis\n")
	place.First, place.Last = 1, 1
	_, _, err = d.journal().Forget(t.Context(), place, nil)
	require.ErrorIs(t, err, ErrChanged, "which of the two?")
	_, _, err = d.journal().Forget(t.Context(), Statement{Path: "BEANS.md", Dir: d.project, Name: "BEANS.md", First: 3, Last: 3}, func(context.Context, Change) (bool, error) {
		d.write("BEANS.md", "# A\n\n- Another\n- The cache is Redis\n")
		return true, nil
	})
	require.ErrorIs(t, err, ErrChanged, "lines were agreed to, not a statement")

	old := find("cache is Redis")
	d.write("BEANS.md", "# A\n\n- One more\n- Another\n- The cache is Redis\n")
	struck, err := strike(old)
	require.NoError(t, err)
	require.Contains(t, struck.After, "- ~~The cache is Redis~~")
}
