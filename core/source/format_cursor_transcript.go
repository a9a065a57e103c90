package source

import (
	"encoding/json"
	"strings"
)

// Cursor and its CLI also write what was said to
// ~/.cursor/projects/<folder>/agent-transcripts/<session>/<session>.jsonl, which its hooks name.
//
// There is no official specification. This follows (2026-09) readers in
// public repositories, which agree. There are no times and no results of
// calls, and no record names the working directory. The user's words stand in the tag user_query.

func sniffCursorTranscript(f fields) bool {
	return !f.has("type") && (f["role"] == "user" || f["role"] == "assistant") && f["message.content"] == "["
}

func parseCursorTranscript(c *conversation, r record) string {
	var in struct {
		Type    string `json:"type"`
		Role    string `json:"role"`
		Message struct {
			Content json.RawMessage `json:"content"`
		} `json:"message"`
	}
	if json.Unmarshal(r.json, &in) != nil {
		return unreadable(r.json)
	}
	parsed := parseContent(in.Message.Content)
	out := message{role: in.Role, calls: parsed.calls}
	switch {
	case in.Role == "user":
		var said []string
		for _, text := range parsed.texts {
			if query, ok := tagged(text, "user_query"); ok {
				said = append(said, query)
			} else if !strings.HasPrefix(text, "<") {
				said = append(said, text)
			}
		}
		out.text = strings.Join(said, "\n\n")
	case in.Role == "assistant":
		out.text = parsed.text()
	case in.Type != "": // the end of a turn
		return ""
	default:
		return c.passOver(r.line, "role", in.Role)
	}
	c.add(r, out)
	return parsed.lost
}
