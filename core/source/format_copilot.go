package source

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Copilot CLI keeps its sessions in ~/.copilot/session-state/<id>/events.jsonl, before 1.0 in
// <id>.jsonl there. Copilot Chat keeps its own in VS Code's workspaceStorage/<hash>/chatSessions:
// one JSON document a session, since 2026 a log of changes of such a document, <id>.jsonl.
//
// Of the CLI (2026-07) this follows the types that github.com/github/copilot-sdk generates
// (nodejs/src/generated/session-events.ts), of the chat (VS Code 1.132, 2026-08) the source of VS
// Code in github.com/microsoft/vscode (src/vs/workbench/contrib/chat/common) and readers in public
// repositories. Left out are thinking, subagents' messages, and prompts that the program sends
// itself: of the CLI those with a source, of the chat those that the system initiated.

func copilotFolders(k known) []FolderOptions {
	all := k.in("session-state")
	for i := range all {
		all[i].Exclude = []string{"*", "!/*/", "!/*.jsonl", "!/*/events.jsonl"}
	}
	return all
}

// besideCopilot reads the working directory in workspace.yaml. Early sessions do not name one.
func besideCopilot(path string) beside {
	var b beside
	for line := range strings.Lines(string(readSmall(filepath.Join(filepath.Dir(path), "workspace.yaml")))) {
		if name, value, _ := strings.Cut(line, ":"); name == "cwd" {
			b.cwd = strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return b
}

func sniffCopilot(f fields) bool {
	return f["data"] == "{" && f.has("id", "timestamp") && slices.Contains(copilotFamilies, family(f["type"]))
}

// copilotFamilies begin the types of events.
var copilotFamilies = []string{"session", "user", "assistant", "tool", "subagent", "skill", "hook", "system", "permission", "pending_messages",
	"abort", "external_tool", "user_input", "elicitation", "exit_plan_mode", "command", "commands", "mcp", "sampling", "model", "capabilities", "auto_mode_switch"}

func family(kind string) string {
	name, _, _ := strings.Cut(kind, ".")
	return name
}

func parseCopilot(c *conversation, r record) string {
	var in struct {
		Type string          `json:"type"`
		Time json.RawMessage `json:"timestamp"`
		Data struct {
			Session    string          `json:"sessionId"`
			Version    string          `json:"copilotVersion"`
			Start      json.RawMessage `json:"startTime"`
			Content    string          `json:"content"`
			Source     string          `json:"source"`
			Autopilot  bool            `json:"isAutopilotContinuation"`
			Parent     string          `json:"parentToolCallId"`
			MessageID  string          `json:"messageId"`
			ToolCallID string          `json:"toolCallId"`
			Success    *bool           `json:"success"`
			Result     json.RawMessage `json:"result"`
			Error      json.RawMessage `json:"error"`
			Requests   []struct {
				ID        string          `json:"toolCallId"`
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			} `json:"toolRequests"`
		} `json:"data"`
	}
	if json.Unmarshal(r.json, &in) != nil {
		return unreadable(r.json)
	}
	data, out := in.Data, message{time: parseTime(in.Time)}
	if data.Parent != "" { // a subagent's
		return ""
	}
	switch in.Type {
	case "session.start":
		if data.Session != "" && !c.known {
			c.session, c.time, c.known, c.version = data.Session, parseTime(data.Start), true, data.Version
		}
	case "user.message":
		if data.Source == "" || data.Source == "user" {
			out.role, out.text = "user", data.Content
		}
		if data.Autopilot {
			out.text = ""
		}
	case "assistant.message":
		out.role, out.key, out.text = "assistant", data.MessageID, data.Content
		for _, one := range data.Requests {
			out.calls = append(out.calls, call{id: one.ID, name: one.Name, input: jsonText(one.Arguments)})
		}
	case "tool.execution_complete":
		out.role = "tool"
		got := result{id: data.ToolCallID, output: copilotText(data.Result), failed: data.Success != nil && !*data.Success}
		if got.failed {
			got.output = strings.TrimSpace(got.output + "\n" + copilotText(data.Error))
		}
		out.results = []result{got}
	case "":
		return "no type"
	default:
		if !slices.Contains(copilotFamilies, family(in.Type)) {
			return c.passOver(r.line, "type", in.Type)
		}
	}
	c.add(r, out)
	return ""
}

// copilotText reads a text, or an object with one.
func copilotText(raw json.RawMessage) string {
	var in struct {
		Content string `json:"content"`
		Message string `json:"message"`
	}
	if first(raw) == '"' {
		return unquote(raw)
	}
	_ = json.Unmarshal(raw, &in)
	return strings.TrimSpace(in.Content + "\n" + in.Message)
}

// copilotChatFolders are the storages of workspaces in each editor.
func copilotChatFolders(k known) (all []FolderOptions) {
	for _, user := range editorFolders(k.home) {
		storage := filepath.Join(user, "workspaceStorage")
		all = append(all, FolderOptions{Path: storage, SessionsOf: k.project, Exclude: []string{"/*/*", "!/*/chatSessions"}, groups: copilotChatGroups(storage)})
	}
	return all
}

// copilotChatGroups reads the folder that a workspace names.
func copilotChatGroups(storage string) groups {
	return func(p Project) func(string) (belonging, string) {
		holds := p.Holder()
		return func(name string) (belonging, string) {
			if folder := editorWorkspace(filepath.Join(storage, name, "workspace.json")); folder != "" && holds(folder, time.Time{}) {
				return named, folder
			}
			return elsewhere, ""
		}
	}
}

func sniffCopilotChat(f fields) bool {
	return f["requests"] == "[" && f.has("version", "sessionId") || f["kind"] == "0" && f["v.requests"] == "["
}

// maxChatList bounds how long a list may become by one change.
const maxChatList = 1 << 20

type copilotChat struct {
	Session  string           `json:"sessionId"`
	Created  json.RawMessage  `json:"creationDate"`
	Requests []copilotRequest `json:"requests"`
}

type copilotRequest struct {
	Time    json.RawMessage `json:"timestamp"`
	System  bool            `json:"isSystemInitiated"`
	Message struct {
		Text string `json:"text"`
	} `json:"message"`
	Response []copilotPart `json:"response"`
}

// copilotMarks are keys of each request, as they are written.
var copilotMarks = []string{`"requestId"`, `"message"`}

// readCopilotChat reads a document, or the changes that make one. Messages have numbers as lines.
func readCopilotChat(ctx context.Context, c *conversation, file logBytes, size int64, path string) error {
	var text []byte
	var err error
	if isJSON(path) {
		text, err = c.readText(ctx, file, size)
	} else {
		text, err = c.replayChat(ctx, file)
	}
	if err != nil {
		return err
	}
	var in copilotChat
	if reason := readable(text, &in); reason == notJSON {
		if in.Requests, err = c.wholeRequests(ctx, text); err != nil {
			return err
		}
	} else if reason != "" {
		c.skip(len(c.turns)+1, reason)
	}
	if in.Session != "" {
		c.session = in.Session
	}
	c.time = parseTime(in.Created)
	for _, request := range in.Requests {
		at := parseTime(request.Time)
		if !request.System {
			c.addNext(message{role: "user", time: at, text: request.Message.Text})
		}
		answer := message{role: "assistant", time: at}
		var said strings.Builder
		for _, part := range request.Response {
			part.addTo(&answer, &said)
		}
		answer.text = said.String()
		c.addNext(answer)
	}
	return nil
}

// wholeRequests returns the requests of a document that is broken.
func (c *conversation) wholeRequests(ctx context.Context, text []byte) (all []copilotRequest, err error) {
	e := elements{marks: copilotMarks, below: true}
	e.take = func(_ int, _ int64, value []byte) {
		var one copilotRequest
		if reason := readable(value, &one); reason != "" {
			c.skip(1+2*len(all), reason)
		}
		all = append(all, one)
	}
	e.lose = func(number int, at int64, _ string) {
		c.skip(1+2*len(all), fmt.Sprintf("request %d, at byte %d, is broken", number, at))
	}
	err = e.resume(ctx, text, 0)
	if len(c.skipped) == 0 { // no request is broken
		c.skip(1+2*len(all), cutOff)
	}
	return all, err
}

// A copilotChange is a line of the log: the whole document (kind 0), a value (1), elements that are
// added to a list, after it was cut to a length (2), or a value that is removed (3).
type copilotChange struct {
	Kind  int               `json:"kind"`
	Path  []json.RawMessage `json:"k"`
	Value json.RawMessage   `json:"v"`
	Index *int              `json:"i"`
}

func (c *conversation) replayChat(ctx context.Context, file io.Reader) ([]byte, error) {
	var document any
	lines := lineReader{from: bufio.NewReaderSize(file, 1<<18)}
	total := 0
	for number := 1; ; number++ {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, errLongLine) {
			c.skip(number, lineTooLong)
			continue
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
		if total += len(line); total > maxJSONLog {
			return nil, errors.New(tooLarge(int64(total), maxJSONLog))
		}
		var change copilotChange
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if json.Unmarshal(line, &change) != nil {
			c.skip(number, unreadable(line))
			continue
		}
		var value any
		if len(change.Value) > 0 && json.Unmarshal(change.Value, &value) != nil {
			continue
		}
		if change.Kind == 0 {
			document = value
		} else if changed, ok := change.apply(document, change.Path, value); ok {
			document = changed
		} else {
			c.skip(number, "a change of what is not there")
		}
	}
	return json.Marshal(document)
}

// apply returns a value after a change of what a path below it names.
func (change copilotChange) apply(at any, path []json.RawMessage, value any) (any, bool) {
	if len(path) == 0 {
		switch list, isList := at.([]any); {
		case change.Kind == 1:
			return value, true
		case change.Kind == 3:
			return nil, true
		case change.Kind == 2 && (isList || at == nil):
			if change.Index != nil && *change.Index >= 0 && *change.Index < len(list) {
				list = list[:*change.Index]
			}
			added, _ := value.([]any)
			return append(list, added...), true
		}
		return nil, false
	}
	key := unquoteIf(path[0])
	if at == nil && key != "" && change.Kind == 1 {
		at = map[string]any{}
	}
	switch parent := at.(type) {
	case map[string]any:
		below, ok := change.apply(parent[key], path[1:], value)
		if ok {
			parent[key] = below
		}
		return parent, ok
	case []any:
		var i int
		if json.Unmarshal(path[0], &i) != nil || i < 0 || i > len(parent) || i >= maxChatList {
			return nil, false
		}
		if i == len(parent) {
			parent = append(parent, nil)
		}
		below, ok := change.apply(parent[i], path[1:], value)
		if ok {
			parent[i] = below
		}
		return parent, ok
	}
	return nil, false
}

// A copilotPart is a part of an answer: text if it has no kind.
type copilotPart struct {
	Kind      string          `json:"kind"`
	Value     json.RawMessage `json:"value"`
	Content   json.RawMessage `json:"content"`
	Reference struct {
		Name string `json:"name"`
		Path string `json:"path"`
	} `json:"inlineReference"`
	URI struct {
		Path string `json:"path"`
	} `json:"uri"`
	Tool     string `json:"toolId"`
	Specific struct {
		Command struct {
			Original string `json:"original"`
			Edited   string `json:"toolEdited"`
			User     string `json:"userEdited"`
		} `json:"commandLine"`
		Output struct {
			Text string `json:"text"`
		} `json:"terminalCommandOutput"`
		State struct {
			ExitCode int `json:"exitCode"`
		} `json:"terminalCommandState"`
	} `json:"toolSpecificData"`
	Result struct {
		Input  json.RawMessage `json:"input"`
		Output json.RawMessage `json:"output"`
		Error  bool            `json:"isError"`
	} `json:"resultDetails"`
	Past    json.RawMessage `json:"pastTenseMessage"`
	Message json.RawMessage `json:"invocationMessage"`
}

// UnmarshalJSON takes what it can read: parts of some kinds have other values in these fields.
func (p *copilotPart) UnmarshalJSON(raw []byte) error {
	type plain copilotPart
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	for name, value := range all {
		one, _ := json.Marshal(map[string]json.RawMessage{name: value}) // has been JSON
		_ = json.Unmarshal(one, (*plain)(p))
	}
	return nil
}

func (p copilotPart) addTo(m *message, said *strings.Builder) {
	switch p.Kind {
	case "", "markdownContent":
		said.WriteString(copilotValue(p.Value) + copilotValue(p.Content))
	case "inlineReference":
		name := p.Reference.Name
		if name == "" {
			name = filepath.Base(p.Reference.Path)
		}
		said.WriteString("`" + name + "`")
	case "textEditGroup":
		edit, _ := json.Marshal(map[string]string{"path": p.URI.Path}) // strings always marshal
		m.calls = append(m.calls, call{name: "edit", input: string(edit), done: true})
	case "toolInvocationSerialized":
		m.calls = append(m.calls, p.call())
	}
}

// copilotValue reads a text, or Markdown with one.
func copilotValue(raw json.RawMessage) string {
	var in struct {
		Value string `json:"value"`
	}
	if first(raw) == '"' {
		return unquote(raw)
	}
	_ = json.Unmarshal(raw, &in)
	return in.Value
}

func (p copilotPart) call() call {
	out := call{name: p.Tool, done: true, failed: p.Result.Error || p.Specific.State.ExitCode != 0}
	command := p.Specific.Command.Original
	for _, edited := range []string{p.Specific.Command.Edited, p.Specific.Command.User} {
		if edited != "" {
			command = edited
		}
	}
	if command != "" {
		out.name, out.input, out.output = "run_in_terminal", command, p.Specific.Output.Text
	} else if out.input = jsonText(p.Result.Input); out.input == "" {
		if out.input = copilotValue(p.Past); out.input == "" {
			out.input = copilotValue(p.Message)
		}
	}
	var shown []struct {
		Value string `json:"value"`
	}
	if json.Unmarshal(p.Result.Output, &shown) == nil && out.output == "" {
		for _, one := range shown {
			out.output += one.Value
		}
	}
	return out
}
