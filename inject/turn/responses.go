package turn

import (
	"context"
	"strings"
)

// ResponsesJSON does what JSON does for a request of OpenAI's Responses API, whose "input" is a string or an array of items.
//
// If the server keeps the conversation ("previous_response_id", "conversation"), nothing is injected: what is in such a request is in
// the history from then on.
func ResponsesJSON(ctx context.Context, r retriever, request []byte, options Options) ([]byte, Report, error) {
	return injectJSON(ctx, r, request, responsesAPI, options)
}

const responsesMessage = `{"type":"message","role":"user","content":`

var responsesAPI = api{
	key: "input",
	kept: func(request []byte, fields map[string]span) bool {
		return !isNull(request, fields["previous_response_id"]) || !isNull(request, fields["conversation"])
	},
	read: readResponses,
	text: func(m rawMessage) string { return contentText(m.raw) },
	position: func(request []byte, m rawMessage) (span, []byte, []byte) {
		if m.at == m.content { // the input is a string; it becomes the second message
			return m.at, []byte("[" + responsesMessage), []byte("}," + responsesMessage + string(m.raw) + "}]")
		}
		return beforeMessage(responsesMessage, "}")(request, m)
	},
}

func readResponses(request []byte, list span) ([]rawMessage, error) {
	if request[list.start] == '"' {
		return []rawMessage{{at: list, role: "user", content: list, raw: list.of(request)}}, nil
	}
	return readEach(request, list, func(m *rawMessage, fields map[string]span) {
		// There are function_call, custom_tool_call, shell_call and more to come, each with its output. Calls that the server answers
		// itself, such as web_search_call, have no call_id.
		kind, id := stringOf(fields["type"].of(request)), stringOf(fields["call_id"].of(request))
		switch {
		case strings.HasSuffix(kind, "_call") && id != "":
			m.calls = []string{id}
		case strings.HasSuffix(kind, "_call_output") && id != "":
			m.answers = []string{id}
		case strings.HasSuffix(kind, "_call_output"):
			m.answers = []string{stringOf(fields["id"].of(request))} // that of local_shell_call
		}
		if kind != "" && kind != "message" {
			m.role = ""
		}
	})
}
