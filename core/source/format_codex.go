package source

import (
	"cmp"
	"encoding/json"
	"html"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/text/prompt"
)

// Codex CLI keeps its sessions in sessions/YYYY/MM/DD/rollout-*.jsonl of ~/.codex.
//
// This follows github.com/openai/codex (2026-11): codex-rs/protocol/src/{models,protocol}.rs,
// codex-rs/history/src/{lib,rollout_payload,retained_context}.rs and
// codex-rs/rollout/src/policy.rs. A line has a timestamp, a type and a payload; before September
// 2025, only the payload. The response items are the conversation, with what was said aloud
// (realtime_item); event_msg lines repeat them, and retained_context lines the answers in dialogs.
// Left out are reasoning, developer messages, what the program writes in the user's name, and what
// a subagent, or a fork of a log that is there, copied: lines whose ordinal is below the one that
// session_meta names, or that are older than the session.
//
// The reports of subagents come as results of wait_agent, in a <subagent_notification>, as an
// agent_message and, in some versions, as an inter_agent_communication; a subagent has a log of its
// own (see report).

// codexFolders hold the sessions of all workspaces.
func codexFolders(k known) []FolderOptions {
	return append(k.in("sessions"), k.in("archived_sessions")...)
}

// codexEnvelopes are the types of lines with a payload.
var codexEnvelopes = map[string]bool{
	"session_meta": true, "response_item": true, "compacted": true, "event_msg": true, "turn_context": true,
	"world_state": true, "inter_agent_communication": true, "inter_agent_communication_metadata": true,
	"realtime_item": true, "retained_context": true, "security_risk_score": true, "token_usage_record": true,
}

// codexIgnored are response items that are not part of the conversation.
var codexIgnored = map[string]bool{
	"reasoning": true, "ghost_snapshot": true, "compaction": true, "compaction_summary": true, "context_compaction": true,
	"compaction_trigger": true, "additional_tools": true, "image_generation_call": true, "other": true,
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
	Ordinal    *int            `json:"ordinal"`
}

