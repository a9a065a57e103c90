package source

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
)

// readJSONLog reads a conversation that is one JSON document: an array of messages, or an object
// with one under "messages".
func readJSONLog(ctx context.Context, file *os.File, f format, session string) (Content, error) {
	text, err := readMarkdown(ctx, file, 0, maxJSONLog)
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
	return Content{Turns: c.told(), Agent: c.agent || isAgents(f), From: 1, Skipped: c.skipped}, nil
}

// A jsonLog walks a document and knows on which lines its parts stand.
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
	case err != nil:
		return ignoreEOF(err) // an empty file is an empty conversation
	case token == json.Delim('['):
		return d.array(c, f)
	case token == json.Delim('{'):
		return d.object(c, f)
	}
	return nil
}

func ignoreEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// object reads the messages of an object and what stands beside them. What tells the session and its
// time comes first in all known logs.
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

// header takes a field that stands beside the messages.
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

// next is the first byte of the value that follows.
func (d *jsonLog) next() byte {
	rest := bytes.TrimLeft(d.text[d.decoder.InputOffset():], " \t\r\n:,")
	if len(rest) == 0 {
		return 0
	}
	return rest[0]
}

// array reads the messages up to the end of their array.
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

// lineAt is the line of the byte at offset, which is not before that of the last call.
func (d *jsonLog) lineAt(offset int) int {
	d.line += bytes.Count(d.text[d.counted:max(d.counted, offset)], []byte{'\n'})
	d.counted = max(d.counted, offset)
	return d.line
}
