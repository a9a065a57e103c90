package core_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/embed/minilm"
)

const theCause = "The worker stops because the queue closes its channel twice, once in Stop and once in a deferred call; I removed the deferred one and the shutdown test passes a hundred times."

// claudeLog is Claude Code's, with turns "user: …" and "assistant: …".
func claudeLog(session string, turns ...string) string {
	var b strings.Builder
	for i, turn := range turns {
		role, text, _ := strings.Cut(turn, ": ")
		said, _ := json.Marshal(text)
		fmt.Fprintf(&b, `{"type":%q,"sessionId":%q,"uuid":"%s-%d","timestamp":"2026-05-0%dT09:00:00Z","message":{"role":%q,"id":"m%s%d","content":%s}}`+"\n",
			role, session, session, i, 1+i%9, role, session, i, said)
	}
	return b.String()
}

// later is a log of the month after.
func later(log string) string { return strings.ReplaceAll(log, `"2026-05-`, `"2026-06-`) }

func openLogs(t *testing.T, files map[string]string, change func(*core.Options)) (*core.Manager, string) {
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, "memory", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	options := core.Options{Folder: filepath.Join(dir, "index"), Engine: engineNamed(defaultEngine), Embedder: minilm.New(), Forgotten: filepath.Join(dir, "forgotten.json"),
		Sources: []source.Source{source.NewFolder(source.FolderOptions{Path: filepath.Join(dir, "memory"), Workspace: filepath.Join(dir, "memory")})}}
	if change != nil {
		change(&options)
	}
	m, err := core.Open(context.Background(), options)
	require.NoError(t, err)
	t.Cleanup(func() { m.Close() })
	_, err = m.Index(context.Background(), core.IndexOptions{})
	require.NoError(t, err)
	return m, filepath.Join(dir, "memory")
}

func given(t *testing.T, m *core.Manager, prompt string) core.Result {
	result, err := m.RetrieveRelevant(context.Background(), prompt, core.RetrieveOptions{Explain: true})
	require.NoError(t, err)
	return result
}

// A decision record comes before agents' remarks about other things.
func TestDocumentsBeforeAgentsTalk(t *testing.T) {
	m, _ := openLogs(t, map[string]string{
		"adr/0002-postgres.md": "# ADR 2: Postgres for orders\n\nWe did not take DynamoDB: the reports need joins, and nobody on the team has run it in production.\n",
		"sessions/s1.jsonl": claudeLog("s1", "user: why did terraform destroy the table?", "assistant: I think we did not take the lock of the state before the apply, so two runs of ours were under way at once, and why the second one won we can only guess.",
			"user: I would like to know why we did that", "assistant: We did it because the pipeline had no queue for applies; I added one group for each environment, so that the second run now waits until the first has finished."),
	}, nil)
	result := given(t, m, "why did we not take DynamoDB")
	require.NotEmpty(t, result.Hits)
	require.Equal(t, "adr/0002-postgres.md", result.Hits[0].Path)
}

// Earlier copies of a question must not push its answer back.
func TestAskingAgainChangesNothing(t *testing.T) {
	question := "which port does the staging database listen on?"
	files := map[string]string{
		"staging.md": "# Staging\n\nThe staging database listens on port 5433, because 5432 is taken by the proxy.\n",
		"other.md":   "# Production\n\nProduction runs in three zones; its database has a replica in each.\n",
	}
	m, _ := openLogs(t, files, nil)
	before := given(t, m, question)
	for i := range 3 {
		name := fmt.Sprintf("sessions/s%d.jsonl", i)
		files[name] = claudeLog(fmt.Sprint("s", i), "user: "+question, "assistant: Let me look.", "user: go on")
	}
	again, _ := openLogs(t, files, nil)
	after := given(t, again, question)
	require.Equal(t, before.Hits[0].Source, after.Hits[0].Source)
	require.Len(t, after.Hits, len(before.Hits))
}

