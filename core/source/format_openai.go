package source

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// openAI reads messages as the OpenAI chat API takes them: a JSON array, an object with "messages",
// or a message a line. The roles and fields are those of the chat completions API as
// github.com/sashabaranov/go-openai (chat.go, v1.43.0, 2026-11) declares them; session and time, which
// the API does not know, are read under the names that programs commonly add.
//
// System prompts are the program's words, not the conversation's, and are left out.
type openAI struct{}

func (openAI) name() string { return "openai" }

var openAIRoles = []string{"user", "assistant", "system", "developer", "tool", "function"}

func (openAI) sniff(f fields) bool {
	for _, prefix := range []string{"", "[].", "messages[]."} {
		if slices.Contains(openAIRoles, f[prefix+"role"]) &&
			(f.has(prefix+"content") || f.has(prefix+"tool_calls") || f.has(prefix+"function_call")) {
			return true
		}
	}
	return false
}

type openAIMessage struct {
	Role         string           `json:"role"`
	Content      json.RawMessage  `json:"content"`
	Name         string           `json:"name"`
	ToolCalls    []openAIToolCall `json:"tool_calls"`
	FunctionCall *openAIFunction  `json:"function_call"`
	ToolCallID   string           `json:"tool_call_id"`

	// What programs add to a message.
	SessionID      json.RawMessage `json:"session_id"`
	SessionIDToo   json.RawMessage `json:"sessionId"`
	ConversationID json.RawMessage `json:"conversation_id"`
	ThreadID       json.RawMessage `json:"thread_id"`
	Session        json.RawMessage `json:"session"`
	Timestamp      json.RawMessage `json:"timestamp"`
	CreatedAt      json.RawMessage `json:"created_at"`
	CreatedAtToo   json.RawMessage `json:"createdAt"`
	Time           json.RawMessage `json:"time"`
	Date           json.RawMessage `json:"date"`
	TS             json.RawMessage `json:"ts"`
	Created        json.RawMessage `json:"created"`
}

type openAIToolCall struct {
	ID       string         `json:"id"`
	Function openAIFunction `json:"function"`
}

type openAIFunction struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

func (openAI) parse(c *conversation, r record) string {
	var in openAIMessage
	if json.Unmarshal(r.json, &in) != nil {
		return unreadable(r.json)
	}
	if session := in.session(); session != "" {
		c.session = session
	}
	held := parseContent(in.Content)
	out := message{
		role: in.Role, time: in.time(),
		text: held.text(), calls: append(held.calls, in.calls()...), results: held.results,
	}
	switch in.Role {
	case "system", "developer":
		return ""
	case "user", "assistant":
		out.speaker = in.Name
	case "tool", "function":
		id := in.ToolCallID
		if id == "" {
			id = functionID(in.Name)
		}
		out.role, out.text = "tool", ""
		out.results = []result{{id: id, name: in.Name, output: held.text()}}
	case "":
		return "no role"
	default:
		return fmt.Sprintf("unknown role %q", in.Role)
	}
	c.add(r, out)
	return ""
}

func (m openAIMessage) calls() []call {
	var calls []call
	for _, t := range m.ToolCalls {
		calls = append(calls, call{id: t.ID, name: t.Function.Name, input: jsonText(t.Function.Arguments)})
	}
	if f := m.FunctionCall; f != nil {
		calls = append(calls, call{id: functionID(f.Name), name: f.Name, input: jsonText(f.Arguments)})
	}
	return calls
}

// functionID stands for the ID that the old function calls do not have: they are answered by name.
func functionID(name string) string { return "function " + name }

func (m openAIMessage) session() string {
	for _, id := range []json.RawMessage{m.SessionID, m.SessionIDToo, m.ConversationID, m.ThreadID, m.Session} {
		if id := jsonText(id); id != "" {
			return id
		}
	}
	return ""
}

func (m openAIMessage) time() (at time.Time) {
	for _, value := range []json.RawMessage{m.Timestamp, m.CreatedAt, m.CreatedAtToo, m.Time, m.Date, m.TS, m.Created} {
		if at = parseTime(value); !at.IsZero() {
			break
		}
	}
	return at
}
