package turn

import (
	"context"
	"slices"
	"strconv"
)

// OllamaJSON does what JSON does for a request of Ollama's own chat API.
func OllamaJSON(ctx context.Context, r retriever, request []byte, options Options) ([]byte, Report, error) {
	return injectJSON(ctx, r, request, ollamaAPI, options)
}

var ollamaAPI = api{
	key:      "messages",
	read:     readOllama,
	text:     func(m rawMessage) string { return contentText(m.raw) },
	position: beforeMessage(`{"role":"user","content":`, `}`),
}

// An ollamaCall is a tool call that has no result yet.
type ollamaCall struct{ key, id, name string }

// readOllama numbers the tool calls: in this API neither calls nor results need an ID, and results not even the tool's name.
func readOllama(request []byte, list span) ([]rawMessage, error) {
	var open []ollamaCall
	calls := 0
	return readEach(request, list, func(m *rawMessage, fields map[string]span) {
		for _, call := range objectsAt(request, fields["tool_calls"]) {
			calls++
			c := ollamaCall{strconv.Itoa(calls), stringOf(call["id"].of(request)), stringOf(objectAt(request, call["function"])["name"].of(request))}
			m.calls = append(m.calls, c.key)
			open = append(open, c)
		}
		if m.role != "tool" || len(open) == 0 {
			return
		}
		id, name := stringOf(fields["tool_call_id"].of(request)), stringOf(fields["tool_name"].of(request))
		i := slices.IndexFunc(open, func(c ollamaCall) bool {
			if id != "" && c.id != "" {
				return c.id == id
			}
			return name == "" || c.name == name
		})
		if i >= 0 {
			m.answers = []string{open[i].key}
			open = slices.Delete(open, i, i+1)
		}
	})
}
