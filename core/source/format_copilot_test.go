package source

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Copilot's sessions name their folder beside the log, or in its first event.
func TestKnownCopilot(t *testing.T) {
	home := tree(t, nil)
	t.Setenv("XDG_CONFIG_HOME", "")
	shop := filepath.Join(home, "my shop")
	write(t, filepath.Join(shop, "README.md"), "")
	storage := filepath.Join(settingsFolder(home), "Code", "User", "workspaceStorage")
	chat, err := os.ReadFile(filepath.Join("testdata", "copilot-chat.json"))
	require.NoError(t, err)
	write(t, filepath.Join(storage, "a1", "workspace.json"), `{"folder":"file://`+filepath.ToSlash(home)+`/my%20shop"}`)
	write(t, filepath.Join(storage, "a1", "chatSessions", "c.json"), string(chat))
	write(t, filepath.Join(storage, "b2", "workspace.json"), `{"folder":"file:///other"}`)
	write(t, filepath.Join(storage, "b2", "chatSessions", "d.json"), string(chat))

	event := func(cwd string) string {
		return `{"type":"session.start","data":{"sessionId":"s","context":{"cwd":"` + cwd + `"}},"id":"e","timestamp":"2026-07-30T08:00:00Z"}` + "\n"
	}
	states := filepath.Join(home, ".copilot", "session-state")
	write(t, filepath.Join(states, "s1", "events.jsonl"), event(filepath.ToSlash(shop)))
	write(t, filepath.Join(states, "s2", "events.jsonl"), event("/other"))
	write(t, filepath.Join(states, "s3", "events.jsonl"), `{"type":"session.start","data":{"sessionId":"s"},"id":"e","timestamp":"2025-12-30T08:00:00Z"}`+"\n")
	write(t, filepath.Join(states, "s3", "workspace.yaml"), "id: s3\ncwd: "+shop+"\n")
	write(t, filepath.Join(states, "s3", "files", "notes.md"), "# No log")
	var got []string
	for _, s := range knownOf(shop, home) {
		got = append(got, pathsOf(listOf(t, s))...)
	}
	require.Equal(t, []string{
		"~/.copilot/session-state/s1/events.jsonl", "~/.copilot/session-state/s3/events.jsonl",
		NewFolder(FolderOptions{Path: storage, Home: home}).Name() + "/a1/chatSessions/c.json",
	}, got)
}

// A request of a document that is broken costs only itself, wherever it is cut off.
func TestSpoiltCopilotChat(t *testing.T) {
	request := func(n int) string {
		return fmt.Sprintf(`{"requestId":"r%d","message":{"text":"question %d"},"response":[{"value":"answer %d"}],"timestamp":1787220000000}`, n, n, n)
	}
	read := func(second string) (said []string, skipped map[string]int) {
		text := `{"version":3,"sessionId":"s","requests":[` + request(1) + "," + second + "," + request(3) + `],"creationDate":1}`
		return readSpoilt(t, t.TempDir(), "s.json", text)
	}
	whole, skipped := read(request(2))
	require.Len(t, whole, 6)
	require.Empty(t, skipped)
	for at := 1; at < len(request(2)); at++ {
		said, skipped := read(request(2)[:at])
		require.Empty(t, missing([]string{"question 1", "answer 1", "question 3", "answer 3"}, said), request(2)[:at])
		require.Empty(t, missing(said, whole), request(2)[:at])
		require.Equal(t, 1, sum(skipped), "%s: %v", request(2)[:at], skipped)
	}
	_, skipped = read(request(2)[:60])
	require.Equal(t, map[string]int{fmt.Sprintf("request 2, at byte %d, is broken", 42+len(request(1))): 1}, skipped)
	said, skipped := read(`{"requestId":"r2","message":7,"response":[{"value":"answer 2"}]}`)
	require.Equal(t, missing(whole, said), []string{"question 2"})
	require.Len(t, skipped, 1)
}
