package turn

import (
	"context"
	"slices"
	"strconv"

	"github.com/tidwall/gjson"
)

// OllamaJSON is JSON for Ollama's chat API.
func OllamaJSON(ctx context.Context, r Retriever, request []byte, options Options) ([]byte, Report, error) {
	return injectJSON(ctx, r, request, ollamaAPI, options)
}

var ollamaAPI = api{
	key:    "messages",
	read:   readOllama,
	text:   func(m rawMessage) string { return contentText(m.content()) },
	place:  placeMessage,
	system: systemMessage,
}

// readOllama numbers tool calls, which may lack IDs, and names in results.
func readOllama(list gjson.Result) ([]rawMessage, error) {
	type call struct{ number, id, name string }
	var open []call
	calls := 0
	return readEach(list, func(m *rawMessage) {
		for _, c := range objectsOf(m.whole.Get("tool_calls")) {
			calls++
			number := strconv.Itoa(calls)
			m.calls = append(m.calls, number)
			open = append(open, call{number, c.Get("id").Str, c.Get("function.name").Str})
		}
		if m.role != "tool" || len(open) == 0 {
			return
		}
		id, name := m.whole.Get("tool_call_id").Str, m.whole.Get("tool_name").Str
		i := slices.IndexFunc(open, func(c call) bool {
			if id != "" && c.id != "" {
				return c.id == id
			}
			return name == "" || c.name == name
		})
		if i >= 0 {
			m.answers = []string{open[i].number}
			open = slices.Delete(open, i, i+1)
		}
	})
}
