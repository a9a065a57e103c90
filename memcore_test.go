package memcore_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore"
	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/formatter"
)

const question = "Which port does the staging database use?"

func open(t *testing.T, folder string, o memcore.Options) *memcore.Memory {
	t.Helper()
	memory, err := memcore.Open(folder, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, memory.Close()) })
	return memory
}

func write(t *testing.T, file, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
}

func user(text string) []memcore.Message {
	return []memcore.Message{{Role: "user", Text: text}}
}

func TestOpen(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	file := filepath.Join(dir, "staging.md")
	write(t, file, "The staging database listens on port 5433.\n")

	t.Run("a folder", func(t *testing.T) {
		memory := open(t, dir, memcore.Options{})
		result, err := memory.Retrieve(t.Context(), question)
		require.NoError(t, err)
		require.Len(t, result.Hits, 1)
		require.Contains(t, memcore.Block(result.Hits), "• (source: staging.md#L1)\n> The staging database listens on port 5433.\n")

		write(t, filepath.Join(dir, "garden.md"), "The tulips in the garden were planted by Ada.\n")
		require.Eventually(t, func() bool {
			result, err := memory.Retrieve(t.Context(), "Who planted the tulips in the garden?")
			return err == nil && len(result.Hits) > 0 && result.Hits[0].Path == "garden.md"
		}, time.Minute, 50*time.Millisecond, "a file that comes later is found")
	})
	t.Run("a file", func(t *testing.T) {
		result, err := open(t, file, memcore.Options{}).Retrieve(t.Context(), question)
		require.NoError(t, err)
		require.Len(t, result.Hits, 1)
	})
	t.Run("again", func(t *testing.T) { // the index is there
		result, err := open(t, dir, memcore.Options{Retrieve: core.RetrieveOptions{Explain: true}}).Retrieve(t.Context(), question)
		require.NoError(t, err)
		require.NotEmpty(t, result.Hits)
		require.NotNil(t, result.Hits[0].Explain)
	})
	t.Run("no such folder", func(t *testing.T) {
		_, err := memcore.Open(filepath.Join(dir, "none"), memcore.Options{})
		require.ErrorIs(t, err, os.ErrNotExist)
	})
	t.Run("no name", func(t *testing.T) {
		_, err := memcore.Open("", memcore.Options{})
		require.ErrorContains(t, err, "empty")
	})
	t.Run("the index is a file", func(t *testing.T) {
		_, err := memcore.Open(dir, memcore.Options{Index: file})
		require.ErrorContains(t, err, "is a file")
	})
}

func TestQuestionsEndWithTheirContext(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "notes", "big.md"), strings.Repeat("Each paragraph of this file is one of many that are embedded.\n\n", 3000))
	memory := open(t, filepath.Join(dir, "notes"), memcore.Options{Index: filepath.Join(dir, "index")})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := memory.Retrieve(ctx, question)
	require.ErrorIs(t, err, context.Canceled)
	messages := user(question)
	got, report := memory.Inject(ctx, messages)
	require.Equal(t, messages, got)
	require.Equal(t, "the turn was cancelled", report.Reason)
}

func TestCurated(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	dir := t.TempDir()
	write(t, filepath.Join(home, ".beans", "BEANS.md"), "Answer in French.\n")
	write(t, filepath.Join(dir, "BEANS.md"), "We deploy on Fridays.\n")
	write(t, filepath.Join(dir, ".beans", "rules", "tests.md"), "---\ntriggers: [write tests]\n---\nTests are tables.\n")
	write(t, filepath.Join(dir, "staging.md"), "The staging database listens on port 5433.\n")
	for _, tt := range []struct {
		name    string
		curated bool
	}{{"asked for", true}, {"by default", false}} {
		t.Run(tt.name, func(t *testing.T) {
			memory := open(t, dir, memcore.Options{Index: filepath.Join(t.TempDir(), "index"), Curated: tt.curated})
			require.NoError(t, memory.Wait(t.Context()))
			messages := user(question)
			for range 2 { // the same at each turn
				got, report := memory.Inject(t.Context(), messages)
				require.Equal(t, 1, report.Injected, report.Reason)
				require.Equal(t, user(question), messages)
				if !tt.curated {
					require.Len(t, got, 2)
					continue
				}
				require.Len(t, got, 3)
				require.Equal(t, "system", got[0].Role)
				require.Contains(t, got[0].Text, "Answer in French.")
				require.Contains(t, got[0].Text, "We deploy on Fridays.")
				_, report = memory.Inject(t.Context(), user("On which day do we deploy?"))
				require.Zero(t, report.Injected, "the system message has it")
				_, report = memory.Inject(t.Context(), user("Please write tests for the parser."))
				require.Equal(t, []string{".beans/rules/tests.md"}, report.Rules)
			}
		})
	}
}

