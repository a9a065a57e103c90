package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrLong means that an event is too long even when shortened.
var ErrLong = errors.New("the event is too long")

// leftOut replaces the middle of a text.
const leftOut = " [the middle is left out] "

// Shorten reads an event and cuts long texts to their first and last part bytes; left counts the
// others. ErrLong: more than most bytes remain, or there were eight times as many.
func Shorten(in io.Reader, part, most int) (event []byte, left int64, err error) {
	data, err := io.ReadAll(io.LimitReader(in, 8*int64(most)+1))
	if err != nil {
		return nil, 0, err
	}
	data = bytes.TrimSpace(data)
	s := shortener{part: part}
	switch {
	case len(data) == 0:
		return nil, 0, fmt.Errorf("%w: it is empty", ErrEvent)
	case len(data) > 8*most:
		return nil, 0, fmt.Errorf("%w: over %d MB", ErrLong, 8*most>>20)
	case data[0] != '{':
		event = []byte(s.text(string(data)))
	default:
		event, err = s.json(data)
	}
	if err == nil && len(event) > most {
		err = fmt.Errorf("%w: %d MB without the middles of its texts", ErrLong, len(event)>>20)
	}
	return event, s.left, err
}

type shortener struct {
	part int
	left int64
}

func (s *shortener) json(data []byte) ([]byte, error) {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("%w: %w: %w", ErrLong, ErrEvent, err)
	}
	if value = s.value(value); s.left == 0 {
		return data, nil
	}
	return json.Marshal(value)
}

// value shortens the texts in a value, in place.
func (s *shortener) value(value any) any {
	switch v := value.(type) {
	case string:
		return s.text(v)
	case []any:
		for i := range v {
			v[i] = s.value(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = s.value(v[key])
		}
	}
	return value
}

func (s *shortener) text(text string) string {
	middle := len(text) - 2*s.part
	if middle <= 0 {
		return text
	}
	s.left += int64(middle)
	return strings.ToValidUTF8(text[:s.part], "") + leftOut + strings.ToValidUTF8(text[len(text)-s.part:], "")
}
