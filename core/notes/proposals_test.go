package notes

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/tools"
)

func statementOf(id, text string, aboutUser bool) Proposal {
	return Proposal{ID: id, Kind: "fact", Path: "facts/user.md", Text: "- " + text, Source: "s/messages.jsonl#L1", At: time.Date(2026, 2, 24, 12, 0, 0, 0, time.UTC), AboutUser: aboutUser}
}

// What is forgotten waits no more, and is not proposed again; what a model asked for waits.
func TestForgetProposals(t *testing.T) {
	dir := t.TempDir()
	p := OpenProposals(dir, "about-user.md", "solved-earlier.md")
	fix := Proposal{ID: "f", Kind: ProposedFix, Text: "## The pilot does not…\n- Problem: The pilot Quillfeather does not answer the radio\n- Solution: call his wife", Source: "s/messages.jsonl#L2"}
	name := statementOf("c", "I am Ada.", true)
	name.Source = "s/messages.jsonl#L9"
	all := []Proposal{statementOf("a", "I am allergic to quillfeather.", true), fix, statementOf("b", "I live beside the northern quay.", true), name}
	_, err := p.Add(t.Context(), all...)
	require.NoError(t, err)
	_, err = p.AddAsked(t.Context(), Proposal{Kind: ProposedSave, Text: "I am allergic to quillfeather."})
	require.NoError(t, err)
	isForgotten := func(source string) bool { return source == name.Source }
	for _, want := range []int{3, 0} {
		dropped, err := p.Forget(t.Context(), isForgotten, "By the way, I am **allergic** to\nquillfeather. Good night.", "the pilot Quillfeather does not answer the radio, what now?", "quay")
		require.NoError(t, err)
		require.Equal(t, want, dropped)
	}
	waiting, err := p.Waiting()
	require.NoError(t, err)
	require.Len(t, waiting, 2)
	require.Equal(t, "b", waiting[0].ID)
	require.NoFileExists(t, filepath.Join(dir, "solved-earlier.md"))
	added, err := p.Add(t.Context(), all...)
	require.NoError(t, err)
	require.Zero(t, added)
}

