package turn

import (
	"context"
	"strings"

	"github.com/tidwall/gjson"
)

// ResponsesJSON is JSON for OpenAI's Responses API.
//
// If the server keeps the conversation ("previous_response_id", "conversation"), only
// Options.System is injected: the server keeps the input, but not the instructions.
func ResponsesJSON(ctx context.Context, r Retriever, request []byte, options Options) ([]byte, Report, error) {
	return injectJSON(ctx, r, request, responsesAPI, options)
}

const responsesMessage = `{"type":"message","role":"user","content":`

var responsesAPI = api{
	key: "input",
	kept: func(fields members) bool {
		return !fields.isNull("previous_response_id") || !fields.isNull("conversation")
	},
	read: readResponses,
	text: func(m rawMessage) string { return contentText(m.content()) },
	place: func(m rawMessage, block string) edit {
		if m.whole.Type == gjson.String { // the input becomes the second message
			return edit{m.whole.Index, endOf(m.whole), "[" + responsesMessage + block + "}," + responsesMessage + m.whole.Raw + "}]"}
		}
		return insertion(m.whole.Index, responsesMessage+block+"},")
	},

	system:      systemInstructions,
	systemField: "instructions",
}

func readResponses(list gjson.Result) ([]rawMessage, error) {
	if list.Type == gjson.String {
		return []rawMessage{{whole: list, role: "user"}}, nil
	}
	return readEach(list, func(m *rawMessage) {
		// function_call, custom_tool_call, shell_call and more have outputs. Those that the server
		// answers have no call_id.
		kind, id := m.whole.Get("type").Str, m.whole.Get("call_id").Str
		switch {
		case strings.HasSuffix(kind, "_call") && id != "":
			m.calls = []string{id}
		case strings.HasSuffix(kind, "_call_output") && id != "":
			m.answers = []string{id}
		case strings.HasSuffix(kind, "_call_output"):
			m.answers = []string{m.whole.Get("id").Str} // of a local_shell_call
		}
		if kind != "" && kind != "message" {
			m.role = ""
		}
	})
}
