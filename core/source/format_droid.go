package source

import (
	"encoding/json"
	"strings"
)

// Factory's Droid keeps its sessions in ~/.factory/sessions/<folder>/<session>.jsonl: a first line
// with the working directory, then messages with Anthropic's blocks.
//
// There is no official specification. This follows (2026-11) four readers in public repositories,
// which agree. Left out are thinking, what the program adds to a prompt, and sessions of subagents,
// whose title names the tool that began them.

func droidFolders(k known) []FolderOptions {
	all := k.in("sessions")
	for i := range all {
		all[i].groups, all[i].Exclude = namedAfter(claudeName), []string{"*.md", "*.json"}
	}
	return all
}

func sniffDroid(f fields) bool {
	return f["type"] == "session_start" && f.has("id", "cwd") && (f.has("title") || f.has("owner"))
}

func besideDroid(path string) beside {
	head, _ := readHead(path)
	line, _, _ := strings.Cut(string(head), "\n")
	return beside{subagent: strings.HasPrefix(fieldsOf([]byte(line))["title"], "# Task Tool Invocation")}
}

func parseDroid(c *conversation, r record) string {
	var in struct {
		Type    string          `json:"type"`
		ID      string          `json:"id"`
		Time    json.RawMessage `json:"timestamp"`
		Message struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"message"`
	}
	if json.Unmarshal(r.json, &in) != nil {
		return unreadable(r.json)
	}
	if c.beside.subagent {
		return ""
	}
	out := message{time: parseTime(in.Time)}
	switch in.Type {
	case "session_start":
		if in.ID != "" && !c.known {
			c.session, c.known = in.ID, true
		}
		return ""
	case "todo_state", "session_end", "compaction_state":
		return ""
	case "message":
	default:
		return c.passOver(r.line, "type", in.Type)
	}
	parsed := parseContent(in.Message.Content)
	switch in.Message.Role {
	case "user":
		claudeUser(&out, parsed, false)
	case "assistant":
		out.role, out.text, out.calls, out.results = "assistant", parsed.text(), parsed.calls, parsed.results
	default:
		return c.passOver(r.line, "role", in.Message.Role)
	}
	c.add(r, out)
	return parsed.lost
}
