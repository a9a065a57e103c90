package source

import (
	"encoding/json"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/memcore/memcore/internal/sqlite"
)

// Cursor keeps all sessions in globalStorage/state.vscdb of its user's settings, a database of keys
// and JSON. "composerData:ID" has a session's list of messages, "bubbleId:ID:MESSAGE" a message.
// Which workspace a session belongs to stands since 3.0 in "composer.composerHeaders" there, before
// in "composer.composerData" of the workspace's own database.
//
// There is no official specification. This follows (2026-09) github.com/michaeldhood/chatrxiv
// (docs/cursor/storage-reference.md), github.com/pppp606/cursor-efficiency (docs/vscdbRelation.md)
// and the reader of Cursor's sessions in github.com/git-ai-project/git-ai. Type 1 is the user, type
// 2 the agent; a message of the agent is a text, thinking, or a call with its result. Left out are
// thinking and sessions of subagents.

func cursorFiles(home string) []string {
	return existing(filepath.Join(settingsFolder(home), "Cursor", "User", "globalStorage", "state.vscdb"))
}

type cursorHeaders struct {
	All []struct {
		ID        string          `json:"composerId"`
		Created   json.RawMessage `json:"createdAt"`
		Updated   json.RawMessage `json:"lastUpdatedAt"`
		Subagent  json.RawMessage `json:"subagentInfo"`
		OneOfMany bool            `json:"isBestOfNSubcomposer"`
		Workspace struct {
			URI struct {
				Path string `json:"fsPath"`
			} `json:"uri"`
		} `json:"workspaceIdentifier"`
	} `json:"allComposers"`
}

// sessions of a workspace need not name it.
func (h cursorHeaders) sessions(workspace string) (all []dbSession) {
	for _, one := range h.All {
		if first(one.Subagent) == '{' || one.OneOfMany {
			continue
		}
		cwd := one.Workspace.URI.Path
		if cwd == "" {
			cwd = workspace
		}
		updated := parseTime(one.Updated)
		if updated.IsZero() {
			updated = parseTime(one.Created)
		}
		all = append(all, dbSession{one.ID, cwd, updated})
	}
	return all
}

func cursorSessions(db *sqlite.DB, path string, ours func(string) bool) ([]dbSession, error) {
	headers, err := cursorHeadersIn(db, "composer.composerHeaders")
	if err != nil {
		return nil, err
	}
	all := headers.sessions("")
	storage := filepath.Join(filepath.Dir(filepath.Dir(path)), "workspaceStorage")
	for _, file := range existing(filepath.Join(storage, "*", "workspace.json")) {
		folder := editorWorkspace(file)
		if !ours(folder) {
			continue
		}
		own, err := sqlite.Open(filepath.Join(filepath.Dir(file), "state.vscdb"))
		if err != nil {
			continue // there never was a session
		}
		headers, err := cursorHeadersIn(own, "composer.composerData")
		own.Close()
		if err != nil {
			continue
		}
		all = append(all, headers.sessions(folder)...)
	}
	return all, nil
}

func cursorHeadersIn(db *sqlite.DB, key string) (h cursorHeaders, err error) {
	if !db.Has("ItemTable") {
		return h, nil
	}
	err = db.RowsWith("ItemTable", "key", key, true, func(r sqlite.Row) error {
		_ = json.Unmarshal([]byte(r.Text("value")), &h) // what it cannot read, it has none of
		return nil
	})
	return h, err
}

// editorWorkspace returns the folder that a workspace.json of VS Code or its relatives names, or
// "".
func editorWorkspace(file string) string {
	var workspace struct {
		Folder string `json:"folder"`
	}
	if json.Unmarshal(readSmall(file), &workspace) != nil {
		return ""
	}
	return fileURI(workspace.Folder)
}

// fileURI returns the path of a "file://" address, or "".
func fileURI(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "file" {
		return ""
	}
	path := parsed.Path
	if len(path) > 2 && path[0] == '/' && path[2] == ':' { // C:
		path = path[1:]
	}
	return filepath.FromSlash(path)
}

type cursorBubble struct {
	ID      string          `json:"bubbleId"`
	Type    int             `json:"type"`
	Text    string          `json:"text"`
	Created json.RawMessage `json:"createdAt"`
	Tool    *cursorTool     `json:"toolFormerData"`
}

type cursorTool struct {
	Name     string          `json:"name"`
	Args     json.RawMessage `json:"rawArgs"`
	Params   json.RawMessage `json:"params"`
	Result   json.RawMessage `json:"result"`
	Status   string          `json:"status"`
	Decision string          `json:"userDecision"`
}

func readCursor(db *sqlite.DB, c *conversation, id string) error {
	var session struct {
		Created json.RawMessage `json:"createdAt"`
		Headers []cursorBubble  `json:"fullConversationHeadersOnly"`
		Old     []cursorBubble  `json:"conversation"` // before 2025 the messages themselves
	}
	err := db.RowsWith("cursorDiskKV", "key", "composerData:"+id, true, func(r sqlite.Row) error {
		if json.Unmarshal([]byte(r.Text("value")), &session) != nil {
			c.skip(len(c.turns)+1, unreadable([]byte(r.Text("value"))))
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.time = parseTime(session.Created)
	bubbles := map[string]cursorBubble{}
	prefix := "bubbleId:" + id + ":"
	err = db.RowsWith("cursorDiskKV", "key", prefix, false, func(r sqlite.Row) error {
		var bubble cursorBubble
		if text := []byte(r.Text("value")); json.Unmarshal(text, &bubble) == nil {
			bubbles[strings.TrimPrefix(r.Text("key"), prefix)] = bubble
		} else if len(text) > 0 {
			c.skip(len(c.turns)+1, unreadable(text))
		}
		return nil
	})
	if len(session.Headers) == 0 {
		session.Headers = session.Old
	}
	for i, header := range session.Headers {
		bubble, ok := bubbles[header.ID]
		if !ok {
			bubble = header
		}
		c.addCursor(i+1, header.Type, bubble)
	}
	return err
}

func (c *conversation) addCursor(number, kind int, bubble cursorBubble) {
	out := message{time: parseTime(bubble.Created), text: bubble.Text}
	switch kind {
	case 1:
		out.role = "user"
	case 2:
		if strings.TrimSpace(bubble.Text) != "" {
			c.step++ // calls after it are of its step
		}
		out.role, out.key = "assistant", c.stepKey()
		if bubble.Tool != nil && bubble.Tool.Name != "" {
			out.calls = []call{bubble.Tool.call()}
		}
	default:
		c.skip(len(c.turns)+1, c.passOver(len(c.turns)+1, "type", strconv.Itoa(kind)))
		return
	}
	c.addRow(number, out)
}

func (t *cursorTool) call() call {
	out := call{name: t.Name, done: true, failed: t.Status == "error" || t.Status == "cancelled" || t.Decision == "rejected"}
	if out.input = jsonText(t.Args); len(out.input) < len("{}")+1 {
		out.input = jsonText(t.Params)
	}
	out.output = jsonText(t.Result)
	var ran struct {
		Output string `json:"output"`
		Code   int    `json:"exitCodeV2"`
	}
	if json.Unmarshal([]byte(out.output), &ran) == nil && (ran.Output != "" || ran.Code != 0) {
		out.output, out.failed = ran.Output, out.failed || ran.Code != 0
	}
	if t.Decision == "rejected" && out.output == "" {
		out.output = "rejected by the user"
	}
	return out
}

// unixMilli is the time of a column, in milliseconds.
func unixMilli(ms int64) time.Time {
	if ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
