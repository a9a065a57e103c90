package source

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// Claude Code keeps its sessions in ~/.claude/projects/<folder>/<session>.jsonl.
//
// There is no official specification. This follows (2026-11)
// github.com/jeremedia/claude-code-log-format (source-docs/JSONL_LOGGING.md),
// github.com/alosec/claude-editor-hook (memory-bank/03-guides/jsonl-analysis.md) and
// github.com/Huntehhh/claude-code-chat (docs/claude-cli-jsonl-format.md).
//
// Each block of an answer has its own line, with the same message.id. Tools' results have type
// user. Left out are thinking, the program's messages to itself (isMeta, system reminders, output
// of its own commands) and side chains; a subagent's findings are the result of its call.

// claudeFolders are named after the working directory, which may be a folder of the workspace.
func claudeFolders(workspace []string, home string) []FolderOptions {
	projects := filepath.Join(home, ".claude", "projects")
	return append(folderOfEach(workspace, projects, claudeName), foldersBelow(workspace, projects, claudeName, ""))
}

// claudeName has dashes for all but letters and digits.
func claudeName(cwd string) string { return notAlphanumeric().ReplaceAllString(cwd, "-") }

var notAlphanumeric = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-zA-Z0-9]`) })

// claudeIgnored are types that are not part of the conversation.
var claudeIgnored = map[string]bool{
	"summary": true, "system": true, "file-history-snapshot": true, "queue-operation": true, "progress": true,
	"custom-title": true, "ai-title": true, "agent-name": true, "agent-color": true, "agent-setting": true,
	"last-prompt": true, "mode": true, "permission-mode": true, "pr-link": true, "tag": true, "worktree-state": true,
	"saved_hook_context": true, "content-replacement": true, "attribution-snapshot": true, "task-summary": true,
	"api-request": true, "api-request-blob": true, "api-request-shape": true, "atis-latch": true, "cost-state": true,
}

func sniffClaude(f fields) bool {
	switch {
	case f["type"] == "user" || f["type"] == "assistant":
		return f["message"] == "{" && (f.has("sessionId") || f.has("parentUuid") || f.has("uuid"))
	case f["type"] == "summary":
		return f.has("leafUuid")
	case f["type"] == "file-history-snapshot":
		return f.has("snapshot")
	}
	return f.has("sessionId") && (claudeIgnored[f["type"]] || f["type"] == "attachment")
}

type claudeRecord struct {
	Type              string          `json:"type"`
	SessionID         string          `json:"sessionId"`
	Timestamp         json.RawMessage `json:"timestamp"`
	IsMeta            bool            `json:"isMeta"`
	IsSidechain       bool            `json:"isSidechain"`
	IsCompactSummary  bool            `json:"isCompactSummary"`
	IsAPIErrorMessage bool            `json:"isApiErrorMessage"`
	Message           json.RawMessage `json:"message"`
	Attachment        json.RawMessage `json:"attachment"`
}

type claudeMessage struct {
	ID      string          `json:"id"`
	Model   string          `json:"model"`
	Content json.RawMessage `json:"content"`
}

type claudeAttachment struct {
	Type   string          `json:"type"`
	Prompt json.RawMessage `json:"prompt"`
}

func parseClaude(c *conversation, r record) string {
	var in claudeRecord
	if json.Unmarshal(r.json, &in) != nil {
		return unreadable(r.json)
	}
	if in.SessionID != "" {
		c.session = in.SessionID
	}
	if in.IsMeta || in.IsSidechain || claudeIgnored[in.Type] {
		return ""
	}
	out := message{time: parseTime(in.Timestamp)}
	switch in.Type {
	case "user":
		return parseClaudeUser(c, r, out, in)
	case "assistant":
		return parseClaudeAssistant(c, r, out, in)
	case "attachment":
		return parseClaudeAttachment(c, r, out, in)
	}
	return fmt.Sprintf("unknown type %q", in.Type)
}

func parseClaudeUser(c *conversation, r record, out message, in claudeRecord) string {
	var said claudeMessage
	if json.Unmarshal(in.Message, &said) != nil {
		return "no message"
	}
	if in.IsCompactSummary {
		out.role, out.speaker, out.text = "system", summarySpeaker, parseContent(said.Content).text()
	} else {
		claudeUser(&out, said.Content)
	}
	c.add(r, out)
	return ""
}

func parseClaudeAssistant(c *conversation, r record, out message, in claudeRecord) string {
	var said claudeMessage
	if json.Unmarshal(in.Message, &said) != nil {
		return "no message"
	}
	if in.IsAPIErrorMessage || said.Model == "<synthetic>" {
		return ""
	}
	parsed := parseContent(said.Content)
	out.role, out.key = "assistant", said.ID
	out.text, out.calls, out.results = parsed.text(), parsed.calls, parsed.results
	c.add(r, out)
	return ""
}

// parseClaudeAttachment reads what the user typed meanwhile; the rest are files.
func parseClaudeAttachment(c *conversation, r record, out message, in claudeRecord) string {
	var with claudeAttachment
	if json.Unmarshal(in.Attachment, &with) == nil && with.Type == "queued_command" {
		claudeUser(&out, with.Prompt)
		c.add(r, out)
	}
	return ""
}

// claudeUser reads the user's text or results of tools.
func claudeUser(out *message, raw json.RawMessage) {
	parsed := parseContent(raw)
	out.role, out.results = "user", parsed.results
	var said []string
	for _, text := range parsed.texts {
		if input, ok := tagged(text, "bash-input"); ok { // typed after "!"
			out.calls = append(out.calls, call{id: claudeShell, name: "bash", input: input})
			continue
		}
		if stdout, ok := tagged(text, "bash-stdout"); ok {
			stderr, _ := tagged(text, "bash-stderr")
			out.results = append(out.results, result{id: claudeShell, name: "bash", output: strings.TrimSpace(stdout + "\n" + stderr)})
			continue
		}
		if strings.HasPrefix(text, claudeInterrupt) {
			out.results = append(out.results, result{name: "interrupt", output: text})
			continue
		}
		if text = claudeText(text); text != "" {
			said = append(said, text)
		}
	}
	out.text = strings.Join(said, "\n\n")
}

// summarySpeaker is the speaker of an agent's summary of its conversation.
const summarySpeaker = "summary"

// claudeShell is the ID of the user's own, sequential commands.
const claudeShell = "bash-input"

// claudeNoise begins texts that the user did not type.
var claudeNoise = []string{"<local-command-", "<task-notification>", "<bash-stderr>", "<cross-session-message",
	"Caveat: The messages below were generated", "[Image: source:"}

// claudeInterrupt begins what stands where the user stopped the agent.
const claudeInterrupt = "[Request interrupted by user"

// claudeWrappers are tags that Claude Code adds to the user's text.
var claudeWrappers = []string{"system-reminder", "ide_opened_file", "ide_selection", "ide_diagnostics", "user-prompt-submit-hook"}

// claudeText returns the user's part of a text.
func claudeText(text string) string {
	for _, tag := range claudeWrappers {
		text = withoutTag(text, tag)
	}
	text = strings.TrimSpace(text)
	for _, prefix := range claudeNoise {
		if strings.HasPrefix(text, prefix) {
			return ""
		}
	}
	if name, ok := tagged(text, "command-name"); ok && strings.HasPrefix(text, "<command-") {
		return slashCommand(name, text)
	}
	if note, ok := tagged(text, "user-memory-input"); ok {
		return note
	}
	return text
}

// slashCommand returns a command as typed; "" without arguments.
func slashCommand(name, text string) string {
	args, _ := tagged(text, "command-args")
	if args == "" {
		return ""
	}
	return "/" + strings.TrimPrefix(name, "/") + " " + args
}

// tagged returns what stands between <tag> and </tag>, trimmed.
func tagged(text, tag string) (string, bool) {
	_, rest, ok := strings.Cut(text, "<"+tag+">")
	if !ok {
		return "", false
	}
	inner, _, ok := strings.Cut(rest, "</"+tag+">")
	return strings.TrimSpace(inner), ok
}

// withoutTag removes all from the first <tag …> to the last </tag>. A file between them can have
// such tags, too: text after these would pass for the user's. An unclosed tag stays.
func withoutTag(text, tag string) string {
	begin, end := strings.Index(text, "<"+tag), strings.LastIndex(text, "</"+tag)
	if begin < 0 || end < begin {
		return text
	}
	_, after, closed := strings.Cut(text[end:], ">")
	if !closed {
		return text
	}
	return text[:begin] + after
}

// unreadable says why a line cannot be parsed.
func unreadable(line []byte) string {
	if json.Valid(line) {
		return "fields of an unexpected type"
	}
	return notJSON
}
