package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/use"
	"github.com/memcore/memcore/inject/hook"
	"github.com/memcore/memcore/inject/httpapi"
)

// A service that is kept open judges apart from the hooks: at the end of a turn, and, if an agent
// has not said that it ended, at the next prompt.
func TestServiceJudges(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", filepath.Join(dir, "home"))
	t.Setenv("USERPROFILE", filepath.Join(dir, "home"))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	t.Setenv("LOCALAPPDATA", filepath.Join(dir, "cache"))
	project := filepath.Join(dir, "project")
	for _, folder := range []string{filepath.Join(dir, "home"), filepath.Join(project, ".git")} {
		require.NoError(t, os.MkdirAll(folder, 0o700))
	}
	require.NoError(t, os.WriteFile(filepath.Join(project, "staging.md"), []byte("# Staging\n\nThe staging database listens on port 5433.\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(project, "ferry.md"), []byte("# Ferry\n\nThe ferry leaves from pier K17 in the morning.\n"), 0o600))
	a := &app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard, cwd: project}
	s, err := a.openService(t.Context(), project)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	_, err = s.Reindex(t.Context(), httpapi.IndexRequest{})
	require.NoError(t, err)

	transcript := filepath.Join(dir, "session.jsonl")
	said := func(role, text string) {
		file, err := os.OpenFile(transcript, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		require.NoError(t, err)
		line := fmt.Sprintf(`{"type":%q,"sessionId":"s","uuid":"u","timestamp":%q,"message":{"id":%q,"role":%q,"content":%q}}`, role, time.Now().Format(time.RFC3339Nano), text, role, text)
		_, err = file.WriteString(line + "\n")
		require.NoError(t, err)
		require.NoError(t, file.Close())
	}
	send := func(event map[string]string) httpapi.HookReply {
		event["session_id"], event["transcript_path"] = "s", transcript
		data, err := json.Marshal(event)
		require.NoError(t, err)
		answer, err := s.Hook(t.Context(), httpapi.HookRequest{Agent: hook.ClaudeCode, Event: data})
		require.NoError(t, err)
		keepReceipt(t.Context(), answer.Given, answer.Use, answer.Receipt)
		return answer
	}
	prompt := func(text string) string {
		answer := send(map[string]string{"hook_event_name": "UserPromptSubmit", "prompt": text})
		said("user", text)
		require.NotEmpty(t, answer.Reply, text)
		return answer.Receipt.Turn.ID
	}
	log := use.NewLog(s.at.use())
	verdict := func(turn string) use.Verdict {
		found, ok, err := log.Turn(t.Context(), turn)
		require.NoError(t, err)
		require.True(t, ok)
		return found.Hits[0].Used
	}

	interrupted := prompt("where does the staging database listen?")
	said("assistant", "On 5433, I think.")
	next := prompt("from which pier does the ferry leave?")
	said("assistant", "I cannot tell you.")
	send(map[string]string{"hook_event_name": "Stop"})
	require.Equal(t, use.Unknown, verdict(interrupted), "a hook waits for no verdict")

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); s.judgeAll(ctx) }()
	for verdict(next) == use.Unknown && ctx.Err() == nil {
		time.Sleep(5 * time.Millisecond) // until the test's own time is over
	}
	require.Equal(t, use.Yes, verdict(interrupted))
	require.Equal(t, use.No, verdict(next))
	stop()
	<-ended

	for range 3 * mostJudging { // nobody judges any more, and nobody waits for it
		require.NoError(t, s.Used(t.Context(), hook.Event{Agent: hook.ClaudeCode, Session: "s"}))
	}

	require.NoError(t, s.forgetStatement(t.Context(), notes.Place{Dir: project, Name: "staging.md"}, notes.Change{}))
	_, ok, err := log.Turn(t.Context(), interrupted)
	require.NoError(t, err)
	require.False(t, ok)
	require.NoError(t, s.forgetStatement(t.Context(), notes.Place{Dir: project, Name: "other.md"}, notes.Change{Diff: "--- other.md\n+++ other.md\n-- Which pier\tdoes the Ferry\n"}))
	_, ok, err = log.Turn(t.Context(), next)
	require.NoError(t, err)
	require.False(t, ok, "its prompt says what was forgotten")
}
