package source

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/internal/sqlite"
)

// opencode keeps its sessions in ~/.local/share/opencode/opencode*.db; Kilo Code, since it is built
// on opencode, in ~/.local/share/kilo/kilo*.db. 1.x has tables session, message and part, 2.x
// session_v2 and session_message. `opencode export` writes {info, messages: [{info, parts}]}.
//
// This follows github.com/anomalyco/opencode (2026-09): packages/opencode/src/session/message-v2.ts
// and session.sql.ts, packages/core/src/session/message.ts. Left out are reasoning, texts that the
// program wrote into a message (synthetic, ignored), and sessions of subagents, which have a
// parent.

// shareFolder is where command-line programs keep a user's data.
func shareFolder(home string) string {
	if folder := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(folder) {
		return folder
	}
	return filepath.Join(home, ".local", "share")
}

func opencodeFiles(home string) []string {
	share := shareFolder(home)
	return existing(filepath.Join(share, "opencode", "opencode*.db"), filepath.Join(share, "kilo", "kilo*.db"))
}

// The tables of sessions, and those of their messages.
const (
	opencodeSession1, opencodeMessage1 = "session", "message"
	opencodeSession2, opencodeMessage2 = "session_v2", "session_message"
)

func opencodeSessions(db *sqlite.DB, _ string, _ func(string) bool) ([]dbSession, error) {
	var all []dbSession
	for _, table := range []string{opencodeSession2, opencodeSession1} {
		if !db.Has(table) {
			continue
		}
		err := db.Rows(table, func(r sqlite.Row) error {
			if r.Text("parent_id") == "" {
				all = append(all, dbSession{r.Text("id"), r.Text("directory"), unixMilli(r.Int("time_updated"))})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// An opencodeRow is a message of a table.
type opencodeRow struct {
	id, kind string
	order    int64
	created  time.Time
	data     []byte
}

func opencodeRows(db *sqlite.DB, table, session string, row func(sqlite.Row) opencodeRow) ([]opencodeRow, error) {
	if !db.Has(table) {
		return nil, nil
	}
	var all []opencodeRow
	err := db.RowsWith(table, "session_id", session, true, func(r sqlite.Row) error {
		one := row(r)
		one.id, one.created, one.data = r.Text("id"), unixMilli(r.Int("time_created")), []byte(r.Text("data"))
		all = append(all, one)
		return nil
	})
	slices.SortStableFunc(all, func(a, b opencodeRow) int {
		return cmp.Or(cmp.Compare(a.order, b.order), a.created.Compare(b.created), strings.Compare(a.id, b.id))
	})
	return all, err
}

func readOpencode(db *sqlite.DB, c *conversation, id string) error {
	second, err := opencodeRows(db, opencodeMessage2, id, func(r sqlite.Row) opencodeRow {
		return opencodeRow{kind: r.Text("type"), order: r.Int("seq")}
	})
	if err != nil {
		return err
	}
	for i, row := range second {
		c.addOpencode2(i+1, row)
	}
	if len(second) > 0 {
		return nil
	}
	messages, err := opencodeRows(db, opencodeMessage1, id, func(sqlite.Row) opencodeRow { return opencodeRow{} })
	if err != nil {
		return err
	}
	parts := map[string][]json.RawMessage{}
	rows, err := opencodeRows(db, "part", id, func(r sqlite.Row) opencodeRow { return opencodeRow{kind: r.Text("message_id")} })
	if err != nil {
		return err
	}
	slices.SortStableFunc(rows, func(a, b opencodeRow) int { return strings.Compare(a.id, b.id) })
	for _, row := range rows {
		parts[row.kind] = append(parts[row.kind], row.data)
	}
	for i, row := range messages {
		if reason := c.addOpencode(record{line: i + 1, endLine: i + 1}, row.data, parts[row.id]); reason != "" {
			c.skip(len(c.turns)+1, reason)
		}
	}
	return nil
}

func sniffOpencode(f fields) bool { return f["info"] == "{" && f["messages[].info"] == "{" }

// parseOpencode reads a message of an export.
func parseOpencode(c *conversation, r record) string {
	var in struct {
		Info  json.RawMessage   `json:"info"`
		Parts []json.RawMessage `json:"parts"`
	}
	if json.Unmarshal(r.json, &in) != nil {
		return unreadable(r.json)
	}
	return c.addOpencode(r, in.Info, in.Parts)
}

type opencodePart struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	Synthetic bool   `json:"synthetic"`
	Ignored   bool   `json:"ignored"`
	Tool      string `json:"tool"` // 1.x
	Name      string `json:"name"` // 2.x
	State     struct {
		Status  string          `json:"status"`
		Input   json.RawMessage `json:"input"`
		Output  string          `json:"output"`  // 1.x
		Content json.RawMessage `json:"content"` // 2.x
		Error   json.RawMessage `json:"error"`
	} `json:"state"`
}

// addOpencode adds a message of opencode 1.
func (c *conversation) addOpencode(r record, info json.RawMessage, parts []json.RawMessage) string {
	var in struct {
		Session string `json:"sessionID"`
		Role    string `json:"role"`
		Summary any    `json:"summary"` // of an agent's message: it is one
		Time    struct {
			Created json.RawMessage `json:"created"`
		} `json:"time"`
	}
	if json.Unmarshal(info, &in) != nil {
		return unreadable(info)
	}
	if in.Session != "" {
		c.session = in.Session
	}
	out := message{role: in.Role, time: parseTime(in.Time.Created)}
	if in.Role != "user" && in.Role != "assistant" {
		return c.passOver(r.line, "role", in.Role)
	}
	if in.Role == "assistant" && in.Summary == true {
		out.role, out.speaker = "system", SummarySpeaker
	}
	out.addOpencodeParts(parts)
	c.add(r, out)
	return ""
}

func (m *message) addOpencodeParts(parts []json.RawMessage) {
	var texts []string
	for _, raw := range parts {
		var p opencodePart
		if json.Unmarshal(raw, &p) != nil {
			continue
		}
		switch {
		case p.Type == "text" && !p.Synthetic && !p.Ignored:
			texts = append(texts, p.Text)
		case p.Type == "tool":
			m.calls = append(m.calls, p.call())
		}
	}
	m.text = strings.Join(texts, "\n\n")
}

func (p opencodePart) call() call {
	out := call{name: cmp.Or(p.Tool, p.Name), input: jsonText(p.State.Input), output: p.State.Output, done: true, failed: p.State.Status == "error"}
	if out.output == "" {
		out.output = parseContent(p.State.Content).text()
	}
	if out.failed {
		var problem struct {
			Message string `json:"message"`
		}
		if _ = json.Unmarshal(p.State.Error, &problem); problem.Message == "" {
			problem.Message = jsonText(p.State.Error)
		}
		out.output = strings.TrimSpace(out.output + "\n" + problem.Message)
	}
	return out
}

// addOpencode2 adds a message of opencode 2.
func (c *conversation) addOpencode2(number int, row opencodeRow) {
	var in struct {
		Text    string            `json:"text"`
		Summary string            `json:"summary"`
		Command string            `json:"command"`
		Output  string            `json:"output"`
		Content []json.RawMessage `json:"content"`
	}
	if json.Unmarshal(row.data, &in) != nil {
		c.skip(len(c.turns)+1, unreadable(row.data))
		return
	}
	out := message{time: row.created}
	switch row.kind {
	case "user":
		out.role, out.text = "user", in.Text
	case "assistant":
		out.role = "assistant"
		out.addOpencodeParts(in.Content)
	case "shell": // the user's own command
		out.role, out.calls = "user", []call{{name: "bash", input: in.Command, output: in.Output, done: true}}
	case "compaction":
		out.role, out.speaker, out.text = "system", SummarySpeaker, in.Summary
	case "synthetic", "system", "agent-switched", "model-switched":
		return
	default:
		c.skip(len(c.turns)+1, c.passOver(len(c.turns)+1, "type", row.kind))
		return
	}
	c.addRow(number, out)
}
