package source

import (
	"archive/zip"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// ChatGPT and Claude.ai send their users an archive of all conversations: conversations.json, or
// since 2026 conversations-000.json and so on, an array of conversations on one line.
//
// There is no official specification. This follows, for ChatGPT (2026-02),
// github.com/mitkury/chatgpt-export-parser (docs/chatgpt-data-export-format.md) and
// github.com/TomzxCode/llm-conversations-viewer (docs/formats.md), for Claude.ai (2026-03) the
// latter and github.com/brandtcormorant/claude-json-schema.
//
// A conversation of ChatGPT is a tree of messages, one branch for each edited prompt: the branch
// that ends in current_node is what the user sees. Messages of Claude.ai are in order. Left out are
// what tools did, thinking, instructions that the user wrote once for all conversations, and
// attachments.

// exportName is the pattern of names in an archive.
const exportName = "conversations*.json"

// maxExport bounds what is unpacked of an archive, in bytes.
const maxExport = 2 << 30

func sniffChatGPT(f fields) bool { return f["[].mapping"] == "{" && f.has("[].create_time") }

func sniffClaudeAI(f fields) bool { return f["[].chat_messages"] == "[" && f.has("[].uuid") }

type chatGPT struct {
	ID      string                 `json:"conversation_id"`
	OldID   string                 `json:"id"`
	Created json.RawMessage        `json:"create_time"`
	Current string                 `json:"current_node"`
	Mapping map[string]chatGPTNode `json:"mapping"`
}

type chatGPTNode struct {
	Parent   string   `json:"parent"`
	Children []string `json:"children"`
	Message  *struct {
		Author struct {
			Role string `json:"role"`
		} `json:"author"`
		Created   json.RawMessage `json:"create_time"`
		Recipient string          `json:"recipient"`
		Content   struct {
			Type  string            `json:"content_type"`
			Parts []json.RawMessage `json:"parts"`
		} `json:"content"`
		Metadata struct {
			Hidden bool `json:"is_visually_hidden_from_conversation"`
		} `json:"metadata"`
	} `json:"message"`
}

func parseChatGPT(c *conversation, r record) string {
	var in chatGPT
	reason := readable(r.json, &in)
	if reason == notJSON || in.Mapping == nil {
		return cmp.Or(reason, noContent)
	}
	var branch []chatGPTNode
	for id := in.Current; id != "" && len(branch) <= len(in.Mapping); id = in.parentOf(id) {
		branch = append(branch, in.Mapping[id])
	}
	if len(branch) == 0 && len(in.Mapping) > 0 {
		return "a conversation without a current branch"
	}
	if in.ID == "" {
		in.ID = in.OldID
	}
	c.session, c.time = in.ID, parseTime(in.Created)
	for _, node := range slices.Backward(branch) {
		m := node.Message
		if m == nil || m.Metadata.Hidden || m.Recipient != "" && m.Recipient != "all" {
			continue
		}
		switch role := m.Author.Role; {
		case role == "system" || role == "tool":
		case role != "user" && role != "assistant":
			c.skip(len(c.turns)+1, fmt.Sprintf("unknown role %q", role))
		case m.Content.Type == "":
			c.skip(len(c.turns)+1, noContent)
		case m.Content.Type != "text" && m.Content.Type != "multimodal_text":
		case m.Content.Parts == nil:
			c.skip(len(c.turns)+1, noContent)
		default:
			c.addNext(message{role: role, time: parseTime(m.Created), text: chatGPTText(m.Content.Parts)})
		}
	}
	return reason
}

// parentOf returns the node before another. If that is broken, the one whose child it is.
func (in chatGPT) parentOf(id string) string {
	if parent := in.Mapping[id].Parent; parent != "" {
		return parent
	}
	for parent, node := range in.Mapping {
		if slices.Contains(node.Children, id) {
			return parent
		}
	}
	return ""
}

// readable reads what it can of a value, and says why it cannot read all.
func readable(raw []byte, value any) string {
	if json.Unmarshal(raw, value) != nil { // of fields of wrong types, the others are read
		return unreadable(raw)
	}
	return ""
}

// chatGPTText reads texts, and what was spoken.
func chatGPTText(parts []json.RawMessage) string {
	var texts []string
	for _, part := range parts {
		var spoken struct {
			Type string `json:"content_type"`
			Text string `json:"text"`
		}
		switch first(part) {
		case '"':
			texts = append(texts, unquote(part))
		case '{':
			if json.Unmarshal(part, &spoken) == nil && spoken.Type == "audio_transcription" {
				texts = append(texts, spoken.Text)
			}
		}
	}
	return strings.Join(texts, "\n\n")
}

func parseClaudeAI(c *conversation, r record) string {
	var in struct {
		ID       string          `json:"uuid"`
		Created  json.RawMessage `json:"created_at"`
		Messages []struct {
			Sender  string          `json:"sender"`
			Text    string          `json:"text"`
			Content json.RawMessage `json:"content"`
			Created json.RawMessage `json:"created_at"`
		} `json:"chat_messages"`
	}
	reason := readable(r.json, &in)
	if reason == notJSON || in.Messages == nil {
		return cmp.Or(reason, noContent)
	}
	c.session, c.time = in.ID, parseTime(in.Created)
	for _, m := range in.Messages {
		out := message{role: m.Sender, time: parseTime(m.Created), text: parseContent(m.Content).text()}
		if out.text == "" { // before 2024 there were no blocks
			out.text = m.Text
		}
		switch m.Sender {
		case "human":
			out.role = "user"
		case "assistant":
		default:
			c.skip(len(c.turns)+1, c.passOver(len(c.turns)+1, "sender", m.Sender))
			continue
		}
		if out.text == "" && !isContent(m.Content) {
			c.skip(len(c.turns)+1, noContent)
		}
		c.addNext(out)
	}
	return reason
}

// addNext adds a message of a log whose messages do not begin on lines of their own. Its line is
// its number.
func (c *conversation) addNext(m message) {
	c.add(record{line: len(c.turns) + 1, endLine: len(c.turns) + 1}, m)
}

func isArchive(path string) bool { return strings.EqualFold(filepath.Ext(path), ".zip") }

// exportsIn returns the files of conversations in an archive, by name.
func exportsIn(file io.ReaderAt, size int64) ([]*zip.File, error) {
	archive, err := zip.NewReader(file, size)
	if err != nil {
		return nil, fmt.Errorf("it is no zip archive: %w", err)
	}
	files := slices.DeleteFunc(archive.File, func(f *zip.File) bool {
		ok, _ := path.Match(exportName, path.Base(f.Name))
		return !ok || strings.HasPrefix(f.Name, "__MACOSX/")
	})
	slices.SortFunc(files, func(a, b *zip.File) int { return strings.Compare(a.Name, b.Name) })
	return files, nil
}

// archiveHead returns the beginning of an archive's first file of conversations, or nothing.
func archiveHead(file io.ReaderAt, size int64) ([]byte, error) {
	files, err := exportsIn(file, size)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	reader, err := files[0].Open()
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	head := make([]byte, headBytes)
	n, err := io.ReadFull(reader, head)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return head[:n], err
}

// An export is how the conversations of one are read.
type export struct {
	marks []string // keys that each has, as they are written
	parse func(*conversation, record) string
}

var (
	chatGPTExport  = export{[]string{`"mapping"`, `"create_time"`}, parseChatGPT}
	claudeAIExport = export{[]string{`"chat_messages"`, `"uuid"`}, parseClaudeAI}
)

// readExport reads conversations one after the other, so that the largest bounds memory.
func readExport(e export) func(context.Context, *conversation, logBytes, int64, string) error {
	return func(ctx context.Context, c *conversation, file logBytes, size int64, path string) error {
		if !isArchive(path) {
			return c.readElements(ctx, file, "", e)
		}
		files, err := exportsIn(file, size)
		if err != nil {
			return err
		}
		left := int64(maxExport)
		for _, one := range files {
			reader, err := one.Open()
			if err != nil {
				return fmt.Errorf("open %s in the archive: %w", one.Name, err)
			}
			limited := &io.LimitedReader{R: reader, N: left}
			err = c.readElements(ctx, limited, " of "+one.Name, e)
			reader.Close()
			if err != nil {
				return err
			}
			if left = limited.N; left <= 0 {
				c.skip(len(c.turns)+1, "the rest of an archive larger than 2 GB")
				break
			}
		}
		return nil
	}
}

// maxNamedElements bounds how many lost conversations of a file have their number said.
const maxNamedElements = 20

// readElements parses the elements of an array; name is that of its file in an archive.
func (c *conversation) readElements(ctx context.Context, from io.Reader, name string, e export) error {
	lost := 0
	lose := func(number int, at int64, why string) {
		reason := "further conversations that cannot be read"
		if lost++; lost <= maxNamedElements {
			reason = fmt.Sprintf("conversation %d%s, at byte %d, is %s", number, name, at, cmp.Or(why, "broken"))
		}
		c.skip(len(c.turns)+1, reason)
	}
	text := &withoutNULs{Reader: from}
	in := elements{marks: e.marks, lose: lose}
	in.take = func(number int, at int64, value []byte) {
		if !utf8.Valid(value) {
			c.skip(len(c.turns)+1, notUTF8)
		}
		switch reason := e.parse(c, record{index: number - 1, json: value}); reason {
		case "":
		case notJSON:
			lose(number, at, "")
		default:
			c.skip(len(c.turns)+1, reason)
		}
	}
	err := in.read(ctx, text)
	if text.dropped {
		c.skip(1, hasNUL)
	}
	if err == nil && !in.closed && !in.lost {
		c.skip(len(c.turns)+1, cutOff)
	}
	return err
}