func TestProposals(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sessions")
	stated := filepath.Join(dir, "about-user.md")
	p := OpenProposals(dir, "about-user.md", "solved-earlier.md")
	waiting := func() (ids []string) {
		all, err := p.Waiting()
		require.NoError(t, err)
		for _, one := range all {
			ids = append(ids, one.ID)
		}
		return ids
	}
	add := func(want int, all ...Proposal) {
		t.Helper()
		added, err := p.Add(t.Context(), all...)
		require.NoError(t, err)
		require.Equal(t, want, added)
	}
	add(0)
	require.NoDirExists(t, dir, "nothing to write")
	add(2, statementOf("a", "I am Zhang San.", true), statementOf("b", "The staging database is on 5433", false))
	add(0, statementOf("c", "i am Zhang San", true))
	require.Equal(t, []string{"a", "b"}, waiting())
	text, err := os.ReadFile(stated)
	require.NoError(t, err)
	require.Equal(t, "# What the user said about themselves\n\nSaid in earlier sessions, not confirmed yet.\n\n- I am Zhang San. (2026-02-24, s/messages.jsonl#L1)\n", string(text))

	solved := filepath.Join(dir, "solved-earlier.md")
	require.NoFileExists(t, solved)
	add(1, Proposal{ID: "f", Kind: ProposedFix, Text: "## Build failed\n- Problem: stale cache", Source: "s/messages.jsonl#L2"})
	text, err = os.ReadFile(solved)
	require.NoError(t, err)
	require.Equal(t, "# What was solved in earlier sessions\n\nFound by rules, not confirmed yet.\n\n## Build failed\n- Problem: stale cache\n- Source: s/messages.jsonl#L2\n", string(text))
	require.NoError(t, p.Decide(t.Context(), "f"))
	require.NoFileExists(t, solved, "what was decided is not there any more")

	untold := func(want int) {
		t.Helper()
		fresh, err := p.Report(t.Context(), func(Proposal) bool { return true })
		require.NoError(t, err)
		require.Len(t, fresh, want)
	}
	untold(2)
	untold(0)
	id, err := p.AddAsked(t.Context(), Proposal{Kind: ProposedSave, Path: "BEANS.md", Text: "Always run the tests", Save: &SaveRequest{Content: "Always run the tests", Target: TargetGlobal}})
	require.NoError(t, err)
	again, err := p.AddAsked(t.Context(), Proposal{Kind: ProposedSave, Path: "BEANS.md", Text: "Always run the tests", Save: &SaveRequest{Content: "Always run the tests", Target: TargetGlobal}})
	require.NoError(t, err)
	require.Equal(t, id, again)
	require.Len(t, waiting(), 3)
	unconfirmed := filepath.Join(dir, UnconfirmedFile)
	text, err = os.ReadFile(unconfirmed)
	require.NoError(t, err)
	require.Contains(t, string(text), "No person has confirmed it yet.\n\n- Not confirmed, for BEANS.md (0001-01-01): Always run the tests\n")
	fresh, err := p.Report(t.Context(), func(w Proposal) bool { return w.Kind == ProposedFact })
	require.NoError(t, err)
	require.Empty(t, fresh)
	untold(1)
	untold(0)
	all, err := p.Waiting()
	require.NoError(t, err)
	require.Equal(t, &SaveRequest{Content: "Always run the tests", Target: TargetGlobal}, all[2].Save, "as it was asked for")

	require.NoError(t, p.Decide(t.Context(), "a", id))
	require.Equal(t, []string{"b"}, waiting())
	require.NoFileExists(t, stated)
	require.NoFileExists(t, unconfirmed)
	add(0, statementOf("a", "I am Zhang San.", true))
	_, err = p.AddAsked(t.Context(), Proposal{Kind: ProposedSave, Text: strings.Repeat("x", maxProposal+1)})
	require.ErrorIs(t, err, tools.ErrArguments)
	for i := range maxAsked {
		_, err = p.AddAsked(t.Context(), Proposal{Kind: ProposedSave, Text: fmt.Sprint("fact ", i)})
		require.NoError(t, err)
	}
	_, err = p.AddAsked(t.Context(), Proposal{Kind: ProposedForget, Text: "one more"})
	require.ErrorIs(t, err, errManyProposals)
	for i := range maxProposals {
		_, err = p.Add(t.Context(), statementOf(fmt.Sprint(i), strings.Repeat(fmt.Sprintf("word%d ", i), 5), true))
		require.NoError(t, err)
	}
	require.Len(t, waiting(), maxAsked+maxProposals, "models do not crowd out what the user says")
	text, err = os.ReadFile(stated)
	require.NoError(t, err)
	require.Equal(t, maxStatedShown, strings.Count(string(text), "\n- "))

	require.NoError(t, os.WriteFile(filepath.Join(dir, "proposals.json"), []byte("{"), 0o600))
	_, err = p.Waiting()
	require.Error(t, err)
	_, err = p.Add(t.Context(), statementOf("z", "another one of them", true))
	require.Error(t, err, "a damaged file is not written over")
}

func TestManyPropose(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			_, err := OpenProposals(dir, "about-user.md", "solved-earlier.md").AddAsked(t.Context(), Proposal{Kind: ProposedSave, Text: fmt.Sprint("fact ", i)})
			require.NoError(t, err)
		})
	}
	all.Wait()
	waiting, err := OpenProposals(dir, "about-user.md", "solved-earlier.md").Waiting()
	require.NoError(t, err)
	require.Len(t, waiting, 20)
}

// What was done is kept for its session until it is told, however much else changes.
func TestDeedsWaitUntilTold(t *testing.T) {
	p := OpenProposals(t.TempDir(), "about-user.md", "solved-earlier.md")
	for i, session := range []string{"one", "two", "one"} {
		require.NoError(t, p.Keep(t.Context(), Deed{Event: fmt.Sprint(i), Session: session, Text: "accepted"}))
	}
	_, err := p.Add(t.Context(), statementOf("a", "I am Zhang San.", true))
	require.NoError(t, err)
	require.NoError(t, p.Told(t.Context(), "0", "absent"))
	untold, err := p.Untold("one")
	require.NoError(t, err)
	require.Equal(t, []Deed{{Event: "2", Session: "one", Text: "accepted"}}, untold)
	for range maxUntold {
		require.NoError(t, p.Keep(t.Context(), Deed{Event: "new", Session: "three"}))
	}
	untold, err = p.Untold("one")
	require.NoError(t, err)
	require.Empty(t, untold)
}
