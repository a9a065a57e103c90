package source

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/memcore/memcore/internal/sqlite"
)

// Goose keeps its sessions in ~/.local/share/goose/sessions/sessions.db: tables sessions and
// messages, whose content is a list of texts, calls and results.
//
// This follows github.com/aaif-goose/goose 1.48 (2026-10;
// crates/goose/src/session/session_manager.rs and crates/goose/src/conversation/message.rs). Left
// out are thinking, messages that the user does not see, and sessions that the user did not begin:
// of subagents, hidden and scheduled ones.

func gooseFiles(home string) []string {
	return existing(filepath.Join(shareFolder(home), "goose", "sessions", "sessions.db"))
}

// shareFolder is where command-line programs keep a user's data.
func shareFolder(home string) string {
	if folder := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(folder) {
		return folder
	}
	return filepath.Join(home, ".local", "share")
}

func gooseSessions(db *sqlite.DB, _ string, _ func(string) bool) (all []dbSession, err error) {
	err = db.Rows("sessions", func(r sqlite.Row) error {
		switch r.Text("session_type") {
		case "sub_agent", "hidden", "scheduled":
		default:
			updated, _ := json.Marshal(r.Text("updated_at")) // a string always marshals
			all = append(all, dbSession{r.Text("id"), r.Text("working_dir"), parseTime(updated)})
		}
		return nil
	})
	return all, err
}

type goosePart struct {
	Type string `json:"type"`
	Text string `json:"text"`
	ID   string `json:"id"`
	Call struct {
		Value struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"value"`
	} `json:"toolCall"`
	Result struct {
		Status string          `json:"status"`
		Error  string          `json:"error"`
		Value  json.RawMessage `json:"value"` // an object with content, before 1.10 the content itself
	} `json:"toolResult"`
}

func readGoose(db *sqlite.DB, c *conversation, id string) error {
	type row struct {
		number  int64
		role    string
		created int64
		content []byte
	}
	var rows []row
	err := db.RowsWith("messages", "session_id", id, true, func(r sqlite.Row) error {
		if !strings.Contains(r.Text("metadata_json"), `"userVisible":false`) {
			rows = append(rows, row{r.Int("id"), r.Text("role"), r.Int("created_timestamp"), []byte(r.Text("content_json"))})
		}
		return nil
	})
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.number, b.number) })
	for i, row := range rows {
		var parts []goosePart
		if json.Unmarshal(row.content, &parts) != nil {
			c.skip(len(c.turns)+1, unreadable(row.content))
			continue
		}
		if row.role != "user" && row.role != "assistant" {
			c.skip(len(c.turns)+1, c.passOver(len(c.turns)+1, "role", row.role))
			continue
		}
		out := message{role: row.role, time: parseTime(strconv.AppendInt(nil, row.created, 10))}
		var texts []string
		for _, part := range parts {
			switch part.Type {
			case "text":
				texts = append(texts, part.Text)
			case "toolRequest":
				out.calls = append(out.calls, call{id: part.ID, name: part.Call.Value.Name, input: jsonText(part.Call.Value.Arguments)})
			case "toolResponse":
				out.results = append(out.results, part.result())
			}
		}
		out.text = strings.Join(texts, "\n\n")
		c.addRow(i+1, out)
	}
	return err
}

func (p goosePart) result() result {
	out := result{id: p.ID, failed: p.Result.Status == "error"}
	var value struct {
		Content json.RawMessage `json:"content"`
		Error   bool            `json:"isError"`
	}
	content := p.Result.Value
	if first(content) == '{' && json.Unmarshal(content, &value) == nil {
		content, out.failed = value.Content, out.failed || value.Error
	}
	out.output = strings.TrimSpace(parseContent(content).text() + "\n" + p.Result.Error)
	return out
}
