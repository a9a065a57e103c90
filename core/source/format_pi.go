package source

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memcore/memcore/internal/paths"
)

// The pi coding agent keeps its sessions in ~/.pi/agent/sessions/--<cwd>--/*.jsonl. Other agents
// write the same entries to ~/.ai/sessions/--<cwd>--/<session>/messages.jsonl. Where that is
// memcore's own folder of the workspace's sessions, it is a source of its own
// (FolderOptions.Sessions). OpenClaw and omp (Oh My Pi) are built on pi, and write the same to
// ~/.openclaw/agents/*/sessions and ~/.omp/agent/sessions.
//
// This follows github.com/badlogic/pi-mono (packages/coding-agent/docs/session.md and
// src/core/session-manager.ts) and github.com/tiancaiamao/ai (pkg/session/entries.go,
// pkg/context/message.go), 2026-11. The first line is the session. Entries form a tree; all
// branches count. Left out are thinking, messages that the user did not see, and what a fork copied
// of a log that is there: entries that are older than the session. Messages of extensions are not
// the user's.

func piFolders(k known) []FolderOptions {
	all := k.in("sessions")
	for i := range all {
		all[i].groups = namedAfter(piName)
	}
	if k.home == "" {
		return all
	}
	for _, relative := range []string{".omp/agent/sessions", ".openclaw/agents"} {
		all = append(all, FolderOptions{Path: filepath.Join(k.home, filepath.FromSlash(relative)), SessionsOf: k.project, Exclude: []string{"*", "!*/", "!*.jsonl"}})
	}
	// Also memcore keeps sessions in this one, whose records name no folder.
	return append(all, FolderOptions{Path: filepath.Join(k.home, ".ai", "sessions"), SessionsOf: k.project, Exclude: []string{"*.md"}, groups: piNotOurs, shared: true})
}

// piName has dashes for slashes.
func piName(cwd string) (begin, end string) {
	return "--" + strings.NewReplacer("/", "-", `\`, "-", ":", "-").Replace(strings.TrimLeft(cwd, `/\`)), "--"
}

// piNotOurs leaves out memcore's own folders of sessions.
func piNotOurs(p Project) func(string) (belonging, string) {
	byName := namedAfter(piName)(p)
	return func(name string) (belonging, string) {
		for _, folder := range p.Folders() {
			if name == paths.FolderName(folder) {
				return elsewhere, ""
			}
		}
		return byName(name)
	}
}

// piIgnored are entries that are not part of the conversation.
var piIgnored = map[string]bool{
	"session_info": true, "session_state": true, "model_change": true, "thinking_level_change": true, "custom": true,
	"label": true, "compact_event": true, "leaf": true,
}

func sniffPi(f fields) bool {
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
	Parent    string          `json:"parentSession"`
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

func parsePi(c *conversation, r record) string {
	var in piEntry
	if json.Unmarshal(r.json, &in) != nil {
		return unreadable(r.json)
	}
	out := message{time: parseTime(in.Timestamp)}
	switch {
	case in.Type == "session":
		c.time = out.time
		if in.Parent != "" && piParent(c.file, in.Parent) {
			c.copied.before = out.time
		}
		if in.ID != "" && in.ID != "messages" { // else the file names the session
			c.session = in.ID
		}
	case c.copied.has(nil, out.time):
		return ""
	case in.Type == "compaction" || in.Type == "branch_summary":
		c.add(r, message{role: "system", speaker: SummarySpeaker, time: out.time, text: in.Summary})
	case in.Type == "message":
		return parsePiMessage(c, r, out, in.Type, in.Message)
	case in.Type == "" || in.Type == "custom_message": // is the message itself
		return parsePiMessage(c, r, out, in.Type, r.json)
	case !piIgnored[in.Type]:
		return c.passOver(r.line, "type", in.Type)
	}
	return ""
}

// piParent reports whether the log is there that a fork copied: a path, or the ID that ends its
// name.
func piParent(file, parent string) bool {
	if file == "" {
		return false
	}
	if filepath.IsAbs(parent) {
		return isFile(parent)
	}
	if strings.ContainsAny(parent, `/\*?[`) {
		return false
	}
	all, err := filepath.Glob(filepath.Join(globEscape(filepath.Dir(file)), "*"+parent+".jsonl"))
	return err == nil && len(all) > 0
}

func parsePiMessage(c *conversation, r record, out message, entry string, raw json.RawMessage) string {
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
	parsed := parseContent(m.Content)
	if entry == "custom_message" {
		m.Role = "custom"
	}
	if inContent := []string{"user", "assistant", "custom", "hookMessage", "toolResult", "tool_result", "tool"}; slices.Contains(inContent, m.Role) && !isContent(m.Content) {
		return noContent
	}
	switch m.Role {
	case "user", "assistant":
		out.role, out.text, out.calls, out.results = m.Role, parsed.text(), parsed.calls, parsed.results
		if m.Role == "user" { // files that they named on the command line
			out.text = strings.TrimSpace(withoutTag(out.text, "file"))
		}
	case "custom", "hookMessage": // of an extension
		out.role, out.text = "tool", parsed.text()
	case "toolResult", "tool_result", "tool":
		out.role = "tool"
		out.results = []result{{id: m.ToolCallID, name: m.ToolName, output: parsed.text(), failed: m.IsError}}
	case "bashExecution":
		out.role = "user"
		out.calls = []call{{name: "bash", input: m.Command, output: m.Output, done: true, failed: m.ExitCode != 0}}
	case "branchSummary", "compactionSummary":
		out.role, out.speaker, out.text = "system", SummarySpeaker, m.Summary
	case "system", "developer":
		return ""
	default:
		return c.passOver(r.line, "role", m.Role)
	}
	c.add(r, out)
	return parsed.lost
}

// hidden reports whether only the model saw it, as injected state.
func (m piMessage) hidden() bool {
	for _, shown := range []*bool{m.Display, m.UserVisible, m.Metadata.UserVisible} {
		if shown != nil && !*shown {
			return true
		}
	}
	return false
}
