package source

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/internal/safefile"
	"github.com/memcore/memcore/internal/text/lazy"
)

// Cline, and Roo Code and Kilo Code that began as copies of it, keep each task in a folder
// tasks/<id> of the extension's storage in VS Code: what the model was sent in
// api_conversation_history.json, what the user saw, with times, in ui_messages.json. Since 4.0
// (2026) Cline keeps sessions in ~/.cline/data/sessions/<id>/<id>.messages.json, with <id>.json
// beside it.
//
// This follows github.com/cline/cline 3.x (src/core/prompts/responses.ts, src/core/task) and 4.1.13
// (2026-08; sdk/packages/core/src/services/session-data.ts,
// sdk/packages/shared/src/prompt/format.ts), and github.com/RooCodeInc/Roo-Code 3.52 (2026-04;
// src/core/task/Task.ts, src/core/prompts).
//
// In a task only what stands in certain tags is the user's; all else in a message of role user are
// results of tools, the state of the editor, and notes of the program. A tool may return such tags,
// too: in results other than of dialogs they count only if the user's own view confirms the words.
// Older models called tools by XML in their text. Left out are thinking, subagents and teammates.

const (
	clineTask    = "api_conversation_history.json"
	clineSession = ".messages.json"
	clineUI      = "ui_messages.json"
	maxClineView = 64 << 20 // bytes of ui_messages.json
)

// clineFolders are the storages of these extensions in VS Code and its relatives.
func clineFolders(k known) (all []FolderOptions) {
	for _, user := range editorFolders(k.home) {
		for _, extension := range []string{"saoudrizwan.claude-dev", "rooveterinaryinc.roo-cline", "kilocode.kilo-code"} {
			all = append(all, FolderOptions{Path: filepath.Join(user, "globalStorage", extension, "tasks"), SessionsOf: k.project, Exclude: clineFiles})
		}
	}
	return all
}

func clineSessionFolders(k known) []FolderOptions {
	all := k.in("data")
	for i := range all {
		all[i].Exclude = clineFiles
	}
	return all
}

// clineFiles leaves in the logs only.
var clineFiles = []string{"*", "!*/", "checkpoints/", "!" + clineTask, "!*" + clineSession}

func ownsClineTask(path string) bool { return filepath.Base(path) == clineTask }

// clineMarks stand in the first message of a task.
var clineMarks = []string{"<environment_details>", `"<task>\n`, `"<user_message>\n`}

func sniffClineTask(f fields) bool { return f["[].role"] == "user" && f.has("[].content") }

func sniffClineSession(f fields) bool {
	return f.has("sessionId", "messages", "agent", "updated_at") && f["origin"] == "{"
}

// besideClineSession reads the manifest of a session.
func besideClineSession(path string) beside {
	id := strings.TrimSuffix(filepath.Base(path), clineSession)
	var manifest struct {
		Cwd     string          `json:"cwd"`
		Started json.RawMessage `json:"started_at"`
	}
	_ = json.Unmarshal(readSmall(filepath.Join(filepath.Dir(path), id+".json")), &manifest)
	head, _ := readHead(path)
	return beside{session: id, cwd: manifest.Cwd, time: parseTime(manifest.Started), subagent: fieldsOf(head)["agent"] != "lead"}
}

// besideClineTask reads what the folder of a task says.
func besideClineTask(path string) beside {
	dir := filepath.Dir(path)
	b := beside{session: filepath.Base(dir)}
	b.time = parseTime(json.RawMessage(b.session)) // the name is a number of milliseconds
	var item struct {                              // of Roo Code
		Workspace string          `json:"workspace"`
		Time      json.RawMessage `json:"ts"`
	}
	if json.Unmarshal(readSmall(filepath.Join(dir, "history_item.json")), &item) == nil {
		b.cwd = item.Workspace
	}
	if b.cwd == "" {
		if head, err := readHead(path); err == nil {
			b.cwd = clineCwd(head)
		}
	}
	b.readClineView(filepath.Join(dir, clineUI))
	return b
}

// readClineView reads what the user saw and said.
func (b *beside) readClineView(path string) {
	text, _, err := safefile.ReadPath(path, maxClineView)
	if err != nil {
		return
	}
	var view []struct {
		Time  json.RawMessage `json:"ts"`
		Say   string          `json:"say"`
		Text  string          `json:"text"`
		Index *int            `json:"conversationHistoryIndex"`
	}
	if json.Unmarshal(text, &view) != nil {
		return
	}
	b.said = map[string]bool{}
	for _, one := range view {
		at := parseTime(one.Time)
		if one.Say == "user_feedback" {
			b.said[strings.TrimSpace(one.Text)] = true
		}
		// The index is that of the last message when this was shown.
		if one.Index == nil || *one.Index < 0 || *one.Index > len(view) || at.IsZero() {
			continue
		}
		for len(b.times) <= *one.Index {
			b.times = append(b.times, time.Time{})
		}
		if known := b.times[*one.Index]; known.IsZero() || at.Before(known) {
			b.times[*one.Index] = at
		}
	}
}

