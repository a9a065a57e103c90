package source

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	"github.com/memcore/memcore/internal/safefile"
)

// Gemini CLI keeps its chats in ~/.gemini/tmp/<project>/chats/session-*.json; since 2026, *.jsonl.
//
// This follows github.com/google-gemini/gemini-cli (2026-11): chatRecordingService.ts and
// chatRecordingTypes.ts in packages/core/src/services. In .jsonl the first line holds the session,
// a changed message is written again whole, and $set and $rewindTo are bookkeeping. Rewound
// messages stay. Left out are thoughts and notices (info, warning, error).
//
// A compacted history begins with the model's summary in the user's place, and in .jsonl a $set has
// all of it.
//
// Subagents' chats have kind "subagent" and are in a folder that is named after the session (see
// report).

// geminiFolders are named after a hash of the working directory or, since 2026, as in projects.json
// and a file in them.
func geminiFolders(k known) []FolderOptions {
	all := k.in("tmp")
	for i := range all {
		all[i].Exclude = []string{"/*/*", "!/*/chats"}
		all[i].groups = geminiGroups(filepath.Dir(all[i].Path))
	}
	return all
}

func geminiGroups(home string) groups {
	return func(p Project) func(string) (belonging, string) {
		holds := p.Holder()
		of := geminiRegistered(home, holds)
		for _, cwd := range p.Folders() {
			sum := sha256.Sum256([]byte(cwd))
			of[hex.EncodeToString(sum[:])] = cwd
		}
		return func(name string) (belonging, string) {
			owner := strings.TrimSpace(string(readSmall(filepath.Join(home, "tmp", name, ".project_root"))))
			switch {
			case filepath.IsAbs(owner) && holds(owner, time.Time{}):
				return named, owner
			case owner == "" && of[name] != "":
				return named, of[name]
			}
			return elsewhere, ""
		}
	}
}

// geminiRegistered returns the working directories of the project by the names of the folders that
// projects.json gives them.
func geminiRegistered(home string, holds func(string, time.Time) bool) map[string]string {
	var registry struct {
		Projects map[string]string `json:"projects"`
	}
	of := map[string]string{}
	if json.Unmarshal(readSmall(filepath.Join(home, "projects.json")), &registry) != nil {
		return of
	}
	for cwd, name := range registry.Projects {
		if filepath.IsAbs(cwd) && holds(cwd, time.Time{}) {
			of[name] = cwd
		}
	}
	return of
}

// readSmall returns nil if a file cannot be read.
func readSmall(path string) []byte {
	text, _, err := safefile.ReadPath(path, 1<<20)
	if err != nil {
		return nil
	}
	return text
}

func sniffGemini(f fields) bool {
	switch {
	case f.has("sessionId", "projectHash"):
		return true
	case f.has("messages"):
		return f["messages[].type"] == "gemini" || f["messages[].type"] == "user" && f.has("sessionId", "messages[].content")
	}
	return f["type"] == "gemini" && f.has("id", "timestamp", "content")
}

type geminiRecord struct {
	SessionID string          `json:"sessionId"`
	StartTime json.RawMessage `json:"startTime"`
	Kind      string          `json:"kind"` // "main" or "subagent"
	Set       *struct {
		SessionID string            `json:"sessionId"`
		Messages  []json.RawMessage `json:"messages"`
	} `json:"$set"`
	RewindTo string `json:"$rewindTo"`

	ID             string           `json:"id"`
	Type           string           `json:"type"`
	Timestamp      json.RawMessage  `json:"timestamp"`
	Content        json.RawMessage  `json:"content"`
	DisplayContent json.RawMessage  `json:"displayContent"`
	ToolCalls      []geminiToolCall `json:"toolCalls"`
}

type geminiToolCall struct {
	ID            string          `json:"id"`
	Name          string          `json:"name"`
	Args          json.RawMessage `json:"args"`
	Result        json.RawMessage `json:"result"`
	ResultDisplay json.RawMessage `json:"resultDisplay"`
	Status        string          `json:"status"`
}

func parseGemini(c *conversation, r record) string {
	var in geminiRecord
	if json.Unmarshal(r.json, &in) != nil {
		return unreadable(r.json)
	}
	out, lost := message{key: in.ID, again: true, time: parseTime(in.Timestamp)}, ""
	switch in.Type {
	case "":
		return geminiBookkeeping(c, r, in)
	case "user", "gemini":
		if c.sub != nil {
			return parseGeminiSubagent(c, r, in)
		}
	}
	switch in.Type {
	case "user":
		if !isContent(in.Content) && !isContent(in.DisplayContent) {
			return noContent
		}
		out.role = "user"
		if summary := geminiSummary(in); summary != "" {
			out.role, out.speaker, out.text = "system", SummarySpeaker, summary
			break
		}
		if out.text = geminiText(in.DisplayContent); out.text == "" {
			out.text = geminiSaid(in.Content)
		}
		if strings.HasPrefix(out.text, "This is the Gemini CLI. We are setting up the context") {
			return ""
		}
	case "gemini":
		switch readable := isContent(in.Content); {
		case !readable && len(in.ToolCalls) == 0:
			return noContent
		case !readable && len(in.Content) > 0: // the calls count
			lost = noContent
		}
		out.role, out.text = "assistant", geminiText(in.Content)
		for _, t := range in.ToolCalls {
			out.calls = append(out.calls, t.call())
		}
	case "info", "warning", "error":
		return ""
	default:
		return c.passOver(r.line, "type", in.Type)
	}
	c.add(r, out)
	return lost
}

