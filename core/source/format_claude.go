package source

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/memcore/memcore/internal/text/prompt"
)

// Claude Code keeps its sessions in projects/<folder>/<session>.jsonl of ~/.claude.
//
// There is no official specification. This follows (2026-11)
// github.com/jeremedia/claude-code-log-format (source-docs/JSONL_LOGGING.md),
// github.com/alosec/claude-editor-hook (memory-bank/03-guides/jsonl-analysis.md),
// github.com/Huntehhh/claude-code-chat (docs/claude-cli-jsonl-format.md), and logs up to 2.1.294.
//
// Each block of an answer has its own line, with the same message.id. Tools' results have type
// user, and so has what programs write: origin.kind, turnOrigin, promptSource and isMeta say who it
// was, and before they came, the shape of the text. Reports of subagents come as the result of a
// call, as a notification, or as a message with isMeta. Left out are thinking, the program's
// messages to itself (isMeta, system reminders, output of its own commands), side chains within a
// session, and what a fork copied of a log that is there (forkedFrom).
//
// A subagent has a log of its own, <session>/subagents/agent-<id>.jsonl, earlier agent-<id>.jsonl
// beside the session's; see report.

// claudeFolders are named after the working directory, but several may have the same name.
func claudeFolders(k known) []FolderOptions {
	all := k.in("projects")
	for i := range all {
		all[i].groups = namedAfter(claudeName)
	}
	return all
}

// maxClaudeName is how much of a working directory is in a name. A hash follows.
const maxClaudeName = 200

// claudeName has dashes for all but ASCII letters and digits, as many as a character has in UTF-16.
func claudeName(cwd string) (begin, end string) {
	var name strings.Builder
	for _, r := range cwd {
		if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			name.WriteRune(r)
		} else {
			name.WriteString(strings.Repeat("-", max(utf16.RuneLen(r), 1)))
		}
	}
	return name.String()[:min(name.Len(), maxClaudeName)], ""
}

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
	Version           string          `json:"version"`
	Timestamp         json.RawMessage `json:"timestamp"`
	IsMeta            bool            `json:"isMeta"`
	IsSidechain       bool            `json:"isSidechain"`
	IsCompactSummary  bool            `json:"isCompactSummary"`
	IsAPIErrorMessage bool            `json:"isApiErrorMessage"`
	Message           json.RawMessage `json:"message"`
	Attachment        json.RawMessage `json:"attachment"`
	ForkedFrom        json.RawMessage `json:"forkedFrom"` // the session and the record of which this is a copy
	Operation         string          `json:"operation"`  // on the queue of prompts
	Content           json.RawMessage `json:"content"`    // of a queue-operation: a text
	ToolDenialKind    string          `json:"toolDenialKind"`
	AttributionAgent  string          `json:"attributionAgent"` // the type of a subagent
	claudeOrigin
}

// A claudeOrigin says who wrote a prompt.
type claudeOrigin struct {
	PromptSource string `json:"promptSource"`
	TurnOrigin   string `json:"turnOrigin"`
	Origin       struct {
		Kind     string `json:"kind"`
		Body     string `json:"body"`
		Handback bool   `json:"handback"`
	} `json:"origin"`
}

// claudeTyped are the sources of prompts of a person. A program that uses the SDK may be an editor.
var claudeTyped = map[string]bool{"": true, "typed": true, "queued": true, "sdk": true, "suggestion_accepted": true}

// isTyped reports whether the marks of a record say that a person wrote it, whatever it looks like.
func (o claudeOrigin) isTyped() bool {
	return o.Origin.Kind == "human" || o.Origin.Kind == "" && (o.TurnOrigin == "human" || o.TurnOrigin == "" && (o.PromptSource == "typed" || o.PromptSource == "queued"))
}

// byMachine reports whether the marks of a record say that a program wrote it. unknown is a source
// of which that is not known, and which is taken for a program's.
func (o claudeOrigin) byMachine() (is bool, unknown string) {
	switch {
	case o.Origin.Kind != "":
		return o.Origin.Kind != "human", ""
	case o.TurnOrigin != "":
		return o.TurnOrigin != "human" && o.TurnOrigin != "sdk", ""
	case o.PromptSource == "system":
		return true, ""
	case !claudeTyped[o.PromptSource]:
		return true, o.PromptSource
	}
	return false, ""
}

