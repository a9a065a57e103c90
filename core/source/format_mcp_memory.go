package source

import (
	"encoding/json"
	"fmt"
	"strings"
)

// The official MCP server "memory" keeps a graph in memory.jsonl: entities with observations, and
// relations between them. This follows github.com/modelcontextprotocol/servers (2026-11;
// src/memory/index.ts). What it holds is what agents noted, and nobody's words.

// memorySpeaker is the speaker of what the server keeps.
const memorySpeaker = "memory"

func sniffMCPMemory(f fields) bool {
	return f["type"] == "entity" && f["observations"] == "[" && f.has("name", "entityType") || f["type"] == "relation" && f.has("from", "to", "relationType")
}

func parseMCPMemory(c *conversation, r record) string {
	var in struct {
		Type         string   `json:"type"`
		Name         string   `json:"name"`
		Kind         string   `json:"entityType"`
		Observations []string `json:"observations"`
		From         string   `json:"from"`
		To           string   `json:"to"`
		Relation     string   `json:"relationType"`
	}
	if json.Unmarshal(r.json, &in) != nil {
		return unreadable(r.json)
	}
	out := message{role: "system", speaker: memorySpeaker}
	switch in.Type {
	case "entity":
		out.text = fmt.Sprintf("%s (%s)\n- %s", in.Name, in.Kind, strings.Join(in.Observations, "\n- "))
		if len(in.Observations) == 0 {
			return ""
		}
	case "relation":
		out.text = in.From + " " + in.Relation + " " + in.To
	default:
		return c.passOver(r.line, "type", in.Type)
	}
	c.add(r, out)
	return ""
}