func parseCodex(c *conversation, r record) string {
	var in codexLine
	if json.Unmarshal(r.json, &in) != nil {
		return unreadable(r.json)
	}
	at := parseTime(in.Timestamp)
	if in.Type == "session_meta" {
		return parseCodexMeta(c, in.Payload)
	}
	if c.copied.has(in.Ordinal, at) {
		return ""
	}
	switch in.Type {
	case "compacted":
		var summary struct{ Message string }
		_ = json.Unmarshal(in.Payload, &summary)
		c.add(r, message{role: "system", speaker: SummarySpeaker, time: at, text: summary.Message})
		return ""
	case "inter_agent_communication": // as an agent_message, of some versions
		var sent struct{ Author, Content string }
		if json.Unmarshal(in.Payload, &sent) != nil {
			return unreadable(in.Payload)
		}
		if c.sub == nil {
			c.add(r, message{role: "user", time: at, reports: codexReport(sent.Author, sent.Content)})
		}
		return ""
	case "realtime_item":
		return parseCodexSpeech(c, r, message{time: at}, in.Payload)
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

// parseCodexSpeech reads a piece of what was said in a voice conversation.
func parseCodexSpeech(c *conversation, r record, out message, payload json.RawMessage) string {
	var in struct {
		Type string
		Data struct{ Role, Text string }
	}
	if json.Unmarshal(payload, &in) != nil {
		return unreadable(payload)
	}
	if in.Type != "transcript_segment" || c.sub != nil {
		return ""
	}
	if in.Data.Role != "user" && in.Data.Role != "assistant" {
		return c.passOver(r.line, "role", in.Data.Role)
	}
	c.step++ // calls after it are of another step
	out.role, out.key, out.text = in.Data.Role, "voice of the "+in.Data.Role, in.Data.Text
	c.add(r, out)
	return ""
}

// parseCodexMeta reads the first line. A fork repeats its parent's.
func parseCodexMeta(c *conversation, payload json.RawMessage) string {
	var meta codexMeta
	if json.Unmarshal(payload, &meta) != nil {
		return unreadable(payload)
	}
	if meta.ID == "" || c.known {
		return ""
	}
	c.session, c.time, c.known, c.version = meta.ID, parseTime(meta.Timestamp), true, meta.Version
	parent := cmp.Or(meta.Parent, meta.ForkedFrom)
	copies := copied{below: max(meta.HistoryStart, meta.HistoryBase.End)}
	if parent != "" {
		copies.before = c.time
	}
	var source struct {
		Subagent json.RawMessage `json:"subagent"`
	}
	_ = json.Unmarshal(meta.Source, &source) // else it is a text, of a session of its own
	if len(source.Subagent) == 0 && meta.ThreadSource != "subagent" {
		if codexAsker(c.file, parent) { // else the copy is all that is left of it
			c.copied = copies
		}
		return ""
	}
	c.copied = copies
	var spawned struct {
		Spawn struct {
			Parent   string `json:"parent_thread_id"`
			Nickname string `json:"agent_nickname"`
			Role     string `json:"agent_role"`
			Path     string `json:"agent_path"`
		} `json:"thread_spawn"`
	}
	_ = json.Unmarshal(source.Subagent, &spawned)
	by := spawned.Spawn
	c.sub = &subagent{parent: cmp.Or(by.Parent, parent), name: cmp.Or(agentName(by.Path), agentName(by.Nickname), agentName(by.Role))}
	return ""
}

// A codexMeta is the payload of a session_meta.
type codexMeta struct {
	ID           string          `json:"id"`
	Version      string          `json:"cli_version"`
	Timestamp    json.RawMessage `json:"timestamp"`
	Parent       string          `json:"parent_thread_id"`
	ForkedFrom   string          `json:"forked_from_id"`
	ThreadSource string          `json:"thread_source"`
	Source       json.RawMessage `json:"source"` // a text, or an object for a subagent
	HistoryStart int             `json:"subagent_history_start_ordinal"`
	HistoryBase  struct {
		End int `json:"end_ordinal_exclusive"`
	} `json:"history_base"`
}

// codexAsker reports whether the log of a session is there, in the folder of a subagent's log or of
// the day when the session began, which its ID says (UUID version 7).
func codexAsker(file, session string) bool {
	if file == "" || session == "" || strings.ContainsAny(session, `/\*?[`) {
		return false
	}
	folders := []string{filepath.Dir(file)}
	if digits := strings.ReplaceAll(session, "-", ""); len(digits) == 32 {
		if ms, err := strconv.ParseInt(digits[:12], 16, 64); err == nil {
			all := filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(file))))
			for days := -1; days <= 1; days++ { // the folder is named after the local date
				folders = append(folders, filepath.Join(all, time.UnixMilli(ms).UTC().AddDate(0, 0, days).Format("2006/01/02")))
			}
		}
	}
	return slices.ContainsFunc(folders, func(folder string) bool {
		found, err := filepath.Glob(filepath.Join(globEscape(folder), "*-"+session+".jsonl"))
		return err == nil && len(found) > 0
	})
}

