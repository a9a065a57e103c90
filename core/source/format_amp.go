package source

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/memcore/memcore/internal/safefile"
)

// Amp kept its threads in ~/.local/share/amp/threads/T-*.json until 2026; since then its server has
// them.
//
// There is no official specification. This follows (2026-11) three readers in public repositories,
// which agree: Adityakk9031/txcript (docs/formats/amp.md),
// jonathan-kellerai/cross_agent_session_resumer (src/providers/amp.rs) and noamsto/houston
// (docs/AMP_AGENT_SUPPORT.md). Messages have Anthropic's blocks; results of tools are blocks of the
// user's, and have a status. Left out is thinking.

func ampFolders(k known) []FolderOptions {
	if k.home == "" {
		return nil
	}
	return []FolderOptions{{Path: filepath.Join(shareFolder(k.home), "amp", "threads"), SessionsOf: k.project, Exclude: []string{"*", "!T-*.json"}}}
}

// ownsAmp reports whether a file is named after a thread.
func ownsAmp(path string) bool {
	id, ok := strings.CutPrefix(filepath.Base(path), "T-")
	return ok && len(id) == len("xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx.json") && isJSON(path)
}

func sniffAmp(f fields) bool {
	return f["messages"] == "[" && f.has("messages[].role", "messages[].content")
}

// besideAmp reads what a thread says beside its messages.
func besideAmp(path string) beside {
	var thread struct {
		ID      string          `json:"id"`
		Created json.RawMessage `json:"created"`
		Env     struct {
			Initial struct {
				Trees []struct {
					URI string `json:"uri"`
				} `json:"trees"`
			} `json:"initial"`
		} `json:"env"`
	}
	text, _, err := safefile.ReadPath(path, maxJSONLog)
	if err != nil {
		return beside{}
	}
	_ = json.Unmarshal(text, &thread) // what it cannot read is not known
	b := beside{session: thread.ID, time: parseTime(thread.Created)}
	if trees := thread.Env.Initial.Trees; len(trees) > 0 {
		b.cwd = fileURI(trees[0].URI)
	}
	return b
}

func parseAmp(c *conversation, r record) string {
	var in struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
		Meta    struct {
			Sent json.RawMessage `json:"sentAt"`
		} `json:"meta"`
		Usage struct {
			Time json.RawMessage `json:"timestamp"`
		} `json:"usage"`
	}
	if json.Unmarshal(r.json, &in) != nil {
		return unreadable(r.json)
	}
	if !isContent(in.Content) {
		return noContent
	}
	parsed := parseContent(in.Content)
	out := message{role: in.Role, time: parseTime(in.Meta.Sent), text: parsed.text(), calls: parsed.calls}
	switch in.Role {
	case "user":
		out.results = ampResults(in.Content)
	case "assistant":
		out.time = parseTime(in.Usage.Time)
	case "info": // a summary of what was said before
		var blocks []struct {
			Summary struct {
				Text string `json:"summary"`
			} `json:"summary"`
		}
		_ = json.Unmarshal(in.Content, &blocks)
		for _, b := range blocks {
			out.text = strings.TrimSpace(out.text + "\n\n" + b.Summary.Text)
		}
		out.role, out.speaker = "system", SummarySpeaker
	default:
		return c.passOver(r.line, "role", in.Role)
	}
	if out.time.IsZero() { // results and older answers say none
		out.time = c.time
	}
	c.time = out.time
	c.add(r, out)
	return ""
}

// ampResults reads the results of tools in a message.
func ampResults(content json.RawMessage) (all []result) {
	for _, part := range partsOf(content) {
		var block struct {
			Type string `json:"type"`
			ID   string `json:"toolUseID"`
			Run  struct {
				Status string          `json:"status"`
				Result json.RawMessage `json:"result"`
				Error  json.RawMessage `json:"error"`
			} `json:"run"`
		}
		if json.Unmarshal(part, &block) != nil || block.Type != "tool_result" {
			continue
		}
		got := result{id: block.ID, output: jsonText(block.Run.Result), failed: block.Run.Status != "done"}
		var shell struct {
			Output string `json:"output"`
			Exit   int    `json:"exitCode"`
		}
		if first(block.Run.Result) == '{' && json.Unmarshal(block.Run.Result, &shell) == nil && shell.Output != "" {
			got.output, got.failed = shell.Output, got.failed || shell.Exit != 0
		}
		if problem := jsonText(block.Run.Error); problem != "" {
			got.output = strings.TrimSpace(got.output + "\n" + problem)
		}
		if block.Run.Status == "rejected-by-user" {
			got.output, got.denied = "Rejected by user", denialMarked
		}
		all = append(all, got)
	}
	return all
}