// clineCwd reads the state of the editor in a task's first message.
func clineCwd(head []byte) string {
	found := clineDirectory().FindSubmatch(head)
	if found == nil {
		return ""
	}
	return unquote([]byte(`"` + string(found[1]) + `"`))
}

var clineDirectory = lazy.Regexp(`# Current (?:Workspace|Working) Directory \(((?:[^")\\]|\\.)+)\) Files`)

type clineMessage struct {
	Role       string          `json:"role"`
	Type       string          `json:"type"`
	Content    json.RawMessage `json:"content"`
	Time       json.RawMessage `json:"ts"`
	Summary    bool            `json:"isSummary"`
	Truncation bool            `json:"isTruncationMarker"`
}

func parseClineTask(c *conversation, r record) string {
	return parseCline(c, r, c.clineTaskUser)
}

func parseClineSession(c *conversation, r record) string {
	if c.beside.subagent { // its report is a result in the session that asked
		return ""
	}
	return parseCline(c, r, c.clineSessionUser)
}

// parseCline leaves the messages of role user to a function.
func parseCline(c *conversation, r record, user func(*message, json.RawMessage)) string {
	var in clineMessage
	if json.Unmarshal(r.json, &in) != nil {
		return unreadable(r.json)
	}
	out := message{role: in.Role, time: parseTime(in.Time)}
	if out.time.IsZero() {
		out.time = c.beside.timeOf(r.index)
	}
	switch {
	case in.Type == "reasoning" || in.Truncation:
		return ""
	case in.Summary:
		out.role, out.speaker, out.text = "system", SummarySpeaker, parseContent(in.Content).text()
	case in.Role == "assistant":
		clineAssistant(&out, in.Content)
	case in.Role == "user":
		user(&out, in.Content)
	default:
		return c.passOver(r.line, "role", in.Role)
	}
	c.add(r, out)
	return ""
}

// clineSays are the tools by which the agent speaks, and the parameter with what it says. Their
// results are the user's answers.
var clineSays = map[string]string{
	"attempt_completion": "result", "ask_followup_question": "question", "plan_mode_respond": "response", "plan_mode_response": "response",
	"act_mode_respond": "response", "ask_question": "question", "submit_and_exit": "summary", "condense": "context", "new_task": "context", "report_bug": "title",
}

// clineTools are the names of tools that older models called by XML.
var clineTools = map[string]bool{
	"read_file": true, "write_to_file": true, "replace_in_file": true, "apply_diff": true, "insert_content": true, "search_and_replace": true,
	"edit_file": true, "delete_file": true, "execute_command": true, "search_files": true, "list_files": true, "list_code_definition_names": true,
	"browser_action": true, "use_mcp_tool": true, "access_mcp_resource": true, "switch_mode": true, "update_todo_list": true,
	"fetch_instructions": true, "codebase_search": true, "web_fetch": true, "web_search": true, "load_mcp_documentation": true,
	"new_rule": true, "run_slash_command": true, "generate_image": true, "use_skill": true, "focus_chain": true, "read_command_output": true,
}

func clineAssistant(out *message, raw json.RawMessage) {
	parsed := parseContent(raw)
	var texts []string
	for _, text := range parsed.texts {
		text, calls := clineCalls(withoutTag(text, "thinking"))
		if text = strings.TrimSpace(text); text != "" {
			texts = append(texts, text)
		}
		out.calls = append(out.calls, calls...)
	}
	for _, one := range parsed.calls {
		var input map[string]json.RawMessage
		if says := clineSays[one.name]; says != "" && json.Unmarshal([]byte(one.input), &input) == nil {
			if text := strings.TrimSpace(jsonText(input[says])); text != "" {
				texts = append(texts, text)
			}
			one.input = "" // as text
		}
		out.calls = append(out.calls, one)
	}
	out.text = strings.Join(texts, "\n\n")
}

// clineCalls takes the calls that are XML out of a text. What the agent says by them stays.
func clineCalls(text string) (string, []call) {
	var calls []call
	var rest strings.Builder
	for {
		at := clineCallBegins().FindStringSubmatchIndex(text)
		if at == nil {
			break
		}
		name := text[at[2]:at[3]]
		inner, after, closed := strings.Cut(text[at[1]:], "</"+name+">")
		if says, ok := clineSays[name]; ok {
			rest.WriteString(text[:at[0]] + "\n")
			said, _ := tagged(inner+"</"+says+">", says) // it may be cut off
			rest.WriteString(said + "\n")
			calls = append(calls, call{id: clineXML(name), name: name})
		} else if clineTools[name] {
			rest.WriteString(text[:at[0]])
			calls = append(calls, call{id: clineXML(name), name: name, input: clineParameters(inner)})
		} else {
			rest.WriteString(text[:at[1]])
			text = text[at[1]:]
			continue
		}
		if text = after; !closed {
			break
		}
	}
	rest.WriteString(text)
	return rest.String(), calls
}

