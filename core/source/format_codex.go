package source

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
)

// Codex CLI keeps its sessions in ~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl.
//
// This follows github.com/openai/codex (2026-11): codex-rs/protocol/src/models.rs,
// codex-rs/protocol/src/protocol.rs and codex-rs/rollout/src/policy.rs. A line has a timestamp, a
// type and a payload; before September 2025, only the payload. The response items are the
// conversation; event_msg lines repeat them. Left out are reasoning, developer messages, and what
// the program writes in the user's name.

// codexFolders hold the sessions of all workspaces.
func codexFolders(workspace []string, home string) []FolderOptions {
	return []FolderOptions{
		{Path: filepath.Join(home, ".codex", "sessions"), SessionsIn: workspace},
		{Path: filepath.Join(home, ".codex", "archived_sessions"), SessionsIn: workspace},
	}
}

// codexEnvelopes are the types of lines with a payload.
var codexEnvelopes = map[string]bool{
	"session_meta": true, "response_item": true, "compacted": true, "event_msg": true, "turn_context": true,
	"world_state": true, "inter_agent_communication": true, "inter_agent_communication_metadata": true,
}

// codexIgnored are response items that are not part of the conversation.
var codexIgnored = map[string]bool{
	"reasoning": true, "ghost_snapshot": true, "compaction": true, "compaction_summary": true, "context_compaction": true,
	"compaction_trigger": true, "additional_tools": true, "agent_message": true, "image_generation_call": true, "other": true,
}

func sniffCodex(f fields) bool {
	switch {
	case codexEnvelopes[f["type"]]:
		return f["payload"] == "{"
	case f["type"] == "message":
		return f.has("role", "content") && f["message"] != "{"
	case f["type"] == "":
		return f["record_type"] == "state" || f.has("id", "timestamp", "instructions")
	}
	return codexCall(f["type"]) && (f.has("call_id") || f.has("action"))
}

func codexCall(kind string) bool {
	return strings.HasSuffix(kind, "_call") || strings.HasSuffix(kind, "_call_output")
}

type codexLine struct {
	Type       string          `json:"type"`
	Timestamp  json.RawMessage `json:"timestamp"`
	Payload    json.RawMessage `json:"payload"`
	RecordType string          `json:"record_type"`
	ID         string          `json:"id"`
}

func parseCodex(c *conversation, r record) string {
	var in codexLine
	if json.Unmarshal(r.json, &in) != nil {
		return unreadable(r.json)
	}
	at := parseTime(in.Timestamp)
	switch in.Type {
	case "session_meta":
		return parseCodexMeta(c, in.Payload)
	case "compacted":
		var summary struct{ Message string }
		_ = json.Unmarshal(in.Payload, &summary)
		c.add(r, message{role: "system", speaker: summarySpeaker, time: at, text: summary.Message})
		return ""
	case "response_item":
		return parseCodexItem(c, r, message{time: at}, in.Payload)
	case "":
		if in.RecordType == "" && in.ID == "" {
			return "no type"
		}
		if in.RecordType == "" && !c.known { // the first line of old logs
			c.session, c.time, c.known = in.ID, at, true
		}
		return ""
	}
	if codexEnvelopes[in.Type] {
		return ""
	}
	return parseCodexItem(c, r, message{time: at}, r.json)
}

// parseCodexMeta reads the first line. A fork repeats its parent's.
func parseCodexMeta(c *conversation, payload json.RawMessage) string {
	var meta struct {
		ID        string          `json:"id"`
		Timestamp json.RawMessage `json:"timestamp"`
	}
	if json.Unmarshal(payload, &meta) != nil {
		return unreadable(payload)
	}
	if meta.ID != "" && !c.known {
		c.session, c.time, c.known = meta.ID, parseTime(meta.Timestamp), true
	}
	return ""
}