// An agent that did not know leaves nothing that displaces the document that does.
func TestAnswersThatKnowNothing(t *testing.T) {
	question := "Which port does the staging database use?"
	for _, answer := range []string{
		"I'm not sure; the configuration doesn't say which port the staging database uses.",
		"I couldn't find the port of the staging database anywhere in this repository.",
		"There is nothing about the port of the staging database in the documentation.",
	} {
		m, _ := openLogs(t, map[string]string{
			"staging.md":       "# Staging\n\nThe staging database listens on port 5433, because 5432 is taken by the proxy.\n",
			"sessions/s.jsonl": claudeLog("s", "user: "+question, "assistant: "+answer),
		}, nil)
		result := given(t, m, question)
		require.Len(t, result.Hits, 1, answer)
		require.Equal(t, "staging.md", result.Hits[0].Path)
	}
}

func TestSilence(t *testing.T) {
	m, _ := openLogs(t, map[string]string{
		"CLAUDE.md":         "# Rules\n\n## Tests\n\nTests never sleep: they pass a fake clock to what they test, and fail if a goroutine is left.\n",
		"tasks/014.md":      "# Task 014: limits\n\nEach tenant may send a hundred requests a second; what is more gets a 429 with Retry-After.\n",
		"sessions/s1.jsonl": claudeLog("s1", "user: why does the worker stop?", "assistant: "+theCause),
	}, nil)
	for prompt, want := range map[string]string{
		"go on":                    "the prompt only lets the agent go on",
		"好的":                       "the prompt only lets the agent go on",
		"Address 3, 8, 11":         "the prompt picks from what the agent has just listed",
		"update @TODO.md":          "the prompt names nothing that memory could know",
		"add a button to the page": "the prompt neither asks for nor names anything that memory has",
	} {
		result := given(t, m, prompt)
		require.Empty(t, result.Hits, prompt)
		require.Equal(t, want, result.Silence, prompt)
	}
	for prompt, path := range map[string]string{
		"start task 014":                        "tasks/014.md",
		"why so slow? read the rules for tests": "CLAUDE.md",
		"it is red again:\n2026-05-02 10:00:00 ERROR panic: close of closed channel in queue.Stop\n": "sessions/s1.jsonl",
		"why does the worker stop?": "sessions/s1.jsonl",
	} {
		result := given(t, m, prompt)
		require.NotEmpty(t, result.Hits, "%s: %s", prompt, result.Silence)
		require.Equal(t, path, result.Hits[0].Path, prompt)
		require.Empty(t, result.Silence)
	}
	for _, hit := range given(t, m, "I changed the nginx rules. What now?").Hits {
		require.NotEqual(t, "CLAUDE.md", hit.Path, "these are other rules")
	}
	answer := given(t, m, "why does the worker stop?").Hits[0]
	require.Equal(t, "why does the worker stop?", answer.Request)
	require.Empty(t, answer.Headings)
}