// globEscape returns a path as filepath.Glob takes it literally.
func globEscape(path string) string {
	if runtime.GOOS == "windows" { // which has no escapes there
		return path
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

type codexResponse struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	ID        string          `json:"id"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Namespace string          `json:"namespace"` // of the tool, if a server or a client has it
	Arguments json.RawMessage `json:"arguments"`
	Input     json.RawMessage `json:"input"`
	Action    json.RawMessage `json:"action"`
	Output    json.RawMessage `json:"output"`
	Tools     json.RawMessage `json:"tools"`
	Author    string          `json:"author"` // of an agent_message
	Phase     string          `json:"phase"`  // of an answer: "commentary" or "final_answer"
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
	case c.sub != nil && in.Type == "message":
		return parseCodexSubagent(c, r, out, in)
	case c.sub != nil:
		return ""
	case in.Type == "message":
		return parseCodexMessage(c, r, out, in)
	case in.Type == "agent_message":
		out.role, out.reports = "user", codexReport(in.Author, parseContent(in.Content).text())
		c.add(r, out)
		return ""
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
		return c.passOver(r.line, "type", in.Type)
	}
	return ""
}

// parseCodexSubagent reads a message in a subagent's own log.
func parseCodexSubagent(c *conversation, r record, out message, in codexResponse) string {
	text := parseContent(in.Content).text()
	switch {
	case in.Role == "user" && !codexInjected(text):
		c.task(text)
	case in.Role == "assistant" && (in.Phase != "commentary" || len(c.turns) == 0) && !c.asker.is(func() bool { return codexAsker(c.file, c.sub.parent) }):
		c.conclude(r, out.time, c.sub.name, text)
	}
	return ""
}

// codexReport reads the report in a message of another agent: "Message Type:
// FINAL_ANSWER\n…\nPayload:\n…".
func codexReport(author, content string) []report {
	head, text, ok := strings.Cut(content, "\nPayload:")
	if !ok || !strings.HasPrefix(strings.TrimSpace(head), "Message Type: FINAL_ANSWER") {
		return nil
	}
	return withText(report{name: agentName(author)}, text)
}

func parseCodexMessage(c *conversation, r record, out message, in codexResponse) string {
	if !isContent(in.Content) {
		return noContent
	}
	parsed := parseContent(in.Content)
	switch in.Role {
	case "assistant":
		c.step++
		out.role, out.key, out.text = "assistant", c.stepKey(), parsed.text()
		if proposed, ok := tagged(out.text, "proposed_plan"); ok && len(proposed) <= maxPlan {
			c.plan = plan{codexPlan, proposed}
		}
	case "user":
		out.role = "user"
		codexUser(&out, parsed.texts)
		if out.text == codexApproval && c.plan.file == codexPlan {
			out.replies = append(out.replies, reply{dialog: chunker.DialogPlan, asked: approvedPlan, text: c.plan.text})
		}
	case "developer", "system":
		return ""
	default:
		return c.passOver(r.line, "role", in.Role)
	}
	if out.text != "" || len(out.calls)+len(out.replies)+len(out.reports) > 0 {
		c.add(r, out)
	}
	return parsed.lost
}

// codexPlan stands for the file of a plan that an answer proposes. codexApproval is what Codex
// writes when the user approves it in the dialog below.
const (
	codexPlan     = "proposed_plan"
	codexApproval = "Implement the plan."
)

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
		switch replied, ok := tagged(text, "send_user_message_question_reply"); {
		case strings.HasPrefix(text, "<realtime_delegation>"): // what was said aloud surrounds the request
			asked, _ := tagged(text, "input")
			said = append(said, html.UnescapeString(asked))
		case ok:
			out.replies = append(out.replies, codexReplies(replied)...)
		case codexInjected(text):
			out.reports = append(out.reports, reportsIn(text)...)
		default:
			said = append(said, text)
		}
	}
	out.text = strings.Join(said, "\n\n")
}

// codexRequest begins what the user typed in an editor.
const codexRequest = "## My request for Codex:"

// codexReplies reads the answers to questions that did not wait for them
// (request_user_input_async): [{"questionItemId": …, "question": …, "answer": …}].
func codexReplies(text string) (all []reply) {
	var answers []struct{ Question, Answer string }
	if json.Unmarshal([]byte(text), &answers) != nil {
		return nil
	}
	for _, a := range answers {
		all = append(all, question{Question: a.Question}.reply(a.Answer, "")...)
	}
	return all
}

// codexAround begins texts around images and skills, which the user did not type.
var codexAround = []string{"<instructions>", "<skill>", "<skill ", "<image ", "<image>", "</image>"}

func codexInjected(text string) bool {
	head := strings.ToLower(text[:min(len(text), 64)])
	return prompt.ByMachine(text) || slices.ContainsFunc(codexAround, func(begin string) bool { return strings.HasPrefix(head, begin) })
}

func (in codexResponse) call() call {
	out := call{id: in.CallID, name: in.Name}
	if in.Namespace != "" && !strings.HasPrefix(in.Namespace, codexAgents) {
		out.name = strings.TrimSuffix(in.Namespace, "__") + "__" + in.Name
	}
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

// codexAgents begins the namespace of Codex's own tools for subagents. Others are of servers: their
// tools may have the names of Codex's.
const codexAgents = "multi_agent"

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
