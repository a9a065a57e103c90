package source

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// A block is part of a message, mostly alike in all formats.
type block struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`

	// A call: Claude Code's tool_use and input, pi's toolCall and arguments.
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Arguments json.RawMessage `json:"arguments"`

	// A tool's result.
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

type content struct {
	texts   []string
	calls   []call
	results []result
	lost    string // the reason if a part cannot be read
}

// lostPart is the reason for skipping a part of a message.
const lostPart = "a part of a message of an unexpected type"

func (c content) text() string { return strings.Join(c.texts, "\n\n") }

// parseContent reads a string, a block, or an array of both.
func parseContent(raw json.RawMessage) content {
	var c content
	for _, part := range partsOf(raw) {
		switch first(part) {
		case '"':
			c.addText(unquote(part))
		case '{':
			c.addBlock(part)
		case 0, 'n':
		default:
			c.lost = lostPart
		}
	}
	return c
}

// partsOf returns the elements of an array, another value alone, and nothing of a broken array.
func partsOf(raw json.RawMessage) []json.RawMessage {
	if first(raw) != '[' {
		return []json.RawMessage{raw}
	}
	var parts []json.RawMessage // of its own: decoding into raw would overwrite it
	if json.Unmarshal(raw, &parts) != nil {
		return nil
	}
	return parts
}

// noContent is the reason for skipping a message that says nothing, not even null.
const noContent = "no content"

// blockKeys are of blocks of all formats, the last four of Gemini CLI's.
var blockKeys = []string{"type", "text", "functionCall", "functionResponse", "inlineData", "fileData"}

// isContent reports whether parseContent reads such a value, or may leave it out.
func isContent(raw json.RawMessage) bool {
	if first(raw) == '{' { // a block says of which type it is, or has something that is known
		var block map[string]json.RawMessage
		return json.Unmarshal(raw, &block) == nil && slices.ContainsFunc(blockKeys, func(key string) bool { return block[key] != nil })
	}
	return strings.IndexByte(`"[n`, first(raw)) >= 0
}

func (c *content) addText(text string) {
	if text = strings.TrimSpace(text); text != "" {
		c.texts = append(c.texts, text)
	}
}

func (c *content) addBlock(raw json.RawMessage) {
	var b block
	wrong := json.Unmarshal(raw, &b) != nil // those of other types may have other values
	switch b.Type {
	case "", "text", "input_text", "output_text":
		if c.addText(b.Text); wrong && b.Text == "" {
			c.lost = lostPart
		}
	case "refusal":
		c.addText(b.Refusal)
	case "tool_use", "server_tool_use", "mcp_tool_use":
		c.calls = append(c.calls, call{id: b.ID, name: b.Name, input: jsonText(b.Input)})
	case "toolCall":
		c.calls = append(c.calls, call{id: b.ID, name: b.Name, input: jsonText(b.Arguments)})
	default:
		if strings.HasSuffix(b.Type, "tool_result") && b.ToolUseID != "" {
			c.results = append(c.results, result{id: b.ToolUseID, output: parseContent(b.Content).text(), failed: b.IsError})
		}
	}
}

// jsonText returns a string as it is, other values as JSON.
func jsonText(raw json.RawMessage) string {
	switch first(raw) {
	case '"':
		return unquote(raw)
	case 0, 'n':
		return ""
	}
	var short bytes.Buffer
	if json.Compact(&short, raw) != nil {
		return ""
	}
	return short.String()
}

func unquote(raw json.RawMessage) string {
	var text string
	_ = json.Unmarshal(raw, &text)
	return text
}

// first returns the first byte of a JSON value, or 0.
func first(raw json.RawMessage) byte {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	if len(raw) == 0 {
		return 0
	}
	return raw[0]
}

var timeLayouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", "2006-01-02"}

// parseTime reads RFC 3339 or similar, or (milli)seconds since 1970.
func parseTime(raw json.RawMessage) time.Time {
	if first(raw) == '"' {
		text := unquote(raw)
		for _, layout := range timeLayouts {
			if at, err := time.Parse(layout, text); err == nil {
				return at.UTC()
			}
		}
		raw = json.RawMessage(text)
	}
	var seconds float64
	if json.Unmarshal(raw, &seconds) != nil || seconds <= 0 || seconds > 1e14 {
		return time.Time{}
	}
	if seconds < 1e11 { // as milliseconds that would be before 1973
		seconds *= 1000
	}
	return time.UnixMilli(int64(seconds)).UTC()
}
