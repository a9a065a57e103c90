package core_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
)

// wednesday is the present of these tests.
var wednesday = time.Date(2026, 11, 18, 15, 0, 0, 0, time.UTC)

// newDatedMemory has turns on twenty days, and a note.
func newDatedMemory(t *testing.T) *memory {
	m := &memory{t: t}
	m.options, m.notes = optionsFor(t)
	m.embedder = m.options.Embedder.(*hashEmbedder)
	things := strings.Fields("lighthouse harbour anchor compass rudder mast keel galley bowsprit capstan hawser bollard fender winch cleat davit gunwale transom jib halyard")
	var log strings.Builder
	for i, thing := range things {
		at := wednesday.AddDate(0, 0, -i)
		fmt.Fprintf(&log, `{"role":"user","content":"The %s gets painted green before winter comes.","timestamp":%q}`+"\n", thing, at.Format(time.RFC3339))
	}
	m.write("log.jsonl", log.String())
	m.write("paint.md", "# Paint\n\nGreen paint for the lighthouse is in the shed.\n")
	return m
}

func textsOf(hits []core.MemoryHit) string {
	var all []string
	for _, hit := range hits {
		all = append(all, hit.Text)
	}
	return strings.Join(all, "\n")
}

func TestTimeIsAllThatIsAsked(t *testing.T) {
	for _, vectors := range []bool{true, false} {
		t.Run(fmt.Sprintf("vectors %v", vectors), func(t *testing.T) {
			m := newDatedMemory(t)
			if !vectors {
				m.options.Embedder = nil
			}
			opened := m.open()
			_, err := opened.Index(t.Context(), core.IndexOptions{})
			require.NoError(t, err)
			ask := func(question string) string {
				result, err := opened.RetrieveRelevant(t.Context(), question, core.RetrieveOptions{Now: wednesday})
				require.NoError(t, err)
				require.Empty(t, result.Degraded)
				return textsOf(result.Hits)
			}
			tuesday := ask("what did I tell you on Tuesday")
			require.Contains(t, tuesday, "harbour")
			require.NotContains(t, tuesday, "jib")
			lastWeek := ask("what did we decide last week")
			for _, thing := range []string{"compass", "keel", "bowsprit"} { // of the 15th to the 9th
				require.Contains(t, lastWeek, thing)
			}
			require.NotContains(t, lastWeek, "harbour")
			require.Empty(t, ask("what did we decide in 2019"))
			require.Empty(t, ask("what did we decide"))
			require.Contains(t, ask("was habe ich dir gestern gesagt"), "harbour")
		})
	}
}

// A time also finds agents' turns without a common word.
func TestTimeIsAllThatIsAskedOfAgents(t *testing.T) {
	m := newDatedMemory(t)
	var log strings.Builder
	for i, answer := range []string{"The rope of the bell was worn, so I have spliced a new one in and tested it with the full weight.",
		"The lamp went out because its wick was cut too short; I have put in a longer one and trimmed it."} {
		at := wednesday.AddDate(0, 0, -2-i).Format(time.RFC3339)
		fmt.Fprintf(&log, `{"type":"user","sessionId":"s","timestamp":%q,"message":{"role":"user","content":"Mend what is broken"}}`+"\n", at)
		fmt.Fprintf(&log, `{"type":"assistant","sessionId":"s","timestamp":%q,"message":{"id":"m%d","role":"assistant","content":%q}}`+"\n", at, i, answer)
	}
	m.write("agent.jsonl", log.String())
	opened := m.open()
	_, err := opened.Index(t.Context(), core.IndexOptions{})
	require.NoError(t, err)
	for question, want := range map[string]string{"what did you do on Monday": "rope", "tell me what we did last Sunday": "lamp"} {
		result, err := opened.RetrieveRelevant(t.Context(), question, core.RetrieveOptions{Now: wednesday})
		require.NoError(t, err)
		require.Contains(t, textsOf(result.Hits), want, question)
	}
}

// The turn of the time comes first; its equal stays.
func TestTimeIsSoftEvidence(t *testing.T) {
	m := newDatedMemory(t)
	opened := m.open()
	_, err := opened.Index(t.Context(), core.IndexOptions{})
	require.NoError(t, err)
	for question, first := range map[string]string{ // the thing of so many days ago
		"which thing gets painted green before winter comes, as I said last Thursday":  "keel",
		"which thing gets painted green before winter comes, as I said eight days ago": "bowsprit",
	} {
		result, err := opened.RetrieveRelevant(t.Context(), question, core.RetrieveOptions{Now: wednesday, MinSimilarity: -1, Explain: true, Limit: 30, TokenBudget: -1})
		require.NoError(t, err)
		require.Contains(t, result.Hits[0].Text, first, question)
		require.Greater(t, len(result.Hits), 5)
	}
}

func TestFiltersOfQueries(t *testing.T) {
	m := newDatedMemory(t)
	opened := m.open()
	_, err := opened.Index(t.Context(), core.IndexOptions{})
	require.NoError(t, err)
	day := func(d int) time.Time { return time.Date(2026, 11, d, 0, 0, 0, 0, time.UTC) }
	for name, tt := range map[string]struct {
		o    core.RetrieveOptions
		want int
	}{
		"nothing":  {core.RetrieveOptions{}, 21},
		"kind":     {core.RetrieveOptions{Kind: "markdown"}, 1},
		"path":     {core.RetrieveOptions{Path: "notes/log.jsonl"}, 20},
		"folder":   {core.RetrieveOptions{Path: "notes/"}, 21},
		"no path":  {core.RetrieveOptions{Path: "elsewhere"}, 0},
		"since":    {core.RetrieveOptions{Kind: "conversation", Since: day(17)}, 2},
		"until":    {core.RetrieveOptions{Kind: "conversation", Until: day(1)}, 2},
		"both":     {core.RetrieveOptions{Kind: "conversation", Since: day(9), Until: day(16)}, 7},
		"nowhere":  {core.RetrieveOptions{Since: day(1).AddDate(-9, 0, 0), Until: day(1).AddDate(-8, 0, 0)}, 0},
		"filtered": {core.RetrieveOptions{Kind: "conversation", Since: day(9), Until: day(11)}, 2},
	} {
		o := tt.o
		o.MinSimilarity, o.Limit, o.TokenBudget, o.Now = -1, 100, -1, wednesday
		result, err := opened.RetrieveRelevant(t.Context(), "what did we decide last week on green paint", o)
		require.NoError(t, err, name)
		require.Len(t, result.Hits, tt.want, "%s: retrieve", name)
		result, err = opened.Search(t.Context(), "green paint painted", core.SearchOptions{Kind: o.Kind, Path: o.Path, Since: o.Since, Until: o.Until, Limit: 100, Now: wednesday})
		require.NoError(t, err, name)
		require.Len(t, result.Hits, tt.want, "%s: search", name)
	}
	for want, o := range map[string]core.RetrieveOptions{
		`kind is "mail"`:          {Kind: "mail"},
		"want since before until": {Since: day(2), Until: day(1)},
	} {
		_, err := opened.RetrieveRelevant(t.Context(), "green", o)
		require.ErrorIs(t, err, core.ErrOption)
		require.ErrorContains(t, err, want)
	}
}
