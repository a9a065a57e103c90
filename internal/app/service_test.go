package app

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/embed/pack/packtest"
	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/inject/hook"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/app/apptest"
	"github.com/memcore/memcore/internal/app/models"
)

// A service opened before the first index keeps an index of its own engine, and reopens one of
// another.
func TestServiceFollowsTheEngineOfItsIndex(t *testing.T) {
	t.Setenv("MEMCORE_ENGINE", "flat")
	s := openTestService(t, map[string]string{"notes.md": "# Staging\n\nIt listens on port 5433.\n"})
	require.False(t, s.Outdated())
	_, err := s.Reindex(t.Context(), httpapi.IndexRequest{})
	require.NoError(t, err)
	require.False(t, s.Outdated(), "after its own first index")

	manifests, err := filepath.Glob(filepath.Join(s.at.Index, "*", "manifest.json"))
	require.NoError(t, err)
	require.NotEmpty(t, manifests)
	for _, file := range manifests {
		require.NoError(t, apptest.RewriteManifest(file, `"engine":"[a-z]*"`, `"engine":"lancedb"`))
	}
	require.True(t, s.Outdated(), "after one of another engine")
}

// A daemon that is running takes a model pack that is added, or added again.
func TestServiceFollowsTheModelPack(t *testing.T) {
	t.Setenv("MEMCORE_EMBEDDER", "small")
	s := openTestService(t, map[string]string{"notes.md": "# Staging\n\nIt listens on port 5433.\n"})
	require.False(t, s.Outdated())
	file := filepath.Join(t.TempDir(), "small.memcore")
	require.NoError(t, os.WriteFile(file, packtest.Small(t, "small"), 0o600))
	_, err := models.Folder(s.at.Models()).Add(t.Context(), file)
	require.NoError(t, err)
	require.True(t, s.Outdated())
}

// One service answers all sessions and clients: what one got is not withheld from another.
func TestServiceKeepsNoSession(t *testing.T) {
	s := openTestService(t, map[string]string{"BEANS.md": "Ours.", "web/BEANS.md": "The web.", "api/BEANS.md": "The API.", ".beans/rules/go.md": "---\nglobs: '*.go'\n---\nRun gofmt."})
	project, web := s.Project, filepath.Join(s.Project, "web")
	s.Settings.FolderTrust.Enabled = false

	for range 2 {
		reply, err := s.Context(t.Context(), httpapi.ContextRequest{Paths: []string{"web/a.go"}})
		require.NoError(t, err)
		require.Equal(t, "## Memory Core: Project Context\n\nRun gofmt.\n\nThe web.", reply.Text)
	}

	hook := func(current, event string) string {
		t.Helper()
		data, err := json.Marshal(map[string]any{"session_id": current, "cwd": web, "hook_event_name": event, "source": "startup", "tool_name": "Read",
			"tool_input": map[string]any{"paths": []string{filepath.Join(web, "x"), filepath.Join(project, "api", "a.go")}}})
		require.NoError(t, err)
		reply, err := s.Hook(t.Context(), httpapi.HookRequest{Target: httpapi.Target{Workspace: web}, Agent: "claude-code", Event: data})
		require.NoError(t, err)
		return reply.Reply
	}
	require.Contains(t, hook("a", "SessionStart"), `Ours.\n\nThe web.`, "the folder that the agent works in, not only the workspace")
	require.Contains(t, hook("a", "PostToolUse"), `Instructions for api/\n\nRun gofmt.\n\nThe API."`)
	require.Empty(t, hook("a", "PostToolUse"))
	require.Contains(t, hook("b", "PostToolUse"), `Instructions for web/ and api/\n\nRun gofmt.\n\nThe web.\n\nThe API."`, "a session whose start nobody saw")
}

// A problem with private files and git is reported once, in a trace that is kept.
func TestProblemsOfPrivateFilesAreSaidOnce(t *testing.T) {
	s := openTestService(t, map[string]string{"BEANS.local.md": "Mine.", ".gitignore": "build/\n"})
	require.NoError(t, os.Chmod(filepath.Join(s.Project, ".gitignore"), 0o400))
	s.Settings.FolderTrust.Enabled = false
	var log strings.Builder
	s.Log = slog.New(slog.NewTextHandler(&log, nil))

	for range 3 {
		_, err := s.Context(t.Context(), httpapi.ContextRequest{})
		require.NoError(t, err)
	}
	require.Equal(t, 1, strings.Count(log.String(), "git would commit"), log.String())
	answer := func(event string) []string {
		s.HookReply(t.Context(), hook.Event{Agent: agents.ClaudeCode, Kind: hook.Kind(event), Session: "a", Prompt: "which port?"})
		entries, err := s.Use().Entries()
		require.NoError(t, err)
		if len(entries) == 0 {
			return nil
		}
		return entries[len(entries)-1].Notes
	}
	require.Empty(t, answer("turn end"))
	said := answer("prompt")
	require.Len(t, said, 1)
	require.Contains(t, said[0], "git would commit BEANS.local.md, which is private")
	require.Empty(t, answer("prompt"))
}