// geminiSaid returns a user's text without the files that they named.
func geminiSaid(raw json.RawMessage) string {
	said, _, _ := strings.Cut(geminiText(raw), geminiFiles)
	return strings.TrimSpace(said)
}

// geminiFiles begins the texts of files that a user named after "@".
const geminiFiles = "--- Content from referenced files ---"

// geminiSummary returns the summary that a message has in the user's place, or "".
func geminiSummary(in geminiRecord) string {
	_, text, found := strings.Cut(geminiText(in.Content), "<state_snapshot>")
	text, _, ended := strings.Cut(text, "</state_snapshot>")
	if !found || !ended {
		return ""
	}
	return strings.TrimSpace(text)
}

func geminiBookkeeping(c *conversation, r record, in geminiRecord) string {
	switch {
	case in.Set != nil:
		for _, raw := range in.Set.Messages {
			var m geminiRecord
			if json.Unmarshal(raw, &m) != nil || m.Type != "user" {
				continue
			}
			if summary := geminiSummary(m); summary != "" {
				c.add(r, message{key: m.ID, again: true, role: "system", speaker: SummarySpeaker, time: parseTime(m.Timestamp), text: summary})
			}
		}
		if in.Set.SessionID != "" {
			c.session = in.Set.SessionID
		}
	case in.RewindTo != "":
	case in.SessionID != "":
		c.session, c.time = in.SessionID, parseTime(in.StartTime)
		if in.Kind == "subagent" {
			c.sub = &subagent{parent: filepath.Base(filepath.Dir(c.name))}
		}
	default:
		return "no type"
	}
	return ""
}

// parseGeminiSubagent reads a message in a subagent's own chat. Its last call, complete_task, has
// the report if no text does.
func parseGeminiSubagent(c *conversation, r record, in geminiRecord) string {
	text := geminiText(in.Content)
	if in.Type == "user" {
		c.task(text)
		return ""
	}
	for _, t := range in.ToolCalls {
		if t.Name == "complete_task" {
			text = strings.Join(textsIn(t.Args, nil), "\n\n")
		}
	}
	if !c.asker.is(func() bool { return geminiAsker(c.file, c.sub.parent) }) {
		c.conclude(r, parseTime(in.Timestamp), "", text)
	}
	return ""
}

// geminiAsker reports whether the chat of a session is there, whose name ends with the first eight
// characters of its ID.
func geminiAsker(file, session string) bool {
	if file == "" || len(session) < 8 || strings.ContainsAny(session, `*?[\`) {
		return false
	}
	chats := filepath.Dir(filepath.Dir(file))
	found, err := filepath.Glob(filepath.Join(globEscape(chats), "session-*-"+session[:8]+".json*"))
	return err == nil && len(found) > 0
}

// A geminiPart is a part of a message, without calls.
type geminiPart struct {
	Text             string `json:"text"`
	Thought          bool   `json:"thought"`
	FunctionResponse *struct {
		Response map[string]json.RawMessage `json:"response"`
	} `json:"functionResponse"`
}

// geminiParts reads a string, a part, or an array of both.
func geminiParts(raw json.RawMessage) []geminiPart {
	switch first(raw) {
	case '"':
		return []geminiPart{{Text: unquote(raw)}}
	case '{':
		var part geminiPart
		if json.Unmarshal(raw, &part) == nil {
			return []geminiPart{part}
		}
	case '[':
		var all []json.RawMessage
		var parts []geminiPart
		_ = json.Unmarshal(raw, &all)
		for _, one := range all {
			if first(one) != '[' {
				parts = append(parts, geminiParts(one)...)
			}
		}
		return parts
	}
	return nil
}

func geminiText(raw json.RawMessage) string {
	var texts []string
	for _, part := range geminiParts(raw) {
		// Hooks add text, such as memory.
		if text := withoutTag(part.Text, "hook_context"); text != "" && !part.Thought {
			texts = append(texts, text)
		}
	}
	return strings.TrimSpace(strings.Join(texts, "\n"))
}

// call prefers the model's result over the one the user saw.
func (t geminiToolCall) call() call {
	out := call{id: t.ID, name: t.Name, input: jsonText(t.Args), done: true, failed: t.Status == "error" || t.Status == "cancelled"}
	var texts []string
	for _, part := range geminiParts(t.Result) {
		if part.FunctionResponse == nil {
			texts = append(texts, part.Text)
			continue
		}
		response := part.FunctionResponse.Response
		texts = append(texts, jsonText(response["output"]))
		if problem := jsonText(response["error"]); problem != "" {
			texts, out.failed = append(texts, problem), true
		}
	}
	out.output = strings.TrimSpace(strings.Join(texts, "\n"))
	if out.output == "" && first(t.ResultDisplay) == '"' {
		out.output = unquote(t.ResultDisplay)
	}
	out.failed = out.failed || t.Name == "run_shell_command" && geminiFailed(out.output)
	return out
}

// geminiFailed reads the exit code of a shell command, whose call succeeds whatever it is.
func geminiFailed(output string) bool {
	_, code, ok := strings.Cut("\n"+output, "\nExit Code: ")
	code, _, _ = strings.Cut(code, "\n")
	code = strings.TrimSpace(code)
	return ok && code != "0" && code != "(none)"
}
