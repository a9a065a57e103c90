package source

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

// OpenAI's chat messages: a JSON array, an object with "messages", or one a line. This follows
// github.com/sashabaranov/go-openai (chat.go, v1.43.0, 2026-11). Session and time have common
// names. System prompts are left out.

var openAIRoles = []string{"user", "assistant", "system", "developer", "tool", "function"}

func sniffOpenAI(f fields) bool {
	for _, prefix := range []string{"", "[].", "messages[]."} {
		if slices.Contains(openAIRoles, f[prefix+"role"]) &&
			(f.has(prefix+"content") || f.has(prefix+"tool_calls") || f.has(prefix+"function_call")) {
			return true
		}
	}
	return false
}

type openAIMessage map[string]json.RawMessage

type openAIToolCall struct {
	ID       string         `json:"id"`
	Function openAIFunction `json:"function"`
}

type openAIFunction struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

func parseOpenAI(c *conversation, r record) string {
	var in openAIMessage
	if json.Unmarshal(r.json, &in) != nil {
		return unreadable(r.json)
	}
	if session := in.session(); session != "" {
		c.session = session
	}
	role, name := jsonText(in["role"]), unquote(in["name"])
	parsed := parseContent(in["content"])
	out := message{
		role: role, time: in.time(),
		text: parsed.text(), calls: append(parsed.calls, in.calls()...), results: parsed.results,
	}
	if !isContent(in["content"]) && len(out.calls) == 0 && slices.Contains(openAIRoles, role) {
		return noContent
	}
	switch role {
	case "system", "developer":
		return ""
	case "user", "assistant":
		out.speaker = name
	case "tool", "function":
		id := cmp.Or(jsonText(in["tool_call_id"]), functionID(name))
		out.role, out.text = "tool", ""
		out.results = []result{{id: id, name: name, output: parsed.text()}}
	default:
		return c.passOver(r.line, "role", role)
	}
	c.add(r, out)
	return parsed.lost
}

func (m openAIMessage) calls() []call {
	var calls []call
	var all []openAIToolCall
	_ = json.Unmarshal(m["tool_calls"], &all)
	for _, t := range all {
		calls = append(calls, call{id: t.ID, name: t.Function.Name, input: jsonText(t.Function.Arguments)})
	}
	var old openAIFunction
	if json.Unmarshal(m["function_call"], &old) == nil && old.Name != "" {
		calls = append(calls, call{id: functionID(old.Name), name: old.Name, input: jsonText(old.Arguments)})
	}
	return calls
}

// functionID is for old results, which give only the name.
func functionID(name string) string { return "function " + name }

func (m openAIMessage) session() string {
	for _, key := range []string{"session_id", "sessionId", "conversation_id", "thread_id", "session"} {
		if id := jsonText(m[key]); id != "" {
			return id
		}
	}
	return ""
}

func (m openAIMessage) time() (at time.Time) {
	for _, key := range []string{"timestamp", "created_at", "createdAt", "time", "date", "ts", "created"} {
		if at = parseTime(m[key]); !at.IsZero() {
			break
		}
	}
	return at
}
