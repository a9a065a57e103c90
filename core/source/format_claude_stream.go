package source

import "encoding/json"

// Claude Code writes its messages to its caller with `--output-format stream-json`, one a line; the
// GitHub action claude-code-action keeps them in an array, execution_file.
//
// This follows the types SDKMessage of Claude Code's SDK (2.1, 2026-11). The first message tells of
// the session. There are no times, and none of the prompts but those that were sent meanwhile; the
// result repeats the last answer.

func sniffClaudeStream(f fields) bool {
	for _, prefix := range []string{"", "[]."} {
		begins := f[prefix+"type"] == "system" && f[prefix+"subtype"] == "init"
		says := (f[prefix+"type"] == "user" || f[prefix+"type"] == "assistant") && f.has(prefix+"parent_tool_use_id")
		if (begins || says) && f.has(prefix+"session_id") {
			return true
		}
	}
	return false
}

func parseClaudeStream(c *conversation, r record) string {
	var in struct {
		Type    string          `json:"type"`
		Session string          `json:"session_id"`
		Parent  json.RawMessage `json:"parent_tool_use_id"`
		Message json.RawMessage `json:"message"`
	}
	if json.Unmarshal(r.json, &in) != nil {
		return unreadable(r.json)
	}
	if in.Session != "" {
		c.session = in.Session
	}
	if parent := first(in.Parent); parent != 0 && parent != 'n' { // of a subagent
		return ""
	}
	switch in.Type {
	case "user":
		return parseClaudeUser(c, r, message{}, claudeRecord{Message: in.Message})
	case "assistant":
		return parseClaudeAssistant(c, r, message{}, claudeRecord{Message: in.Message})
	case "":
		return "no type"
	}
	return "" // the state of the stream
}
