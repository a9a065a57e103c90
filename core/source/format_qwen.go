package source

import (
	"cmp"
	"encoding/json"
)

// Qwen Code keeps its sessions in ~/.qwen/projects/<folder>/chats/<session>.jsonl, with records
// like Claude Code's around contents like Gemini's.
//
// This follows github.com/QwenLM/qwen-code (2026-11;
// packages/core/src/services/chatRecordingService.ts and packages/core/src/config/storage.ts). Left
// out are thoughts, side chains, and records of type user that the program writes: of those that
// have a subtype, only what was typed while the agent worked is the user's.

func qwenFolders(k known) []FolderOptions {
	all := k.in("projects")
	for i := range all {
		all[i].groups, all[i].Exclude = namedAfter(claudeName), []string{"/*/*", "!/*/chats"}
	}
	return all
}

func sniffQwen(f fields) bool {
	return f.has("uuid", "sessionId") && (f["message.parts"] == "[" || f.has("systemPayload"))
}

type qwenPart struct {
	Text    string `json:"text"`
	Thought bool   `json:"thought"`
	Call    *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	Response *struct {
		ID       string                     `json:"id"`
		Name     string                     `json:"name"`
		Response map[string]json.RawMessage `json:"response"`
	} `json:"functionResponse"`
}

func parseQwen(c *conversation, r record) string {
	var in struct {
		Type       string          `json:"type"`
		Subtype    string          `json:"subtype"`
		Session    string          `json:"sessionId"`
		Version    string          `json:"version"`
		Time       json.RawMessage `json:"timestamp"`
		Sidechain  bool            `json:"isSidechain"`
		Provenance string          `json:"provenance"`
		Message    struct {
			Parts []qwenPart `json:"parts"`
		} `json:"message"`
		Payload struct {
			Shown string `json:"displayText"`
		} `json:"systemPayload"`
		Result struct {
			Status string `json:"status"`
		} `json:"toolCallResult"`
	}
	if json.Unmarshal(r.json, &in) != nil {
		return unreadable(r.json)
	}
	if in.Session != "" {
		c.session = in.Session
	}
	c.version = cmp.Or(in.Version, c.version)
	if in.Sidechain || in.Type == "system" {
		return ""
	}
	out := message{time: parseTime(in.Time)}
	text, _ := json.Marshal(in.Message.Parts) // has been JSON
	switch in.Type {
	case "user":
		if in.Subtype != "" && in.Subtype != "mid_turn_user_message" || in.Provenance != "" && in.Provenance != "real_user" {
			return ""
		}
		out.role, out.text = "user", geminiSaid(text)
		if in.Payload.Shown != "" {
			out.text = in.Payload.Shown
		}
	case "assistant":
		out.role, out.text = "assistant", geminiText(text)
		for _, part := range in.Message.Parts {
			if part.Call != nil {
				out.calls = append(out.calls, call{id: part.Call.ID, name: part.Call.Name, input: jsonText(part.Call.Args)})
			}
		}
	case "tool_result":
		out.role = "tool"
		for _, part := range in.Message.Parts {
			if got := part.Response; got != nil {
				problem := jsonText(got.Response["error"])
				out.results = append(out.results, result{id: got.ID, name: got.Name, output: jsonText(got.Response["output"]) + problem,
					failed: problem != "" || in.Result.Status == "error" || in.Result.Status == "cancelled"})
			}
		}
	default:
		return c.passOver(r.line, "type", in.Type)
	}
	c.add(r, out)
	return ""
}