// Small things that are easily got wrong.
func TestTurnsInDetail(t *testing.T) {
	key := "ghp_" + "x7Kd92LmQp4Rt8Wv3Zy6Bn1Cf5Hg0Js2Ua9E"
	m, _ := openLogs(t, map[string]string{
		"AGENTS.md":       "# Rules\n\n## Errors\n\nErrors are wrapped with what was tried, on what, and why it failed; nothing is logged twice.\n",
		"web/AGENTS.md":   "# Rules of the web\n\n## Errors\n\nErrors are shown in a banner with one button; nothing is shown twice on the same page.\n",
		"docs/tests.md":   "# Running the tests\n\n`make test` runs all tests; `make quick` those of the packages that changed.\n",
		"docs/tasks.md":   "# Tasks\n\nEverything that is open stands on the board of the team, one card each, and nothing in this file.\n",
		"docs/network.md": "# Network\n\nThe firewall gateway of the office has three zones, and the guests are in the third one.\n",
	}, nil)
	retrieve := func(prompt string, o core.RetrieveOptions) core.Result {
		o.Explain = true
		result, err := m.RetrieveRelevant(context.Background(), prompt, o)
		require.NoError(t, err)
		return result
	}
	require.Equal(t, "docs/tests.md", retrieve("how do I run the tests?", core.RetrieveOptions{}).Hits[0].Path, "everyday words, and a question")
	for range 8 {
		require.Equal(t, "AGENTS.md", retrieve("do the rules say anything of errors?", core.RetrieveOptions{}).Hits[0].Path, "the outermost first, always")
	}
	for _, hit := range retrieve("what are the conventions of errors?", core.RetrieveOptions{Path: "docs"}).Hits {
		require.Contains(t, hit.Path, "docs/")
	}
	for _, hit := range retrieve("implement task 0", core.RetrieveOptions{}).Hits {
		require.NotContains(t, hit.Explain.Why, "task 0")
	}
	result := retrieve("it fails:\n2026-05-02 10:00:00 ERROR firewall gateway of the office refused token "+key, core.RetrieveOptions{})
	said, err := json.Marshal(result)
	require.NoError(t, err)
	require.NotContains(t, string(said), key)
}

// A request's secret is in no heading, index or manifest.
func TestRequestsKeepNoSecrets(t *testing.T) {
	key := "ghp_" + "x7Kd92LmQp4Rt8Wv3Zy6Bn1Cf5Hg0Js2Ua9E"
	m, memory := openLogs(t, map[string]string{"sessions/s1.jsonl": claudeLog("s1", "user: why does the worker stop with token "+key+"?", "assistant: "+theCause, "assistant: "+theCause+" So does the scheduler.")}, nil)
	hits, err := m.Search(context.Background(), "worker stops channel", core.SearchOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, hits.Hits)
	require.Contains(t, hits.Hits[0].Request, "why does the worker stop")
	err = filepath.WalkDir(filepath.Join(memory, "..", "index"), func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		require.NotContains(t, string(data), key, path)
		return err
	})
	require.NoError(t, err)
}

// A forgotten request heads no answer.
func TestForgottenRequestsHeadNothing(t *testing.T) {
	m, _ := openLogs(t, map[string]string{"sessions/s1.jsonl": claudeLog("s1", "user: the intern Walter broke it, never let him deploy on a friday. Why does the worker stop?", "assistant: "+theCause)}, nil)
	chunks, err := m.Chunks(context.Background(), "sessions/s1.jsonl")
	require.NoError(t, err)
	require.Len(t, chunks, 2)
	_, err = m.Forget(context.Background(), "sessions/s1.jsonl", chunks[0].ID)
	require.NoError(t, err)
	left, err := m.Chunks(context.Background(), "sessions/s1.jsonl")
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Empty(t, left[0].Request)
}

// A continued log gives the same records as one read at once.
func TestAgentsLogReadOn(t *testing.T) {
	turns := []string{"user: why does the worker stop?", "assistant: Let me look.", "assistant: " + theCause, "user: go on", "assistant: " + theCause + " The scheduler had the same fault.",
		"user: no, never use sleep in tests", "assistant: " + theCause + " The tests use a fake clock now."}
	m, memory := openLogs(t, map[string]string{"sessions/s1.jsonl": claudeLog("s1", turns[0])}, nil)
	for n := range turns {
		require.NoError(t, os.WriteFile(filepath.Join(memory, "sessions/s1.jsonl"), []byte(claudeLog("s1", turns[:n+1]...)), 0o600))
		_, err := m.Index(context.Background(), core.IndexOptions{})
		require.NoError(t, err)
	}
	on, err := m.Chunks(context.Background(), "sessions/s1.jsonl")
	require.NoError(t, err)
	whole, _ := openLogs(t, map[string]string{"sessions/s1.jsonl": claudeLog("s1", turns...)}, nil)
	at, err := whole.Chunks(context.Background(), "sessions/s1.jsonl")
	require.NoError(t, err)
	require.Equal(t, at, on)
}
