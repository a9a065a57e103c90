package hook

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/journal"
	"github.com/memcore/memcore/inject/agents"
)

// Events after a shell's call, as agents send them.
var shellEvents = map[string]struct{ agent, event string }{
	"claude":             {agents.ClaudeCode, `{"session_id":"s","transcript_path":"/t.jsonl","cwd":"/p","prompt_id":"1","permission_mode":"default","hook_event_name":"PostToolUseFailure","tool_name":"Bash","tool_input":{"command":"go test ./...","description":"Run the tests"},"tool_use_id":"toolu_1","error":"Exit code 1\ngo: go.mod file not found in current directory or any parent directory; see 'go help modules'","is_interrupt":false,"duration_ms":16}`},
	"claude interrupted": {agents.ClaudeCode, `{"session_id":"s","cwd":"/p","hook_event_name":"PostToolUseFailure","tool_name":"Bash","tool_input":{"command":"go test ./..."},"error":"Exit code 137\ngo: go.mod file not found in current directory","is_interrupt":true}`},
	"claude worked":      {agents.ClaudeCode, `{"session_id":"s","cwd":"/p","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"go test ./..."},"tool_response":{"stdout":"go: go.mod file not found in current directory","stderr":"","interrupted":false,"isImage":false,"noOutputExpected":false},"tool_use_id":"toolu_1","duration_ms":851}`},
	"claude test failed": {agents.ClaudeCode, `{"session_id":"s","cwd":"/p","hook_event_name":"PostToolUseFailure","tool_name":"Bash","tool_input":{"command":"go test ./..."},"error":"Exit code 1\n--- FAIL: TestX (0.00s)\n    x_test.go:3: expected 1, got 2\nFAIL"}`},
	"claude other tool":  {agents.ClaudeCode, `{"session_id":"s","cwd":"/p","hook_event_name":"PostToolUseFailure","tool_name":"WebFetch","tool_input":{"url":"x"},"error":"connection refused"}`},
	"gemini":             {agents.GeminiCLI, `{"session_id":"s","transcript_path":"/t.json","cwd":"/p","hook_event_name":"AfterTool","timestamp":"2026-11-21T18:45:31.871Z","tool_name":"run_shell_command","tool_input":{"command":"go test ./...","description":"Run the tests"},"tool_response":{"llmContent":"Output: go: go.mod file not found in current directory or any parent directory; see 'go help modules'\nExit Code: 1\nProcess Group PGID: 4711","returnDisplay":"go: go.mod file not found"}}`},
	"gemini parts":       {agents.GeminiCLI, `{"session_id":"s","cwd":"/p","hook_event_name":"AfterTool","tool_name":"run_shell_command","tool_input":{"command":"go test ./..."},"tool_response":{"llmContent":[{"text":"go: go.mod file not found in current directory or any parent directory; see 'go help modules'"}],"returnDisplay":"","error":{"message":"it failed","type":"shell_execute_error"}}}`},
	"gemini worked":      {agents.GeminiCLI, `{"session_id":"s","cwd":"/p","hook_event_name":"AfterTool","tool_name":"run_shell_command","tool_input":{"command":"go test ./..."},"tool_response":{"llmContent":"Output: go: go.mod file not found in current directory\nExit Code: 0","returnDisplay":"","error":null}}`},
	"codex":              {agents.Codex, `{"session_id":"s","turn_id":"t","transcript_path":"/t.jsonl","cwd":"/p","hook_event_name":"PostToolUse","model":"m","permission_mode":"default","tool_name":"Bash","tool_input":{"command":"go test ./..."},"tool_response":"go: go.mod file not found in current directory or any parent directory; see 'go help modules'\n","tool_use_id":"u"}`},
	"codex worked":       {agents.Codex, `{"session_id":"s","turn_id":"t","cwd":"/p","hook_event_name":"PostToolUse","model":"m","tool_name":"Bash","tool_input":{"command":"go test ./..."},"tool_response":"ok  \texample.com/x\t0.01s\n","tool_use_id":"u"}`},
	"codex unknown":      {agents.Codex, `{"session_id":"s","turn_id":"t","cwd":"/p","hook_event_name":"PostToolUse","model":"m","tool_name":"Bash","tool_input":{"command":"go vet ./..."},"tool_response":"go: go.mod file not found in current directory\n","tool_use_id":"u"}`},
}

// What worked comes when a command fails as it did before, and only then.
func TestFailedBefore(t *testing.T) {
	const asked = "go test: go: … file not found in current directory or any parent directory; see …"
	for name, want := range map[string]string{
		"claude": asked, "gemini": asked, "gemini parts": asked, "codex": asked,
		"claude interrupted": "", "claude worked": "", "claude test failed": "", "claude other tool": "", "gemini worked": "", "codex worked": "",
		"codex unknown": "go vet: go: … file not found in current directory",
	} {
		t.Run(name, func(t *testing.T) {
			sent := shellEvents[name]
			e, err := Parse(sent.agent, []byte(sent.event))
			require.NoError(t, err)
			require.Equal(t, Tool, e.Kind)
			m, o := &fakeMemory{}, Options{Journal: testJournal(t)}
			reply, entry, recorded := Handle(t.Context(), e, m, o)
			require.Empty(t, entry.Problems)
			require.Equal(t, want, strings.Join(m.failed, ";"))
			require.Equal(t, want == "", e.Failed == nil, "nothing is opened for what worked")
			require.Equal(t, want == asked, recorded)
			if want != asked {
				require.Empty(t, reply)
				return
			}
			var answer struct {
				Output struct{ HookEventName, AdditionalContext string } `json:"hookSpecificOutput"`
			}
			require.NoError(t, json.Unmarshal(reply, &answer))
			require.Equal(t, e.Name, answer.Output.HookEventName)
			plain := strings.NewReplacer("\n| ", "\n> ", "[/memory]", "</memory>").Replace(answer.Output.AdditionalContext) // of Gemini CLI
			require.Contains(t, plain, "• This failed so before, in 2 sessions (source: a.jsonl#L3)\n> then failed: `go test ./x`\n> then worked: `cd server && go test ./...`\n</memory>")
			require.Equal(t, []journal.Given{{Kind: journal.Failure, Key: "failure-1", Source: "a.jsonl#L3", Path: "a.jsonl", Title: "cd server && go test ./..."}}, entry.Given)

			reply, _, recorded = Handle(t.Context(), e, m, o)
			require.Empty(t, reply, "once a session")
			require.False(t, recorded)
			e.Session = "other"
			reply, _, _ = Handle(t.Context(), e, m, o)
			require.NotEmpty(t, reply)
		})
	}
}

// What worked stands beside rules for the files of the command; a failure of memory costs neither.
func TestFailedWithRules(t *testing.T) {
	e, err := Parse(agents.ClaudeCode, []byte(strings.ReplaceAll(shellEvents["claude"].event, "go test ./...", "go test ./web/a.go")))
	require.NoError(t, err)
	m := &fakeMemory{rules: map[string]string{"web/BEANS.md": "Use tabs."}}
	reply, entry, _ := Handle(t.Context(), e, m, Options{Journal: testJournal(t)})
	require.Contains(t, string(reply), `"Use tabs.\n\n## Relevant Memory`)
	require.Len(t, entry.Given, 3)
	m.err = errors.New("no disk")
	reply, entry, _ = Handle(t.Context(), e, m, Options{Journal: testJournal(t)})
	require.Contains(t, string(reply), `go test`)
	require.NotEmpty(t, entry.Problems)
}