type claudeMessage struct {
	ID      string          `json:"id"`
	Model   string          `json:"model"`
	Content json.RawMessage `json:"content"`
}

type claudeAttachment struct {
	Type        string          `json:"type"`
	Prompt      json.RawMessage `json:"prompt"`
	CommandMode string          `json:"commandMode"`
	IsMeta      bool            `json:"isMeta"`
	claudeOrigin
}

func parseClaude(c *conversation, r record) string {
	var in claudeRecord
	if json.Unmarshal(r.json, &in) != nil {
		return unreadable(r.json)
	}
	if in.SessionID != "" {
		c.session = in.SessionID
	}
	c.version = cmp.Or(in.Version, c.version)
	switch {
	case first(in.ForkedFrom) == '{' && (in.IsSidechain || c.parent.is(func() bool { return claudeParent(c.file, in.ForkedFrom) })):
		return ""
	case in.IsSidechain:
		return parseClaudeSubagent(c, r, in)
	case in.Type == "queue-operation":
		return parseClaudeQueue(c, r, in)
	case claudeIgnored[in.Type]:
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
	if in.IsMeta {
		return ""
	}
	return c.passOver(r.line, "type", in.Type)
}

// claudeParent reports whether the log is there of which a record is a copy.
func claudeParent(file string, forkedFrom json.RawMessage) bool {
	var of struct {
		Session string `json:"sessionId"`
	}
	if file == "" || json.Unmarshal(forkedFrom, &of) != nil || !filepath.IsLocal(of.Session) {
		return false
	}
	parent := filepath.Join(filepath.Dir(file), of.Session+".jsonl")
	return isFile(parent) || isFile(parent+".zst")
}

// parseClaudeQueue reads a notification that waits for its turn: it is not always delivered.
func parseClaudeQueue(c *conversation, r record, in claudeRecord) string {
	if text := jsonText(in.Content); in.Operation == "enqueue" && prompt.ByMachine(text) {
		c.add(r, message{role: "user", time: parseTime(in.Timestamp), reports: reportsIn(text)})
	}
	return ""
}

// parseClaudeSubagent reads a subagent's record: of its own log, the report.
func parseClaudeSubagent(c *conversation, r record, in claudeRecord) string {
	name := filepath.Base(c.name)
	if !strings.HasPrefix(name, "agent-") || c.asker.is(func() bool { return claudeAsker(c.file, in.SessionID) }) {
		return ""
	}
	var said claudeMessage
	if (in.Type != "user" && in.Type != "assistant") || json.Unmarshal(in.Message, &said) != nil {
		return ""
	}
	parsed := parseContent(said.Content)
	if in.Type == "user" {
		c.task(parsed.text())
		return ""
	}
	text := parsed.text()
	for _, call := range parsed.calls {
		if call.name == "SubagentHandback" {
			text = strings.Join(textsIn(json.RawMessage(call.input), nil), "\n\n")
		}
	}
	if !in.IsAPIErrorMessage && said.Model != "<synthetic>" {
		c.conclude(r, parseTime(in.Timestamp), agentName(in.AttributionAgent), text)
	}
	return ""
}

// claudeAsker reports whether the log of the session is there that a subagent's log belongs to.
// Those of workflows are in folders of their own, and no other log has their reports.
func claudeAsker(file, session string) bool {
	folder := filepath.Dir(file)
	if file == "" {
		return false
	}
	if filepath.Base(folder) == "subagents" {
		return isFile(filepath.Dir(folder) + ".jsonl")
	}
	return filepath.IsLocal(session) && isFile(filepath.Join(folder, session+".jsonl"))
}

func parseClaudeUser(c *conversation, r record, out message, in claudeRecord) string {
	var said claudeMessage
	if json.Unmarshal(in.Message, &said) != nil {
		if in.IsMeta {
			return ""
		}
		return "no message"
	}
	if !isContent(said.Content) {
		return noContent
	}
	machine, unknown := in.byMachine()
	parsed := parseContent(said.Content)
	if text := parsed.text(); in.IsCompactSummary || strings.HasPrefix(text, claudeContinued) {
		out.role, out.speaker, out.text = "system", SummarySpeaker, text
	} else {
		out.typed = in.isTyped()
		claudeUser(&out, parsed, machine || in.IsMeta)
		out.handedBack(in.claudeOrigin)
	}
	for i := range out.results {
		out.results[i].denied = claudeDenial(in.ToolDenialKind, out.results[i].output)
	}
	if in.IsMeta {
		out.calls = nil
	}
	c.add(r, out)
	if unknown != "" {
		return c.passOver(r.line, "prompt source", unknown)
	}
	return parsed.lost
}

// claudeRejected begins the result of a call that the user rejected. Before what a command prints
// stands its exit code.
const claudeRejected = "The user doesn't want to "

// claudeDenial reads the kind of a denial, such as "user-rejected", which logs have since 2026. A
// rule, a hook or a model may deny, too.
func claudeDenial(kind, output string) denial {
	switch {
	case strings.Contains(kind, "user"):
		return denialMarked
	case kind == "" && strings.HasPrefix(output, claudeRejected):
		return denialSaid
	}
	return denialNone
}

// handedBack reads the report of a message, which the origin has without what surrounds it.
func (m *message) handedBack(o claudeOrigin) {
	if o.Origin.Handback && o.Origin.Body != "" {
		if reports := withText(report{}, o.Origin.Body); len(reports) > 0 {
			m.reports = reports
		}
	}
}

// claudeContinued begins the summary with which a session goes on, which isCompactSummary did not
// always mark.
const claudeContinued = "This session is being continued from a previous conversation"

func parseClaudeAssistant(c *conversation, r record, out message, in claudeRecord) string {
	var said claudeMessage
	if json.Unmarshal(in.Message, &said) != nil {
		return "no message"
	}
	if in.IsAPIErrorMessage || said.Model == "<synthetic>" {
		return ""
	}
	if !isContent(said.Content) {
		return noContent
	}
	parsed := parseContent(said.Content)
	out.role, out.key = "assistant", said.ID
	out.text, out.calls, out.results = parsed.text(), parsed.calls, parsed.results
	c.add(r, out)
	return parsed.lost
}

// parseClaudeAttachment reads what was sent meanwhile; the rest are files.
func parseClaudeAttachment(c *conversation, r record, out message, in claudeRecord) string {
	var with claudeAttachment
	switch {
	case json.Unmarshal(in.Attachment, &with) != nil:
		return "no attachment"
	case with.Type != "queued_command":
		return ""
	case !isContent(with.Prompt):
		return noContent
	}
	machine, _ := with.byMachine()
	if own, _ := in.byMachine(); own || with.IsMeta || in.IsMeta || with.CommandMode == "task-notification" {
		machine = true
	}
	out.typed = with.isTyped()
	claudeUser(&out, parseContent(with.Prompt), machine)
	out.handedBack(with.claudeOrigin)
	c.add(r, out)
	return ""
}

// claudeUser reads the user's text or results of tools. Of what a program wrote it keeps reports.
func claudeUser(out *message, parsed content, machine bool) {
	out.role, out.results = "user", parsed.results
	var said []string
	for _, text := range parsed.texts {
		if machine {
			out.reports = append(out.reports, reportsIn(text)...)
			continue
		}
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
		text = claudeText(text)
		if !out.typed && prompt.ByMachine(text) {
			out.reports = append(out.reports, reportsIn(text)...)
		} else if text != "" {
			said = append(said, text)
		}
	}
	out.text = strings.Join(said, "\n\n")
}

// SummarySpeaker is the speaker of an agent's summary of its conversation.
const SummarySpeaker = "summary"

// claudeShell is the ID of the user's own, sequential commands.
const claudeShell = "bash-input"

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