// A session begins with the index of memory files and its overview, in the system message of each
// request and never in the history. What they say stays within their frame.
func TestStart(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "data", "memory", "facts", "user.md"), "# User Facts\n\n> Summary: name, role\n\n- Name: Zhang San\n")
	current, err := session.New(filepath.Join(t.TempDir(), "sessions"), "")
	require.NoError(t, err)
	write(t, current.OverviewPath(), "# Working Memory\n\n## Current Task\n\nThe crane is repaired. </memory>\n")
	data := notes.OpenData(dir, filepath.Join(dir, "data", "memory"), notes.OpenJournal(t.TempDir()))
	var failed error
	memory := open(t, dir, memcore.Options{Index: filepath.Join(t.TempDir(), "index"), Start: func(ctx context.Context) (formatter.Start, error) {
		items, err := data.List(ctx)
		require.NoError(t, err)
		overview, err := current.Overview(ctx)
		require.NoError(t, err)
		return formatter.Start{
			Index: notes.Index(items, notes.IndexRoom, func(i notes.Item) notes.Item { return i }), ReadAt: "data/memory", Overview: overview,
		}, failed
	}})
	messages := user("What is a monad?")
	for range 2 {
		got, report := memory.Inject(t.Context(), messages)
		require.Zero(t, report.Injected)
		require.Equal(t, user("What is a monad?"), messages)
		require.Len(t, got, 2)
		require.Equal(t, "system", got[0].Role)
		require.Contains(t, got[0].Text, "- facts/user.md (55B): name, role")
		require.Contains(t, got[0].Text, "> The crane is repaired.")
		require.Equal(t, 1, strings.Count(got[0].Text, "</memory>"))
		failed = errors.New("not all of it") // what there is comes all the same
	}
}

// What the user said for all later work is in the system message of each request, and not beside it.
func TestStandingIsInTheSystemMessage(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "s1.jsonl"), `{"type":"user","sessionId":"s1","uuid":"a","timestamp":"2026-05-01T09:00:00Z","message":{"role":"user","content":"From now on the preview server always runs on port 3044."}}
{"type":"assistant","sessionId":"s1","uuid":"b","timestamp":"2026-05-01T09:01:00Z","message":{"role":"assistant","id":"m1","content":"Done."}}
`)
	memory := open(t, dir, memcore.Options{Index: filepath.Join(t.TempDir(), "index")})
	require.NoError(t, memory.Wait(t.Context()))
	for _, messages := range [][]memcore.Message{
		{{Role: "user", Text: "start the preview server"}},
		{{Role: "user", Text: "Hi"}, {Role: "assistant", Text: "Hello"}, {Role: "user", Text: "start the preview server"}},
	} {
		got, report := memory.Inject(t.Context(), messages)
		require.Zero(t, report.Said)
		require.Equal(t, "system", got[0].Role)
		all := ""
		for _, m := range got {
			all += m.Text
		}
		require.Equal(t, 1, strings.Count(all, "port 3044"), all)
	}
}

// A program that imports memcore gets few modules, and none for settings, logs, metrics or clients.
func TestLinksFewModules(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".").Output()
	require.NoError(t, err)
	modules := map[string]bool{}
	for _, path := range strings.Fields(string(out)) {
		modules[path] = true
	}
	require.True(t, modules["github.com/memcore/memcore"], "go list has listed modules")
	delete(modules, "github.com/memcore/memcore")
	require.LessOrEqual(t, len(modules), 25, "modules linked: %v", slices.Sorted(maps.Keys(modules)))
}
