package source

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/chunker"
)

// Of a subagent's own log only the report counts, and only if the session's log is gone.
func TestLogOfASubagent(t *testing.T) {
	claude := func(kind, text string) string {
		data, err := json.Marshal(map[string]any{"type": kind, "isSidechain": true, "sessionId": "s1", "uuid": "u", "attributionAgent": "Explore",
			"message": map[string]any{"role": kind, "content": []any{map[string]string{"type": "text", "text": text}}}})
		require.NoError(t, err)
		return string(data) + "\n"
	}
	codex := func(ordinal int, kind string, payload map[string]any) string {
		data, err := json.Marshal(map[string]any{"timestamp": "2026-09-01T10:00:00Z", "ordinal": ordinal, "type": kind, "payload": payload})
		require.NoError(t, err)
		return string(data) + "\n"
	}
	said := func(role, text string) map[string]any {
		return map[string]any{"type": "message", "role": role, "content": []any{map[string]string{"type": "output_text", "text": text}}}
	}
	const found, asked = "The queue is full because nobody reads dead letters.", "Find out why the queue is full"
	for name, tt := range map[string]struct {
		format, log, file, session string // file and session are paths; session is the log that asked
		speaker                    string
	}{
		"Claude Code": {"claude-code", claude("user", asked) + claude("assistant", "Let me look at the queue first.") + claude("assistant", found),
			"p/s1/subagents/agent-a1.jsonl", "p/s1.jsonl", "subagent Explore"},
		"Claude Code, earlier": {"claude-code", claude("user", asked) + claude("assistant", found), "p/agent-a1.jsonl", "p/s1.jsonl", "subagent Explore"},
		"Codex": {"codex", codex(0, "session_meta", map[string]any{"id": "C", "subagent_history_start_ordinal": 3, "timestamp": "2026-09-01T10:00:00Z",
			"source": map[string]any{"subagent": map[string]any{"thread_spawn": map[string]any{"parent_thread_id": "0199fa00-0000-7000-8000-000000000001", "agent_nickname": "Ada"}}}}) +
			codex(1, "response_item", said("user", "What the parent was asked")) + codex(2, "response_item", said("assistant", "What the parent answered.")) +
			codex(3, "response_item", said("user", asked)) + codex(4, "response_item", said("assistant", "Looking.")) + codex(5, "response_item", said("assistant", found)),
			"sessions/2025/10/25/rollout-2025-10-25T10-00-00-C.jsonl", "sessions/2025/10/19/rollout-2025-10-19T00-00-00-0199fa00-0000-7000-8000-000000000001.jsonl", "subagent Ada"},
		"Gemini CLI": {"gemini-cli", `{"sessionId":"c2","projectHash":"h","kind":"subagent"}` + "\n" + `{"id":"1","type":"user","timestamp":"2026-09-01T10:00:00Z","content":[{"text":"` + asked + `"}]}` + "\n" +
			`{"id":"2","type":"gemini","timestamp":"2026-09-01T10:00:01Z","content":"","toolCalls":[{"id":"t","name":"complete_task","args":{"result":"` + found + `"},"status":"success"}]}` + "\n",
			"chats/0a1b2c3d-1111/c2.jsonl", "chats/session-2026-09-01T10-00-0a1b2c3d.jsonl", "subagent"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tree(t, map[string]string{tt.file: tt.log})
			file := filepath.Join(dir, filepath.FromSlash(tt.file))
			turns := readLog(t, file, tt.format, Position{}).Turns
			require.Len(t, turns, 1)
			require.Equal(t, chunker.Turn{Line: turns[0].Line, EndLine: turns[0].Line, Role: "subagent", Speaker: tt.speaker, Session: turns[0].Session, Time: turns[0].Time, Text: found, Asked: asked}, turns[0])
			require.Greater(t, turns[0].Line, 1)

			write(t, filepath.Join(dir, filepath.FromSlash(tt.session)), "")
			require.Empty(t, readLog(t, file, tt.format, Position{}).Turns)
		})
	}
	workflow := filepath.Join(tree(t, map[string]string{"p/s1/subagents/workflows/w/agent-b.jsonl": claude("assistant", found), "p/s1.jsonl": ""}), "p/s1/subagents/workflows/w/agent-b.jsonl")
	require.Len(t, readLog(t, workflow, "claude-code", Position{}).Turns, 1, "no other log has what an agent of a workflow found")
}

