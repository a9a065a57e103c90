package source

import (
	"encoding/json"
	"fmt"
)

// pi reads the sessions of the pi coding agent, ~/.pi/agent/sessions/--<cwd>--/*.jsonl, and of agents
// that write the same entries, such as ~/.ai/sessions/--<cwd>--/<session>/messages.jsonl.
//
// The format was read from github.com/badlogic/pi-mono (packages/coding-agent/docs/session.md and
// src/core/session-manager.ts) and github.com/tiancaiamao/ai (pkg/session/entries.go,
// pkg/context/message.go), in 2026-11. The first line is the session; entries form a tree, of which
// all branches were said. Thinking and messages that were not shown to the user are left out.
type pi struct{}

func (pi) name() string { return "pi" }

// piQuiet are entries that say nothing of the conversation.
var piQuiet = map[string]bool{
	"session_info": true, "session_state": true, "model_change": true, "thinking_level_change": true, "custom": true,
	"label": true, "compact_event": true, "leaf": true,
}

func (pi) sniff(f fields) bool {
	switch f["type"] {
	case "session":
		return f.has("id") && (f.has("cwd") || f.has("version"))
	case "message":
		return f["message"] == "{" && f.has("message.role")
	case "": // messages without entries around them, as early versions wrote
		return f.has("role", "content") && (f.has("user_visible") || f.has("toolCallId"))
	}
	return false
}

type piEntry struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Timestamp json.RawMessage `json:"timestamp"`
	Summary   string          `json:"summary"`
	Message   json.RawMessage `json:"message"`
}

type piMessage struct {
	Role        string          `json:"role"`
	Content     json.RawMessage `json:"content"`
	Timestamp   json.RawMessage `json:"timestamp"`
	ToolCallID  string          `json:"toolCallId"`
	ToolName    string          `json:"toolName"`
	IsError     bool            `json:"isError"`
	Command     string          `json:"command"`
	Output      string          `json:"output"`
	ExitCode    int             `json:"exitCode"`
	Summary     string          `json:"summary"`
	Display     *bool           `json:"display"`
	UserVisible *bool           `json:"user_visible"`
	Metadata    struct {
		UserVisible *bool `json:"userVisible"`
	} `json:"metadata"`
}

func (pi) parse(c *conversation, r record) string {
	var in piEntry
	if json.Unmarshal(r.json, &in) != nil {
		return unreadable(r.json)
	}
	out := message{time: parseTime(in.Timestamp)}
	switch {
	case in.Type == "session":
		c.time = out.time
		if in.ID != "" && in.ID != "messages" { // named after the file, like others of its family
			c.session = in.ID
		}
	case in.Type == "compaction" || in.Type == "branch_summary":
		c.add(r, message{role: "system", speaker: summarySpeaker, time: out.time, text: in.Summary})
	case in.Type == "message":
		return piSaid(c, r, out, in.Type, in.Message)
	case in.Type == "" || in.Type == "custom_message": // is the message itself
		return piSaid(c, r, out, in.Type, r.json)
	case !piQuiet[in.Type]:
		return fmt.Sprintf("unknown type %q", in.Type)
	}
	return ""
}

// piSaid adds a message that stands in an entry of a type.
func piSaid(c *conversation, r record, out message, entry string, raw json.RawMessage) string {
	var m piMessage
	if json.Unmarshal(raw, &m) != nil {
		return unreadable(raw)
	}
	if said := parseTime(m.Timestamp); !said.IsZero() {
		out.time = said
	}
	if m.hidden() {
		return ""
	}
	held := parseContent(m.Content)
	if entry == "custom_message" {
		m.Role = "custom"
	}
	switch m.Role {
	case "user", "assistant":
		out.role, out.text, out.calls, out.results = m.Role, held.text(), held.calls, held.results
	case "custom", "hookMessage": // an extension's, in the user's place
		out.role, out.text = "user", held.text()
	case "toolResult", "tool_result", "tool":
		out.role = "tool"
		out.results = []result{{id: m.ToolCallID, name: m.ToolName, output: held.text(), failed: m.IsError}}
	case "bashExecution":
		out.role = "user"
		out.calls = []call{{name: "bash", input: m.Command, output: m.Output, done: true, failed: m.ExitCode != 0}}
	case "branchSummary", "compactionSummary":
		out.role, out.speaker, out.text = "system", summarySpeaker, m.Summary
	case "system", "developer":
		return ""
	case "":
		return "no role"
	default:
		return fmt.Sprintf("unknown role %q", m.Role)
	}
	c.add(r, out)
	return ""
}

// hidden tells messages that only the model was shown, such as state that the program injects.
func (m piMessage) hidden() bool {
	for _, shown := range []*bool{m.Display, m.UserVisible, m.Metadata.UserVisible} {
		if shown != nil && !*shown {
			return true
		}
	}
	return false
}
