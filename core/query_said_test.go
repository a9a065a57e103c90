package core_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
)

// statedLogs have statements that are made once, each in a session about something else.
func statedLogs() map[string]string {
	return map[string]string{
		"sessions/s1.jsonl": claudeLog("s1", "user: the preview is broken again, can you look?", "assistant: The preview server could not bind its port, since another process of yours holds 3000 on this machine.",
			"user: From now on the preview server always runs on port 3044.", "assistant: Done: the preview server now listens on port 3044, and the script that starts it says so."),
		"sessions/s2.jsonl": claudeLog("s2", "user: add the export of invoices", "assistant: The export of invoices writes one file a month, and the tests cover empty months and months with refunds.",
			"user: Always commit to main directly, never open a pull request.", "assistant: Understood, I committed it to main directly, and I will not open a pull request from now on."),
	}
}

func texts(said []core.Statement) (all []string) {
	for _, s := range said {
		all = append(all, s.Text)
	}
	return all
}

// What the user stated comes with a prompt on its subject, and a moment brings what stands for it.
func TestWhatTheUserSaid(t *testing.T) {
	m, _ := openLogs(t, statedLogs(), nil)
	said := func(prompt string, o core.RetrieveOptions) []core.Statement {
		result, err := m.RetrieveRelevant(t.Context(), prompt, o)
		require.NoError(t, err)
		return result.Said
	}
	preview := said("start the preview server and show me the page", core.RetrieveOptions{})
	require.Len(t, preview, 1)
	require.Contains(t, preview[0].Text, "3044")
	require.Equal(t, "sessions/s1.jsonl#L3", preview[0].Source)
	require.True(t, preview[0].Standing)
	for _, prompt := range []string{"commit this", "commit", "push it please"} {
		all := said(prompt, core.RetrieveOptions{})
		require.NotEmpty(t, all, prompt)
		require.Contains(t, all[0].Text, "pull request", prompt)
	}
	require.Empty(t, said("start the preview server and show me the page", core.RetrieveOptions{Given: []string{preview[0].Key}}), "once")
	require.Empty(t, said("start the preview server and show me the page", core.RetrieveOptions{Session: "s1"}), "its own session has it")
	require.Empty(t, said("start the preview server and show me the page", core.RetrieveOptions{Not: []string{"sessions/s1.jsonl"}}))
	require.Empty(t, said("start the preview server and show me the page", core.RetrieveOptions{Given: []string{preview[0].AtStart()}}), "the session began with it")
	commit := said("commit this", core.RetrieveOptions{})
	require.NotEmpty(t, said("commit this", core.RetrieveOptions{Given: []string{commit[0].AtStart()}}), "its moment brings it once more")
	require.Empty(t, said("ok, go on", core.RetrieveOptions{}))
	require.Empty(t, said("what is a monad?", core.RetrieveOptions{}))
}

// A later word on the subject holds, though the prompt is nearer to the earlier one; what else was
// said before is not given beside it.
func TestLaterWord(t *testing.T) {
	now := "We decided to use Valkey for the cache of the shop on all machines, not Redis."
	m, _ := openLogs(t, map[string]string{
		"sessions/old.jsonl": claudeLog("old", "user: We decided to use Redis for the cache of the shop.", "assistant: OK."),
		"sessions/new.jsonl": later(claudeLog("new", "user: "+now, "assistant: OK.")),
	}, nil)
	for _, prompt := range []string{"set up Redis for the cache of the shop", "What do we use for the cache of the shop?"} {
		result, err := m.RetrieveRelevant(t.Context(), prompt, core.RetrieveOptions{})
		require.NoError(t, err)
		require.Equal(t, []string{now}, texts(result.Said), prompt)
		require.Empty(t, result.Hits, prompt)
		require.Empty(t, result.Lines, prompt)
	}
}

func TestStanding(t *testing.T) {
	files := statedLogs()
	files["sessions/s3.jsonl"] = claudeLog("s3", "user: From now on the preview server always runs on port 3055.", "assistant: Done: the preview server now listens on port 3055, and its script and its documentation say so.")
	files["sessions/s3.jsonl"] = later(files["sessions/s3.jsonl"])
	m, _ := openLogs(t, files, nil)
	all, err := m.Standing(t.Context(), 10, 250)
	require.NoError(t, err)
	require.Len(t, all, 2, "%q", texts(all))
	require.Contains(t, all[0].Text, "3055", "said twice, and the newer holds")
	require.Contains(t, all[1].Text, "pull request")
	all, err = m.Standing(t.Context(), 1, 250)
	require.NoError(t, err)
	require.Len(t, all, 1)
	all, err = m.Standing(t.Context(), 10, 5)
	require.NoError(t, err)
	require.Empty(t, all, "a statement is whole or not there")
}

// A log that came with a repository says nothing in the user's name.
func TestWhatAnotherUserSaid(t *testing.T) {
	m, _ := openLogs(t, statedLogs(), func(o *core.Options) {
		o.IsUsers = func(document string) bool { return document == "sessions/s2.jsonl" }
	})
	result, err := m.RetrieveRelevant(t.Context(), "start the preview server and show me the page", core.RetrieveOptions{})
	require.NoError(t, err)
	require.Empty(t, result.Said)
	all, err := m.Standing(t.Context(), 10, 250)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Contains(t, all[0].Text, "pull request")
}

// A search for all there is also finds what is only stated, once.
func TestSearchFindsWhatIsStated(t *testing.T) {
	mem := newMemory(t)
	mem.write("a.jsonl", agentLog("user: Production runs on Kubernetes 1.31 in Helsinki.", "assistant: OK."))
	mem.write("b.jsonl", agentLog("user: We decided to use Valkey for the cache, not Redis.", "assistant: OK."))
	m := mem.open()
	index(t, m)
	for query, want := range map[string]string{"Kubernetes Helsinki": "notes/a.jsonl#L1", "Valkey Redis": "notes/b.jsonl#L1"} {
		for _, o := range []core.SearchOptions{{}, {Sessions: true}, {Sessions: true, Exact: true}} {
			text := query
			if o.Exact {
				text = map[string]string{"Kubernetes Helsinki": "1.31 in Helsinki", "Valkey Redis": "Valkey for the cache"}[query]
			}
			o.Stated = true
			result, err := m.Search(t.Context(), text, o)
			require.NoError(t, err)
			hits := slices.DeleteFunc(result.Hits, func(h core.MemoryHit) bool { return h.Source != want })
			require.Len(t, hits, 1, "%s %+v", query, o)
			require.Equal(t, result.Hits[0].Source, want)
			require.Equal(t, source.KindConversation, hits[0].Kind)
			require.Empty(t, hits[0].Also)
		}
	}
	result, err := m.Search(t.Context(), "Kubernetes Helsinki", core.SearchOptions{Kind: source.KindMarkdown, Stated: true})
	require.NoError(t, err)
	for _, hit := range result.Hits {
		require.Equal(t, source.KindMarkdown, hit.Kind)
	}
}
