package source

import (
	"encoding/json"
	"fmt"
	"strings"
)

// gemini reads the chats of Gemini CLI, ~/.gemini/tmp/<project>/chats/session-*.json, and .jsonl
// since 2026.
//
// The format was read from github.com/google-gemini/gemini-cli,
// packages/core/src/services/chatRecordingService.ts and chatRecordingTypes.ts, in 2026-11. In .jsonl the first line holds
// the session, a message that has changed is written again as a whole, and $set and $rewindTo are
// bookkeeping. What was rewound was said all the same, and stays. Thoughts and the program's own notices (info, warning, error)
// are left out.
type gemini struct{}

func (gemini) name() string { return "gemini-cli" }

func (gemini) sniff(f fields) bool {
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
	Set       *struct {
		SessionID string `json:"sessionId"`
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

func (gemini) parse(c *conversation, r record) string {
	var in geminiRecord
	if json.Unmarshal(r.json, &in) != nil {
		return unreadable(r.json)
	}
	out := message{key: in.ID, again: true, time: parseTime(in.Timestamp)}
	switch in.Type {
	case "":
		return geminiBookkeeping(c, in)
	case "user":
		out.role = "user"
		if out.text = geminiText(in.DisplayContent); out.text == "" {
			out.text = geminiText(in.Content)
		}
		if strings.HasPrefix(out.text, "<session_context>") || strings.HasPrefix(out.text, "This is the Gemini CLI. We are setting up the context") {
			return ""
		}
	case "gemini":
		out.role, out.text = "assistant", geminiText(in.Content)
		for _, t := range in.ToolCalls {
			out.calls = append(out.calls, t.call())
		}
	case "info", "warning", "error":
		return ""
	default:
		return fmt.Sprintf("unknown type %q", in.Type)
	}
	c.add(r, out)
	return ""
}

func geminiBookkeeping(c *conversation, in geminiRecord) string {
	switch {
	case in.Set != nil:
		if in.Set.SessionID != "" {
			c.session = in.Set.SessionID
		}
	case in.RewindTo != "":
	case in.SessionID != "":
		c.session, c.time = in.SessionID, parseTime(in.StartTime)
	default:
		return "no type"
	}
	return ""
}

// A geminiPart is a part of a content. Parts that only carry calls and their results are told again in toolCalls.
type geminiPart struct {
	Text             string `json:"text"`
	Thought          bool   `json:"thought"`
	FunctionResponse *struct {
		Response map[string]json.RawMessage `json:"response"`
	} `json:"functionResponse"`
}

// geminiParts reads a content that is a string, a part, or an array of both.
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
		// What a hook has added, memory itself among it, was not said by anybody.
		if text := withoutTag(part.Text, "hook_context"); text != "" && !part.Thought {
			texts = append(texts, text)
		}
	}
	return strings.TrimSpace(strings.Join(texts, "\n"))
}

// call is a tool call with what came back: what the model got, else what the user saw.
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
	return out
}
