package turn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// JSON does what Messages does for a chat request as JSON: an object with "messages", or an array of
// messages. All else in it stays byte for byte. If there is nothing to inject, request itself is
// returned; an error says what is wrong with the JSON.
func JSON(ctx context.Context, r retriever, request []byte, options Options) ([]byte, Report, error) {
	start, end, err := findMessages(request)
	if err != nil {
		return request, Report{}, err
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(request[start:end], &raw); err != nil {
		return request, Report{}, fmt.Errorf("chat request: messages are no array: %w", err)
	}
	messages := make([]rawMessage, len(raw))
	for i, text := range raw {
		if err := json.Unmarshal(text, &messages[i].read); err != nil {
			return request, Report{}, fmt.Errorf("chat request: message %d: %w", i+1, err)
		}
		messages[i].text = text
	}
	with, report := inject(ctx, r, messages, rawShape, options)
	if report.Injected == 0 {
		return request, report, nil
	}
	var out bytes.Buffer
	out.Write(request[:start])
	out.WriteByte('[')
	for i, message := range with {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(message.text)
	}
	out.WriteByte(']')
	out.Write(request[end:])
	return out.Bytes(), report, nil
}

// findMessages returns where in the request the array of messages is.
func findMessages(request []byte) (start, end int, err error) {
	if !json.Valid(request) {
		var anything any
		return 0, 0, fmt.Errorf("chat request is not JSON: %w", json.Unmarshal(request, &anything))
	}
	decoder := json.NewDecoder(bytes.NewReader(request))
	first, err := decoder.Token()
	if err != nil {
		return 0, 0, err
	}
	switch first {
	case json.Delim('['):
		start = int(decoder.InputOffset()) - 1
		return start, len(bytes.TrimRight(request, " \t\r\n")), nil
	case json.Delim('{'):
		return findKey(decoder, request)
	}
	return 0, 0, errors.New(`chat request is neither an object with "messages" nor an array of messages`)
}

// findKey looks for the value of "messages" in the object that decoder stands in. Of several the last
// counts, as it does for those who will read the request.
func findKey(decoder *json.Decoder, request []byte) (start, end int, err error) {
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return 0, 0, err
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return 0, 0, err
		}
		if key == "messages" {
			end = int(decoder.InputOffset())
			start = end - len(value)
		}
	}
	if end == 0 {
		return 0, 0, errors.New(`chat request has no "messages"`)
	}
	if request[start] != '[' {
		return 0, 0, errors.New(`chat request: "messages" is no array`)
	}
	return start, end, nil
}

// A rawMessage is a message of which only what matters here was read.
type rawMessage struct {
	text json.RawMessage
	read struct {
		Role       string          `json:"role"`
		Content    json.RawMessage `json:"content"`
		ToolCallID string          `json:"tool_call_id"`
		ToolCalls  []struct {
			ID string `json:"id"`
		} `json:"tool_calls"`
		Name         string `json:"name"`
		FunctionCall *struct {
			Name string `json:"name"`
		} `json:"function_call"`
	}
}

var rawShape = shape[rawMessage]{
	role: func(m rawMessage) string { return m.read.Role },
	text: func(m rawMessage) string { return contentText(m.read.Content) },
	calls: func(m rawMessage) []string {
		var ids []string
		for _, call := range m.read.ToolCalls {
			ids = append(ids, call.ID)
		}
		if m.read.FunctionCall != nil {
			ids = append(ids, functionID(m.read.FunctionCall.Name))
		}
		return ids
	},
	answer: func(m rawMessage) string {
		if m.read.Role == "function" {
			return functionID(m.read.Name)
		}
		return m.read.ToolCallID
	},
	memory: func(text string) rawMessage {
		encoded, _ := json.Marshal(map[string]string{"role": "user", "content": text}) // strings always encode
		return rawMessage{text: encoded}
	},
}

// contentText is a string, or the text parts of an array.
func contentText(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &parts) != nil {
		return ""
	}
	var all []string
	for _, part := range parts {
		if part.Text != "" {
			all = append(all, part.Text)
		}
	}
	return strings.Join(all, "\n")
}