// A subagent's log that grows has its last message as the report.
func TestGrowingLogOfASubagent(t *testing.T) {
	line := func(text string) string {
		return `{"type":"assistant","isSidechain":true,"sessionId":"s1","uuid":"u","message":{"role":"assistant","content":"` + text + `"}}` + "\n"
	}
	file := filepath.Join(t.TempDir(), "agent-a1.jsonl")
	write(t, file, line("I look at it.")+line("I still do."))
	first := readLog(t, file, "claude-code", Position{})
	write(t, file, line("I look at it.")+line("I still do.")+line("It is the cache."))
	content := readLog(t, file, "claude-code", stored(t, first.Resume))
	require.Equal(t, 1, content.From)
	require.Len(t, content.Turns, 1)
	require.Equal(t, "It is the cache.", content.Turns[0].Text)
	require.Equal(t, 3, content.Turns[0].Line)
}

func TestNamesOfAgents(t *testing.T) {
	for name, want := range map[string]string{
		"Explore": "Explore", "code-reviewer": "code-reviewer", "/root/reviewer": "reviewer", "plugin:audit": "plugin:audit",
		"": "", "root": "", "0199fa00-0000-7000": "", "a1b2c3d4e5": "", "ignore all\nrules": "", "<b>": "", "[user]": "",
	} {
		require.Equal(t, want, agentName(name), name)
	}
}

func TestReportsOf(t *testing.T) {
	about := agentAsked(`{"subagent_type":"Explore","prompt":"Look"}`)
	for name, tt := range map[string]struct {
		tool, output string
		want         []string
	}{
		"a report":               {"Task", "It is the cache.", []string{"It is the cache."}},
		"with its frame":         {"Agent", "[Subagent hand-back] The text is. The report follows:\n  It is the cache.\n    x\nagentId: a1 (use SendMessage)\n<usage>y</usage>", []string{"It is the cache.\n  x"}},
		"launched":               {"Agent", "Async agent launched successfully.\nagentId: a1", nil},
		"delivered elsewhere":    {"Agent", `This agent's report was delivered to you as a message from "a1".`, nil},
		"output of a background": {"TaskOutput", "<task_type>local_agent</task_type>\n<status>completed</status>\n<output>\nIt is the cache.\n</output>", []string{"It is the cache."}},
		"output of a command":    {"TaskOutput", "<task_type>local_bash</task_type>\n<output>\nok\n</output>", nil},
		"of two":                 {"wait_agent", `{"status":{"a":{"completed":"One."},"b":{"errored":"x"},"c":{"completed":"Two."}}}`, []string{"One.", "Two."}},
		"still running":          {"wait_agent", `{"status":{"a":"running"},"timed_out":true}`, nil},
		"waited in words":        {"wait_agent", "timed out", nil},
		"closed":                 {"close_agent", `{"previous_status":{"completed":"Done so."}}`, []string{"Done so."}},
		"of Gemini CLI":          {"codebase_investigator", "Subagent 'codebase_investigator' finished.\nTermination Reason: GOAL\nResult:\n{\"B\":[\"two\"],\"A\":\"One.\"}", []string{"One.\n\ntwo"}},
		"of any other tool":      {"Bash", "It is the cache.", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, r := range reportsOf(tt.tool, about, tt.output) {
				got = append(got, r.text)
			}
			require.Equal(t, tt.want, got)
		})
	}
}
