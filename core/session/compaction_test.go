package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Each summary of a log becomes one note without secrets, whichever agent wrote it, and however
// often the log is read.
func TestKeepSummary(t *testing.T) {
	const (
		claude = `{"type":"user","sessionId":"s","cwd":"/p","timestamp":"2026-11-27T13:04:28Z","message":{"role":"user","content":"go on"}}
{"type":"user","sessionId":"s","cwd":"/p","timestamp":"2026-11-27T13:04:29Z","isCompactSummary":true,"message":{"role":"user","content":"The crane is repaired. password: Hj7kQ29xLm4"}}
{"type":"user","sessionId":"s","cwd":"/p","timestamp":"2026-11-27T13:05:29Z","message":{"role":"user","content":"and now?"}}
`
		later = `{"type":"user","sessionId":"s","cwd":"/p","timestamp":"2026-11-27T14:00:00Z","isCompactSummary":true,"message":{"role":"user","content":"The winch is oiled."}}
`
		codex = `{"timestamp":"2026-11-27T13:04:28Z","type":"session_meta","payload":{"id":"s","cwd":"/p","timestamp":"2026-11-27T13:04:28Z"}}
{"timestamp":"2026-11-27T13:04:29Z","type":"compacted","payload":{"message":"The crane is repaired."}}
`
		gemini = `{"sessionId":"s","projectHash":"ab","startTime":"2026-11-27T13:00:00Z","lastUpdated":"2026-11-27T13:00:00Z","kind":"main"}
{"id":"g1","timestamp":"2026-11-27T13:04:28Z","type":"user","content":[{"text":"go on"}]}
{"$set":{"messages":[{"id":"g7","timestamp":"2026-11-27T13:04:29Z","type":"user","content":[{"text":"<scratchpad>think</scratchpad>\n<state_snapshot>\nThe crane is repaired.\n</state_snapshot>"}]},{"id":"g8","timestamp":"2026-11-27T13:04:29Z","type":"gemini","content":[{"text":"Got it. Thanks for the additional context!"}]}],"lastUpdated":"2026-11-27T13:04:30Z"}}
{"id":"g9","timestamp":"2026-11-27T13:05:28Z","type":"user","content":[{"text":"and now?"}]}
{"$set":{"messages":[{"id":"g7","timestamp":"2026-11-27T13:04:29Z","type":"user","content":[{"text":"<state_snapshot>\nThe crane is repaired.\n</state_snapshot>"}]}],"lastUpdated":"2026-11-27T13:06:30Z"}}
`
		first, second = "2026-11-27T13-04-29Z-compaction.md", "2026-11-27T14-00-00Z-compaction.md"
	)
	for _, tt := range []struct {
		name string
		logs []string
		want map[string]string
	}{
		{"no compaction", []string{claude[:len(claude)/3]}, nil},
		{"Claude Code", []string{claude, claude}, map[string]string{first: "The crane is repaired. password: [redacted: password]\n"}},
		{"twice", []string{claude, claude + later}, map[string]string{first: "The crane", second: "The winch is oiled.\n"}},
		{"Codex", []string{codex}, map[string]string{first: "The crane is repaired.\n"}},
		{"Gemini CLI", []string{gemini, gemini}, map[string]string{first: "-->\n\nThe crane is repaired.\n"}},
		{"the log is gone", []string{""}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := New(t.TempDir(), "claude-code-s")
			require.NoError(t, err)
			log := filepath.Join(t.TempDir(), "rollout-s.jsonl")
			for _, text := range tt.logs {
				if text != "" {
					require.NoError(t, os.WriteFile(log, []byte(text), 0o600))
				}
				require.NoError(t, s.KeepSummary(t.Context(), log))
			}
			notes, err := os.ReadDir(filepath.Join(s.WorkingDir(), detailName))
			require.NoError(t, err)
			require.Len(t, notes, len(tt.want))
			for name, want := range tt.want {
				note, err := os.ReadFile(filepath.Join(s.WorkingDir(), detailName, name))
				require.NoError(t, err)
				require.Contains(t, string(note), want)
			}
		})
	}
}

// A log says when its agent compacted its history last.
func TestCompacted(t *testing.T) {
	const summary = `{"type":"user","sessionId":"s","cwd":"/p","timestamp":"2026-11-27T13:04:29Z","isCompactSummary":true,"message":{"role":"user","content":"The crane is repaired."}}
`
	log := filepath.Join(t.TempDir(), "s.jsonl")
	for _, tt := range []struct{ text, want string }{
		{"", "0001-01-01T00:00:00Z"},
		{strings.ReplaceAll(summary, `"isCompactSummary":true,`, ""), "0001-01-01T00:00:00Z"},
		{summary, "2026-11-27T13:04:29Z"},
		{summary + strings.ReplaceAll(summary, "13:04", "15:04"), "2026-11-27T15:04:29Z"},
	} {
		if tt.text != "" {
			require.NoError(t, os.WriteFile(log, []byte(tt.text), 0o600))
		}
		at, err := Compacted(t.Context(), log)
		require.NoError(t, err)
		require.Equal(t, tt.want, at.UTC().Format(time.RFC3339), tt.text)
	}
}