type codexResponse struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	ID        string          `json:"id"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Input     json.RawMessage `json:"input"`
	Action    json.RawMessage `json:"action"`
	Output    json.RawMessage `json:"output"`
	Tools     json.RawMessage `json:"tools"`
}

func parseCodexItem(c *conversation, r record, out message, payload json.RawMessage) string {
	var in codexResponse
	if json.Unmarshal(payload, &in) != nil {
		return unreadable(payload)
	}
	if in.CallID == "" {
		in.CallID = in.ID
	}
	switch {
	case in.Type == "message":
		return parseCodexMessage(c, r, out, in)
	case codexIgnored[in.Type]:
		return ""
	case strings.HasSuffix(in.Type, "_output"):
		c.add(r, message{role: "tool", time: out.time, results: []result{codexResult(in)}})
		c.step++ // calls after this are another step
	case strings.HasSuffix(in.Type, "_call"):
		out.role, out.key = "assistant", c.stepKey()
		out.calls = []call{in.call()}
		c.add(r, out)
	default:
		return fmt.Sprintf("unknown type %q", in.Type)
	}
	return ""
}

func parseCodexMessage(c *conversation, r record, out message, in codexResponse) string {
	switch in.Role {
	case "assistant":
		c.step++
		out.role, out.key, out.text = "assistant", c.stepKey(), parseContent(in.Content).text()
	case "user":
		out.role = "user"
		codexUser(&out, parseContent(in.Content).texts)
	case "developer", "system":
		return ""
	default:
		return fmt.Sprintf("unknown role %q", in.Role)
	}
	if out.text != "" || len(out.calls) > 0 {
		c.add(r, out)
	}
	return ""
}

// codexUser reads what the user typed or ran.
func codexUser(out *message, texts []string) {
	var said []string
	for _, text := range texts {
		if ran, ok := tagged(text, "user_shell_command"); ok && strings.HasPrefix(text, "<user_shell_command>") {
			input, _ := tagged(ran, "command")
			output, _ := tagged(ran, "result")
			out.calls = append(out.calls, call{name: "shell", input: input, output: output, done: true, failed: codexFailed(output)})
			continue
		}
		if at := strings.LastIndex(text, codexRequest); at >= 0 { // before it are texts of open files
			text = strings.TrimSpace(text[at+len(codexRequest):])
		}
		if !codexInjected(text) {
			said = append(said, text)
		}
	}
	out.text = strings.Join(said, "\n\n")
}

// codexRequest begins what the user typed in an editor.
const codexRequest = "## My request for Codex:"

// codexNoise begins texts that the user did not type.
var codexNoise = []string{
	"<environment_context>", "<user_instructions>", "# agents.md instructions", "<instructions>", "<skill>", "<skill ",
	"<turn_aborted>", "<subagent_notification>", "<permissions instructions>", "<collaboration_mode>", "<multi_agent_mode>",
	"<apps_instructions>", "<plugins_instructions>", "<skills_instructions>", "<model_switch>", "<personality_spec>",
	"<token_budget", "<rollout_budget>", "<context_window", "<realtime_conversation>", "<goal_context>", "<additional_context>",
	"<hook_prompt", "<codex_internal_context", "<internal_model_context>", "<recommended_plugins>", "<image ", "<image>", "</image>",
}

func codexInjected(text string) bool {
	head := strings.ToLower(text[:min(len(text), 64)])
	for _, prefix := range codexNoise {
		if strings.HasPrefix(head, prefix) {
			return true
		}
	}
	return false
}

func (in codexResponse) call() call {
	out := call{id: in.CallID, name: in.Name}
	switch in.Type {
	case "local_shell_call":
		var action struct {
			Command []string `json:"command"`
		}
		_ = json.Unmarshal(in.Action, &action)
		out.name, out.input = "shell", strings.Join(action.Command, " ")
	case "web_search_call": // its result is in the model's answer
		var action struct {
			Query string `json:"query"`
			URL   string `json:"url"`
		}
		_ = json.Unmarshal(in.Action, &action)
		out.name, out.input, out.done = "web_search", strings.TrimSpace(action.Query+" "+action.URL), true
	case "custom_tool_call":
		out.input = jsonText(in.Input)
	default:
		out.input = jsonText(in.Arguments)
	}
	if out.name == "" {
		out.name = strings.TrimSuffix(in.Type, "_call")
	}
	return out
}

// codexResult reads a text, text blocks, or an object with one. Old shells wrote JSON with an exit
// code.
func codexResult(in codexResponse) result {
	out := result{id: in.CallID, name: in.Name}
	raw := in.Output
	if len(raw) == 0 {
		raw = in.Tools
	}
	if text := unquoteIf(raw); strings.HasPrefix(text, `{"output":`) && json.Valid([]byte(text)) {
		raw = json.RawMessage(text)
	}
	var wrapped struct {
		Output   json.RawMessage `json:"output"`
		Content  json.RawMessage `json:"content"`
		Success  *bool           `json:"success"`
		Metadata struct {
			ExitCode int `json:"exit_code"`
		} `json:"metadata"`
	}
	if first(raw) == '{' && json.Unmarshal(raw, &wrapped) == nil {
		out.failed = wrapped.Metadata.ExitCode != 0 || wrapped.Success != nil && !*wrapped.Success
		if len(wrapped.Output) > 0 {
			raw = wrapped.Output
		} else if len(wrapped.Content) > 0 {
			raw = wrapped.Content
		}
	}
	if out.output = parseContent(raw).text(); out.output == "" && first(raw) != '"' {
		out.output = jsonText(raw)
	}
	out.failed = out.failed || codexFailed(out.output)
	return out
}

func unquoteIf(raw json.RawMessage) string {
	if first(raw) != '"' {
		return ""
	}
	return unquote(raw)
}

// codexFailed reads the exit code that newer shells write first.
func codexFailed(output string) bool {
	head := output[:min(len(output), 200)]
	for _, before := range []string{"Exit code: ", "Process exited with code "} {
		if _, code, ok := strings.Cut(head, before); ok {
			return !strings.HasPrefix(code, "0")
		}
	}
	return false
}
