package turn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// JSON does what Messages does for a chat request as JSON, in the form of OpenAI's Chat Completions: an object with "messages", or an
// array of messages. All else in it stays byte for byte. If there is nothing to inject, request itself is
// returned; an error says what is wrong with the JSON.
func JSON(ctx context.Context, r retriever, request []byte, options Options) ([]byte, Report, error) {
	return injectJSON(ctx, r, request, chatAPI, options)
}

// An api is how requests of one API are read, and how memory gets into them.
type api struct {
	key      string                                                             // of the messages in the request
	bare     bool                                                               // an array of messages is a request, too
	kept     func(request []byte, fields map[string]span) bool                  // whether the server has more of the conversation; nil is no
	read     func(request []byte, list span) ([]rawMessage, error)              // the messages
	text     func(m rawMessage) string                                          // what a user says
	held     func(m rawMessage) bool                                            // whether memory is in it; nil is no
	position func(request []byte, m rawMessage) (at span, before, after []byte) // what is replaced, and what goes around the block, which is a JSON string
}

// A rawMessage is what matters here of one message, or other item, of a request.
type rawMessage struct {
	at      span
	role    string   // "user" only for what a person says
	content span     // zero for none
	raw     []byte   // the content
	calls   []string // IDs of tool calls
	answers []string // IDs of the calls that it has results of
}

// injectJSON returns request with memory in it, or request itself. What is inserted is one piece of text; nothing is written anew.
func injectJSON(ctx context.Context, r retriever, request []byte, is api, options Options) ([]byte, Report, error) {
	list, kept, err := findMessages(request, is)
	if err != nil {
		return request, Report{}, err
	}
	if kept {
		return request, Report{Reason: ReasonKept}, nil
	}
	messages, err := is.read(request, list)
	if err != nil {
		return request, Report{}, err
	}
	last, block, report := choose(ctx, r, messages, shape[rawMessage]{
		role:    func(m rawMessage) string { return m.role },
		text:    is.text,
		calls:   func(m rawMessage) []string { return m.calls },
		answers: func(m rawMessage) []string { return m.answers },
		held:    is.held,
	}, options)
	if block == "" {
		return request, report, nil
	}
	encoded, err := json.Marshal(block)
	if err != nil {
		return request, Report{}, fmt.Errorf("encode memory: %w", err)
	}
	at, before, after := is.position(request, messages[last])
	return slices.Concat(request[:at.start], before, encoded, after, request[at.end:]), report, nil
}

// findMessages returns where in the request the messages are.
func findMessages(request []byte, is api) (list span, kept bool, err error) {
	if !json.Valid(request) {
		var anything any
		return span{}, false, fmt.Errorf("chat request is not JSON: %w", json.Unmarshal(request, &anything))
	}
	whole := valueAt(request, 0)
	switch {
	case request[whole.start] == '[' && is.bare:
		return whole, false, nil
	case request[whole.start] != '{' && is.bare:
		return span{}, false, fmt.Errorf("chat request is neither an object with %q nor an array of messages", is.key)
	case request[whole.start] != '{':
		return span{}, false, fmt.Errorf("chat request is no object with %q", is.key)
	}
	fields := members(request, whole)
	list, ok := fields[is.key]
	if !ok {
		return span{}, false, fmt.Errorf("chat request has no %q", is.key)
	}
	return list, is.kept != nil && is.kept(request, fields), nil
}

// readEach reads the messages of an array, which have to be objects.
func readEach(request []byte, list span, read func(m *rawMessage, fields map[string]span)) ([]rawMessage, error) {
	if request[list.start] != '[' {
		return nil, errors.New("chat request: messages are no array")
	}
	var messages []rawMessage
	for at := range elements(request, list) {
		if request[at.start] != '{' {
			return nil, fmt.Errorf("chat request: message %d is no object", len(messages)+1)
		}
		fields := members(request, at)
		m := rawMessage{at: at, role: stringOf(fields["role"].of(request)), content: fields["content"]}
		m.raw = m.content.of(request)
		read(&m, fields)
		messages = append(messages, m)
	}
	return messages, nil
}

// beforeMessage puts a message of its own, with the block between opening and closing, before a message.
func beforeMessage(opening, closing string) func([]byte, rawMessage) (span, []byte, []byte) {
	return func(_ []byte, m rawMessage) (span, []byte, []byte) {
		return span{m.at.start, m.at.start}, []byte(opening), []byte(closing + ",")
	}
}

var chatAPI = api{
	key:      "messages",
	bare:     true,
	read:     readChat,
	text:     func(m rawMessage) string { return contentText(m.raw) },
	position: beforeMessage(`{"role":"user","content":`, `}`),
}

func readChat(request []byte, list span) ([]rawMessage, error) {
	return readEach(request, list, func(m *rawMessage, fields map[string]span) {
		for _, call := range objectsAt(request, fields["tool_calls"]) {
			m.calls = append(m.calls, stringOf(call["id"].of(request)))
		}
		if call := objectAt(request, fields["function_call"]); call != nil {
			m.calls = append(m.calls, functionID(stringOf(call["name"].of(request))))
		}
		switch m.role {
		case "tool":
			m.answers = []string{stringOf(fields["tool_call_id"].of(request))}
		case "function":
			m.answers = []string{functionID(stringOf(fields["name"].of(request)))}
		}
	})
}

// objectAt are the members of an object; nil if the value is none.
func objectAt(request []byte, value span) map[string]span {
	if raw := value.of(request); len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	return members(request, value)
}

// objectsAt are the members of each object in an array; none if the value is no array.
func objectsAt(request []byte, value span) []map[string]span {
	if raw := value.of(request); len(raw) == 0 || raw[0] != '[' {
		return nil
	}
	var all []map[string]span
	for element := range elements(request, value) {
		if object := objectAt(request, element); object != nil {
			all = append(all, object)
		}
	}
	return all
}

// contentText is a string, or the text parts of an array.
func contentText(content []byte) string {
	if len(content) == 0 || content[0] != '[' {
		return stringOf(content)
	}
	var all []string
	for _, part := range objectsAt(content, span{0, len(content)}) {
		if text := stringOf(part["text"].of(content)); text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n")
}

// isNull tells whether a value is missing or null.
func isNull(request []byte, value span) bool {
	raw := value.of(request)
	return len(raw) == 0 || bytes.Equal(raw, []byte("null"))
}
