package source

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
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
	Parent  string `json:"parent"`
	Message *struct {
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
	if json.Unmarshal(r.json, &in) != nil {
		return unreadable(r.json)
	}
	var branch []chatGPTNode
	for id := in.Current; id != "" && len(branch) <= len(in.Mapping); id = in.Mapping[id].Parent {
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
		if m.Content.Type != "text" && m.Content.Type != "multimodal_text" {
			continue
		}
		if role := m.Author.Role; role == "user" || role == "assistant" {
			c.addNext(message{role: role, time: parseTime(m.Created), text: chatGPTText(m.Content.Parts)})
		}
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
	if json.Unmarshal(r.json, &in) != nil {
		return unreadable(r.json)
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
		c.addNext(out)
	}
	return ""
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

// readExport reads conversations one after the other, so that the largest bounds memory.
func readExport(parse func(*conversation, record) string) func(context.Context, *conversation, *os.File, int64, string) error {
	return func(ctx context.Context, c *conversation, file *os.File, size int64, path string) error {
		if !isArchive(path) {
			return c.readElements(ctx, file, parse)
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
			err = c.readElements(ctx, limited, parse)
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

// readElements parses the elements of an array. The error is ctx's.
func (c *conversation) readElements(ctx context.Context, from io.Reader, parse func(*conversation, record) string) error {
	decoder := json.NewDecoder(from)
	if token, err := decoder.Token(); err != nil || token != json.Delim('[') {
		c.skip(len(c.turns)+1, cutOff)
		return ctx.Err()
	}
	for i := 0; decoder.More() && ctx.Err() == nil; i++ {
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			c.skip(len(c.turns)+1, cutOff)
			return ctx.Err()
		}
		if reason := parse(c, record{index: i, json: value}); reason != "" {
			c.skip(len(c.turns)+1, reason)
		}
	}
	return ctx.Err()
}