// clineParameters writes the parameters of a call by XML as JSON.
func clineParameters(xml string) string {
	all := map[string]string{}
	for {
		at := clineParameter().FindStringSubmatchIndex(xml)
		if at == nil {
			break
		}
		value, after, _ := strings.Cut(xml[at[1]:], "</"+xml[at[2]:at[3]]+">")
		all[xml[at[2]:at[3]]], xml = strings.TrimSpace(value), after
	}
	text, _ := json.Marshal(all) // strings always marshal
	return string(text)
}

var clineParameter = lazy.Regexp(`<([a-z_]+)>`)

var clineCallBegins = lazy.Regexp(`(?m)^[ \t]*<([a-z]+(?:_[a-z]+)+)>`)

// clineXML is the ID of a call that has none. The next message has its result.
func clineXML(tool string) string { return "xml " + tool }

// clineResult begins a result of a call by XML, with the tool's name.
var clineResult = lazy.Regexp(`^\[([a-z_]+)(?: [^\n]*)?\] Result:\s*`)

// clineSessionUser reads a prompt or results. Before and in a prompt stand notes and files that the
// program added.
func (c *conversation) clineSessionUser(out *message, raw json.RawMessage) {
	parsed := parseContent(raw)
	var said []string
	for _, text := range parsed.texts {
		text = withoutTag(withoutTag(text, "mode_notice"), "file_content")
		if text = strings.TrimSpace(clinePrompt().ReplaceAllString(text, "")); text != "" && !strings.HasPrefix(text, "Warning: this is a legacy conversation") {
			said = append(said, text)
		}
	}
	for _, got := range parsed.results {
		if c.openName(got) == "ask_question" && got.output != "" && !got.failed {
			said = append(said, got.output)
			got.output = ""
		}
		out.results = append(out.results, got)
	}
	out.text = strings.Join(said, "\n\n")
}

// clinePrompt are the tags around a prompt.
var clinePrompt = lazy.Regexp(`</?user_(?:input|command)\b[^>]*>`)

// clineTaskUser reads the user's words and results of calls, which are texts after a head or
// blocks.
func (c *conversation) clineTaskUser(out *message, raw json.RawMessage) {
	var said []string
	tool := "" // whose result follows
	for _, part := range partsOf(raw) {
		parsed := parseContent(part)
		for _, got := range parsed.results {
			if words, ok := c.clineAnswer(c.openName(got), got.output); ok {
				said = append(said, words)
				got.output = ""
			}
			out.results = append(out.results, got)
		}
		for _, text := range parsed.texts {
			text = strings.TrimSpace(withoutTag(text, "environment_details"))
			if found := clineResult().FindStringSubmatch(text); found != nil {
				tool, text = found[1], strings.TrimSpace(text[len(found[0]):])
				out.results = append(out.results, result{id: clineXML(tool), name: tool})
			}
			if text == "" {
				continue
			}
			words, ok := clineWords(text)
			if tool != "" {
				words, ok = c.clineAnswer(tool, text)
			}
			if ok {
				said = append(said, words)
			} else if last := len(out.results) - 1; tool != "" {
				text = strings.NewReplacer("<feedback>\n", "", "\n</feedback>", "").Replace(text)
				out.results[last].output = strings.TrimSpace(out.results[last].output + "\n" + text)
			}
		}
	}
	out.text = strings.Join(said, "\n\n")
}

// openName returns the name of the tool whose result it is.
func (c *conversation) openName(got result) string {
	for _, open := range c.open {
		if open.id == got.id {
			return open.name
		}
	}
	return got.name
}

// clineTags hold the user's words.
var clineTags = []string{"task", "user_message", "feedback", "answer"}

// clineLeads begin what the program writes before these tags.
var clineLeads = []string{"The user ", "[TASK RESUMPTION]", "You seem to be having trouble", "New message to respond to", "New instructions for task"}

// clineWords returns the user's words in a text that begins with them, or with what the program
// writes before them.
func clineWords(text string) (string, bool) {
	for _, tag := range clineTags {
		before, rest, found := strings.Cut(text, "<"+tag+">")
		if before = strings.TrimSpace(before); !found || before != "" && !slices.ContainsFunc(clineLeads, func(lead string) bool { return strings.HasPrefix(before, lead) }) {
			continue
		}
		words, _, _ := strings.Cut(rest, "</"+tag+">")
		words = strings.TrimSpace(words)
		return words, words != ""
	}
	return "", false
}

// clineAnswer returns the user's words in a tool's result: answers to questions of the agent, and
// what they said when they allowed or rejected a call.
func (c *conversation) clineAnswer(tool, text string) (string, bool) {
	words, ok := clineWords(text)
	var decided struct {
		Status   string `json:"status"`
		Feedback string `json:"feedback"`
	}
	if !ok && json.NewDecoder(strings.NewReader(text)).Decode(&decided) == nil && decided.Status != "" {
		words, ok = decided.Feedback, decided.Feedback != ""
	}
	if _, dialog := clineSays[tool]; ok && !dialog {
		ok = c.beside.said[strings.TrimSpace(words)]
	}
	return words, ok
}
