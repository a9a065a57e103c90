package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
)

// readJSONLog reads an array, or an object's "messages".
func readJSONLog(ctx context.Context, file *os.File, f format, session string) (Content, error) {
	text, _, err := readText(ctx, file, 0, maxJSONLog)
	if err != nil {
		return Content{}, err
	}
	c := &conversation{progress: progress{session: session}}
	d := jsonLog{ctx: ctx, text: text, decoder: json.NewDecoder(bytes.NewReader(text)), line: 1}
	if err := d.read(c, f); err != nil {
		if ctx.Err() != nil {
			return Content{}, ctx.Err()
		}
		c.skip("document is cut off or not JSON")
	}
	return Content{Turns: c.finished(), Agent: c.agent || f.agent, From: 1, Skipped: c.skipped}, nil
}

// A jsonLog walks a document and counts its lines.
type jsonLog struct {
	ctx     context.Context
	text    []byte
	decoder *json.Decoder
	counted int // bytes whose lines are counted
	line    int // of the byte at counted
}

func (d *jsonLog) read(c *conversation, f format) error {
	token, err := d.decoder.Token()
	switch {
	case errors.Is(err, io.EOF):
		return nil // an empty file is an empty conversation
	case err != nil:
		return err
	case token == json.Delim('['):
		return d.array(c, f)
	case token == json.Delim('{'):
		return d.object(c, f)
	}
	return nil
}

// In all known logs, session and time precede the messages.
func (d *jsonLog) object(c *conversation, f format) error {
	for d.decoder.More() {
		key, err := d.decoder.Token()
		if err != nil {
			return err
		}
		if key == "messages" && d.next() == '[' {
			if _, err := d.decoder.Token(); err != nil {
				return err
			}
			if err := d.array(c, f); err != nil {
				return err
			}
			continue
		}
		var value json.RawMessage
		if err := d.decoder.Decode(&value); err != nil {
			return err
		}
		c.header(key.(string), value)
	}
	return nil
}

// header reads a field beside the messages.
func (c *conversation) header(key string, value json.RawMessage) {
	switch key {
	case "sessionId", "session_id", "conversation_id", "thread_id", "id":
		var id string
		if json.Unmarshal(value, &id) == nil && id != "" {
			c.session = id
		}
	case "startTime", "created_at", "createdAt", "create_time", "created", "timestamp":
		if at := parseTime(value); !at.IsZero() {
			c.time = at
		}
	}
}

// next returns the first byte of the next value.
func (d *jsonLog) next() byte {
	rest := bytes.TrimLeft(d.text[d.decoder.InputOffset():], " \t\r\n:,")
	if len(rest) == 0 {
		return 0
	}
	return rest[0]
}

func (d *jsonLog) array(c *conversation, f format) error {
	for d.decoder.More() {
		if d.ctx.Err() != nil {
			return d.ctx.Err()
		}
		begin := len(d.text) - len(bytes.TrimLeft(d.text[d.decoder.InputOffset():], " \t\r\n,"))
		var value json.RawMessage
		if err := d.decoder.Decode(&value); err != nil {
			return err
		}
		first := d.lineAt(begin)
		c.take(f, record{line: first, endLine: d.lineAt(int(d.decoder.InputOffset()) - 1), json: value}, 0)
	}
	_, err := d.decoder.Token()
	return err
}

// lineAt returns the line at offset. Offsets must not decrease.
func (d *jsonLog) lineAt(offset int) int {
	d.line += bytes.Count(d.text[d.counted:max(d.counted, offset)], []byte{'\n'})
	d.counted = max(d.counted, offset)
	return d.line
}
